//! `show`: one task, or its report.

use std::io::{self, IsTerminal};

use nightforge_api::{ResultForm, TaskView};
use nightforge_domain::Kind;

use crate::args::Show;
use crate::exit::{Exit, Failure};
use crate::output::{Output, Shown, for_terminal};
use crate::source::Source;

pub(super) async fn run(args: Show) -> Result<Exit, Failure> {
    let source = Source::open(&args.from).await?;
    let task = source.task(&args.id).await?;
    let output = Output::new(args.output.output);
    if let Some(form) = &args.report {
        output.text(&report(&source, &task, form).await?)?;
        return Ok(Exit::Done);
    }
    let workspace = match task.kind {
        Kind::Build => None,
        Kind::Research => Some(source.workspace(&task.id).await?),
    };
    output.shown(&Shown { task, workspace })?;
    Ok(Exit::Done)
}

/// The report in the form that is asked for. What others wrote in it does not steer a terminal.
async fn report(source: &Source, task: &TaskView, form: &str) -> Result<String, Failure> {
    let none_yet = || {
        Failure::new(
            Exit::NotFound,
            format!(
                "task {} is {} and has no report yet; follow it with: nightforge watch {0}",
                task.id, task.state
            ),
        )
    };
    let text = match (task.kind, form) {
        (_, "md") => source.report(&task.id).await?.ok_or_else(none_yet)?,
        (Kind::Build, _) => {
            return Err(Failure::usage(format!(
                "the report of a build is text only, not {form}: --report md"
            )));
        }
        (Kind::Research, form) => {
            let result = source.result(&task.id).await?.ok_or_else(none_yet)?;
            let form = form.parse().unwrap_or(ResultForm::Json);
            form.of(&result).map_err(|error| {
                Failure::new(Exit::Failed, format!("the result can't be written as JSON: {error}"))
            })?
        }
    };
    Ok(if io::stdout().is_terminal() { for_terminal(&text) } else { text })
}

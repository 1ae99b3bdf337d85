//! `cancel`: ends a task early.

use std::io::{self, BufRead, IsTerminal, Write};

use nightforge_api::TaskView;

use crate::args::Cancel;
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output, one_line};

pub(super) async fn run(args: Cancel) -> Result<Exit, Failure> {
    if !args.yes && !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "cancel asks before it ends a task, and there is no terminal to ask on; add --yes",
        ));
    }
    let client = Client::new(&args.server.server)?;
    let task = client.task(&args.id).await?;
    if !args.yes && !task.state.is_final() && !confirmed(&task)? {
        return Err(Failure::new(Exit::Failed, "not cancelled"));
    }
    let task = client.cancel(&task.id).await?;
    let output = Output::new(args.output.output);
    match output.format {
        Format::Table => output.text(&format!("{} is being cancelled", task.id))?,
        Format::Json => output.json(&task)?,
        Format::Jsonl => output.json_line(&task)?,
    }
    Ok(Exit::Done)
}

fn confirmed(task: &TaskView) -> Result<bool, Failure> {
    let question = format!("Cancel {} ({}: {})? [y/N] ", task.id, task.state, one_line(&task.objective, 60));
    let mut stderr = io::stderr();
    let mut answer = String::new();
    stderr
        .write_all(question.as_bytes())
        .and_then(|()| stderr.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer))
        .map_err(|error| Failure::usage(format!("no answer: {error}; add --yes")))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

//! `submit`: queues an objective.

use std::io::{self, Read};

use nightforge_api::{LimitChanges, SubmitBody};
use nightforge_domain::{Kind, ModelName, Objective};

use super::watch::conclude;
use crate::args::Submit;
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::follow::follow;
use crate::output::{Format, Outcomes, Output, note};
use crate::{clock, deadline, signals};

pub(super) async fn run(args: Submit) -> Result<Exit, Failure> {
    let client = Client::new(&args.server.server)?;
    let output = Output::new(args.output.output);
    let body = body(&args)?;
    let task = client.submit(&body, args.idempotency_key.as_deref()).await?;
    if args.watch {
        let leave = signals::orderly_end()?;
        note(&format!("task {}", task.id));
        let ending = follow(&client, &task.id, output, &leave).await?;
        return conclude(&client, &ending, output, &args.server.server).await;
    }
    match output.format {
        Format::Table => {
            output.text(task.id.as_str())?;
            note(&format!("{}; follow it with: nightforge watch {}", task.state, task.id));
            for why in &task.waiting {
                note(&format!("waiting: {}", why.message));
            }
        }
        Format::Json => output.json(&Outcomes::of([&task]))?,
        Format::Jsonl => output.json_line(&task)?,
    }
    Ok(Exit::Done)
}

/// Checked here as well as by the server, so that a mistake is told without one.
fn body(args: &Submit) -> Result<SubmitBody, Failure> {
    let objective =
        Objective::try_from(objective(args)?).map_err(|error| Failure::usage(error.to_string()))?;
    let model = args.model.as_deref().map(str::parse::<ModelName>).transpose();
    let limits = limits(args)?;
    let deadline = args.deadline.as_deref().map(|text| deadline::resolve(text, &clock::now())).transpose();
    Ok(SubmitBody {
        kind: args.kind,
        objective: objective.into(),
        priority: args.priority,
        model: model.map_err(|error| Failure::usage(format!("--model: {error}")))?,
        deadline: deadline.map_err(|reason| Failure::usage(format!("--deadline: {reason}")))?,
        limits,
        language: args.language.clone(),
        previous: args.previous.clone(),
    })
}

/// The limits that are given. A flag of another kind would have no effect, so it is refused.
fn limits(args: &Submit) -> Result<LimitChanges, Failure> {
    let no_effect = |flag: &str, kinds: &str| {
        Err(Failure::usage(format!("{flag} is for {kinds}, not for {}; leave it out", args.kind)))
    };
    if args.kind != Kind::Research {
        for (flag, given) in [("--language", &args.language), ("--previous", &args.previous)] {
            if given.is_some() {
                return no_effect(flag, Kind::Research.as_str());
            }
        }
    }
    let mut limits = LimitChanges::default();
    for (flag, limit, value) in args.limits.given() {
        match LimitChanges::kind_of(limit) {
            Some(only) if only != args.kind && value.is_some() => return no_effect(flag, only.as_str()),
            _ => limits = limits.with(limit, value),
        }
    }
    Ok(limits)
}

fn objective(args: &Submit) -> Result<String, Failure> {
    match (&args.file, args.objective.as_deref()) {
        (Some(path), _) => read(std::fs::File::open(path), &path.display().to_string()),
        (None, Some("-")) => read(Ok(io::stdin().lock()), "standard input"),
        (None, Some(text)) => Ok(text.to_owned()),
        (None, None) => Err(Failure::usage("the objective is missing; say in a sentence what is wanted")),
    }
}

/// Reads no more than it takes to know that there is too much.
fn read(source: io::Result<impl Read>, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = Objective::MAX_BYTES as u64 * 2;
    source
        .and_then(|source| source.take(limit).read_to_end(&mut bytes))
        .map_err(|error| Failure::usage(format!("the objective can't be read from {name}: {error}")))?;
    if bytes.len() as u64 == limit {
        return Err(Failure::usage(format!(
            "{name} is far over the {} bytes that an objective may have; put long material into a file of the \
             repository",
            Objective::MAX_BYTES
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{name} is not plain text in UTF-8; convert it first")))
}

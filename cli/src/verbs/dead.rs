//! `dead`: dead letters, listed, retried, dismissed.

use nightforge_api::BulkRetry;
use nightforge_domain::{JobId, JobNo};

use super::confirm::{can_ask, confirmed};
use crate::args::{Dead, DeadDrop, DeadLetterId, DeadList, DeadRetry, DeadVerb, OutputArgs, ServerArgs};
use crate::client::{Client, DeadRequest};
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output, note, one_line};

pub(super) async fn run(args: Dead) -> Result<Exit, Failure> {
    match args.verb {
        DeadVerb::List(args) => list(args).await,
        DeadVerb::Retry(DeadRetry { job: Some(wanted), server, output, .. }) => {
            retry(&wanted, &server, output).await
        }
        DeadVerb::Retry(args) => retry_all(args).await,
        DeadVerb::Drop(args) => dismiss(args).await,
    }
}

async fn list(args: DeadList) -> Result<Exit, Failure> {
    let client = Client::new(&args.server.server)?;
    let wanted = DeadRequest { task: args.task, model: args.model, dropped: args.dropped, limit: args.limit };
    let page = client.dead(&wanted).await?;
    Output::new(args.output.output).dead_letters(&page)?;
    if args.output.output == Format::Table && page.more {
        note(&format!("there are more than {}; --limit shows up to 1000", args.limit));
    }
    Ok(Exit::Done)
}

async fn retry(wanted: &DeadLetterId, server: &ServerArgs, output: OutputArgs) -> Result<Exit, Failure> {
    let client = Client::new(&server.server)?;
    let job = letter(&client, wanted).await?;
    let task = client.retry_dead(&job).await?;
    let said = format!("job {job} is retried; follow its task with: nightforge watch {}", job.task);
    Output::new(output.output).change(&said, &task)?;
    Ok(Exit::Done)
}

async fn retry_all(args: DeadRetry) -> Result<Exit, Failure> {
    can_ask(args.yes, "dead retry --all", "retries every dead letter")?;
    let client = Client::new(&args.server.server)?;
    if !args.yes {
        let count = client.retry_all_dead(true).await?.retried.len();
        if count > 0 && !confirmed(&format!("Retry {count} dead letters?"))? {
            return Err(Failure::new(Exit::Failed, "none retried"));
        }
    }
    let done = client.retry_all_dead(false).await?;
    Output::new(args.output.output).change(&told(&done), &done)?;
    Ok(if done.refused.is_empty() { Exit::Done } else { Exit::Conflict })
}

fn told(done: &BulkRetry) -> String {
    let mut said = match done.retried.len() {
        0 => "no dead letter is retried".to_owned(),
        1 => "1 dead letter is retried".to_owned(),
        count => format!("{count} dead letters are retried"),
    };
    for letter in &done.refused {
        said.push_str(&format!("\nnot {}: {}", letter.id, letter.reason));
    }
    said
}

async fn dismiss(args: DeadDrop) -> Result<Exit, Failure> {
    can_ask(args.yes, "dead drop", "dismisses a dead letter")?;
    let client = Client::new(&args.server.server)?;
    let job = letter(&client, &args.job).await?;
    if !args.yes {
        let wanted =
            DeadRequest { task: Some(job.task.to_string()), dropped: true, ..DeadRequest::default() };
        let found = client.dead(&wanted).await?.letters.into_iter().find(|letter| letter.job == job.no);
        let reason = found.map(|letter| one_line(&letter.reason, 80)).unwrap_or_default();
        if !confirmed(&format!("Dismiss dead letter {job} ({reason})?"))? {
            return Err(Failure::new(Exit::Failed, "not dismissed"));
        }
    }
    let letter = client.drop_dead(&job).await?;
    let said = format!("{job} is dismissed; it stays in the history: nightforge events {}", job.task);
    Output::new(args.output.output).change(&said, &letter)?;
    Ok(Exit::Done)
}

/// The dead letter with its task's whole id.
async fn letter(client: &Client, wanted: &DeadLetterId) -> Result<JobId, Failure> {
    Ok(JobId { task: client.task(&wanted.task).await?.id, no: JobNo(wanted.job) })
}

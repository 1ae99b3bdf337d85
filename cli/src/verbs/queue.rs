//! `queue`: how deep the queues are, and holding them back.

use crate::args::{Queue, QueueChange, QueueVerb};
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(super) async fn run(args: Queue) -> Result<Exit, Failure> {
    match args.verb {
        QueueVerb::List(args) => {
            let page = Client::new(&args.server.server)?.queues().await?;
            Output::new(args.output.output).queues(&page)?;
            Ok(Exit::Done)
        }
        QueueVerb::Pause(args) => change(args, true).await,
        QueueVerb::Resume(args) => change(args, false).await,
    }
}

async fn change(args: QueueChange, paused: bool) -> Result<Exit, Failure> {
    let client = Client::new(&args.server.server)?;
    let output = Output::new(args.output.output);
    match (&args.model, args.kind) {
        (Some(model), _) => {
            let queue = client.pause_model(model, paused).await?;
            output.change(&said(&format!("model {model}"), model.as_str(), paused), &queue)?;
        }
        (None, Some(kind)) => {
            let queue = client.pause_kind(kind, paused).await?;
            output.change(&said(&format!("kind {kind}"), &format!("--kind {kind}"), paused), &queue)?;
        }
        (None, None) => return Err(Failure::usage("name a model, or a kind of task with --kind")),
    }
    Ok(Exit::Done)
}

fn said(what: &str, argument: &str, paused: bool) -> String {
    if paused {
        format!(
            "{what} is paused; running steps are finished first. To go on: nightforge queue resume {argument}"
        )
    } else {
        format!("{what} goes on")
    }
}

//! `watch`: follows a task until it is over.

use nightforge_api::TaskView;

use crate::args::Watch;
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::follow::{Ending, follow, result_of};
use crate::output::{Format, Outcomes, Output, note};
use crate::signals;

pub(super) async fn run(args: Watch) -> Result<Exit, Failure> {
    let client = Client::new(&args.server.server)?;
    let output = Output::new(args.output.output);
    let task = client.task(&args.id).await?.id;
    let leave = signals::orderly_end()?;
    match follow(&client, &task, output, &leave).await? {
        Ending::Over(task) => {
            match output.format {
                Format::Table => output.outcome(&task, result_of(&client, &task).await?.as_ref())?,
                Format::Json => output.json(&task)?,
                // The events say it all.
                Format::Jsonl => {}
            }
            Ok(Exit::of(task.state))
        }
        Ending::Left(task) => {
            if output.format == Format::Json {
                output.json(&task)?;
            }
            say_how_to_come_back(&task, &args.server.server);
            Ok(Exit::Done)
        }
    }
}

/// After [`follow`] for a task that was just made: what it came to, or how to come back.
pub(super) async fn conclude(
    client: &Client,
    ending: &Ending,
    output: Output,
    server: &str,
) -> Result<Exit, Failure> {
    let (Ending::Over(task) | Ending::Left(task)) = ending;
    match (output.format, ending) {
        (Format::Json, _) => output.json(&Outcomes::of([task]))?,
        (Format::Table, Ending::Over(_)) => {
            output.outcome(task, result_of(client, task).await?.as_ref())?;
        }
        (Format::Table, Ending::Left(_)) | (Format::Jsonl, _) => {}
    }
    if let Ending::Left(task) = ending {
        say_how_to_come_back(task, server);
    }
    Ok(Exit::of(task.state))
}

fn say_how_to_come_back(task: &TaskView, server: &str) {
    let server =
        if server == crate::args::DEFAULT_SERVER { String::new() } else { format!(" --server {server}") };
    note(&format!("detached; the task goes on. Come back with: nightforge watch {}{server}", task.id));
}

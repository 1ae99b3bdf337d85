//! `retry`: lets a task go on that ended early.

use crate::args::Retry;
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(super) async fn run(args: Retry) -> Result<Exit, Failure> {
    let client = Client::new(&args.server.server)?;
    let id = client.task(&args.id).await?.id;
    let task = client.retry(&id, args.from).await?;
    let said = match args.from {
        Some(job) => format!("{id} is retried from job {job}; follow it with: nightforge watch {id}"),
        None => format!("{id} is retried; follow it with: nightforge watch {id}"),
    };
    Output::new(args.output.output).change(&said, &task)?;
    Ok(Exit::Done)
}

//! `pause` and `resume`: hold a task back, and let it go on.

use crate::args::OneTask;
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(super) async fn run(args: OneTask) -> Result<Exit, Failure> {
    let client = Client::new(&args.server.server)?;
    let id = client.task(&args.id).await?.id;
    let task = client.set_paused(&id, true).await?;
    let said = format!("{id} is paused; a running step is finished first. To go on: nightforge resume {id}");
    Output::new(args.output.output).change(&said, &task)?;
    Ok(Exit::Done)
}

pub(super) async fn resume(args: OneTask) -> Result<Exit, Failure> {
    let client = Client::new(&args.server.server)?;
    let id = client.task(&args.id).await?.id;
    let task = client.set_paused(&id, false).await?;
    let mut said = format!("{id} goes on");
    for reason in &task.waiting {
        said.push_str(&format!("\nwaiting: {}", reason.message));
    }
    Output::new(args.output.output).change(&said, &task)?;
    Ok(Exit::Done)
}

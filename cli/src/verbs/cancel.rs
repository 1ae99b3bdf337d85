//! `cancel`: ends a task early.

use super::confirm::{can_ask, confirmed};
use crate::args::Cancel;
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::output::{Output, one_line};

pub(super) async fn run(args: Cancel) -> Result<Exit, Failure> {
    can_ask(args.yes, "cancel", "ends a task")?;
    let client = Client::new(&args.server.server)?;
    let task = client.task(&args.id).await?;
    let question = || format!("Cancel {} ({}: {})?", task.id, task.state, one_line(&task.objective, 60));
    if !args.yes && !task.state.is_final() && !confirmed(&question())? {
        return Err(Failure::new(Exit::Failed, "not cancelled"));
    }
    let task = client.cancel(&task.id).await?;
    Output::new(args.output.output).change(&format!("{} is being cancelled", task.id), &task)?;
    Ok(Exit::Done)
}

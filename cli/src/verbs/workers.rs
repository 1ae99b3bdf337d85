//! `workers`: live processes, their model servers, their jobs.

use crate::args::Workers;
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(super) async fn run(args: Workers) -> Result<Exit, Failure> {
    let page = Client::new(&args.server.server)?.workers().await?;
    Output::new(args.output.output).workers(&page)?;
    Ok(Exit::Done)
}

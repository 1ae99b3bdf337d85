//! `show`: one task.

use crate::args::Show;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::source::Source;

pub(super) async fn run(args: Show) -> Result<Exit, Failure> {
    let task = Source::open(&args.from).await?.task(&args.id).await?;
    Output::new(args.output.output).task(&task)?;
    Ok(Exit::Done)
}

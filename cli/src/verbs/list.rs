//! `list`: tasks, newest first.

use nightforge_api::PageRequest;

use crate::args::List;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output, note};
use crate::source::Source;

pub(super) async fn run(args: List) -> Result<Exit, Failure> {
    let source = Source::open(&args.from).await?;
    let before = match &args.before {
        None => None,
        Some(id) => Some(source.task(id).await?.id),
    };
    let page = source
        .tasks(&PageRequest { state: args.state, before, limit: args.limit, ..PageRequest::default() })
        .await?;
    Output::new(args.output.output).tasks(&page)?;
    if let (Format::Table, Some(next)) = (args.output.output, &page.next) {
        note(&format!("there are more: nightforge list --before {next}"));
    }
    Ok(Exit::Done)
}

//! `events`: a task's log.

use serde_json::json;

use crate::args::Events;
use crate::client::EVENT_PAGE;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::source::Source;

pub(super) async fn run(args: Events) -> Result<Exit, Failure> {
    let source = Source::open(&args.from).await?;
    let output = Output::new(args.output.output);
    let task = source.task(&args.id).await?.id;
    let mut after = args.after;
    let mut all = Vec::new();
    loop {
        let page = source.events(&task, after).await?;
        let last = page.len() < EVENT_PAGE as usize;
        after = page.last().map_or(after, |event| event.seq);
        // One JSON value can only be written when all of it is there.
        if output.format == Format::Json {
            all.extend(page);
        } else {
            output.events(&page)?;
        }
        if last {
            break;
        }
    }
    if output.format == Format::Json {
        output.json(&json!({ "events": all }))?;
    }
    Ok(Exit::Done)
}

//! Reading: one step for each page that code has picked.

use nightforge_domain::Event;
use nightforge_domain::research::{SourceId, SourceStatus};

pub(crate) use super::pages::ranking;
use super::turns::SharedTurns;
use super::{SearchSetup, addresses, pages, rows};
use crate::engine::{Failure, JobContext};

/// Rows of the addresses in what the user wrote. An address that only an assignment has was written by a model, and
/// may be read only if a search names it too.
pub(crate) async fn given(context: &mut JobContext) -> Result<Vec<SourceId>, Failure> {
    let urls = addresses::addresses(&context.claim.task.objective);
    if urls.is_empty() {
        return Ok(Vec::new());
    }
    context.step("given", &urls, async |context| rows::record_given(context, &urls).await).await
}

/// Reads the pages that are worth it, and none that was read before.
pub(crate) async fn read(
    context: &mut JobContext,
    setup: &SearchSetup,
    given: &[SourceId],
    ranking: &[SourceId],
) -> Result<(), Failure> {
    let picked: Vec<SourceId> = context
        .step("pages", &(given, ranking), async |context| {
            let sources = context.store.sources(&context.claim.job.task).await?;
            Ok(pages::to_read(given, ranking, &sources))
        })
        .await?;
    for id in picked {
        page(context, setup, id).await?;
    }
    Ok(())
}

async fn page(context: &mut JobContext, setup: &SearchSetup, id: SourceId) -> Result<SourceStatus, Failure> {
    context
        .step_told("read", &id, async |context| {
            let known = context.store.sources_with_text(&context.claim.job.task, &[id]).await?;
            let source = known.into_iter().next();
            let source = source.ok_or_else(|| anyhow::anyhow!("the source {id} is not there"))?;
            let status = if source.status == SourceStatus::Found {
                let turns = SharedTurns(context.store.clone());
                let read = setup.read(&source.url, source.is_demo, &turns).await;
                rows::record_page(context, id, read).await?.status
            } else {
                // Another researcher of the round was there first.
                source.status
            };
            let (tool, subject) = ("read_page".to_owned(), id.to_string());
            let outcome = status.to_string();
            Ok((status, vec![Event::ToolCalled { job: context.claim.job.no, tool, subject, outcome }]))
        })
        .await
}

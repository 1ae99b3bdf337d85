//! Reading: one step for each page that code has picked.

use nightforge_domain::research::{Source, SourceId, SourceStatus};
use nightforge_domain::{Event, JobId, Millis};

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

/// What a researcher has read.
#[derive(Debug)]
pub(crate) struct Reading {
    tried: Vec<SourceId>,
    round_began: Millis,
}

/// Reads the pages that are worth it, and none that was read before the round.
pub(crate) async fn read(
    context: &mut JobContext,
    setup: &SearchSetup,
    given: &[SourceId],
    ranking: &[SourceId],
) -> Result<Reading, Failure> {
    let round_began = round_began(context).await?;
    let picked: Vec<SourceId> = context
        .step("pages", &(given, ranking), async |context| {
            let sources = context.store.sources(&context.claim.job.task).await?;
            Ok(pages::to_read(given, ranking, &sources, round_began))
        })
        .await?;
    let (mut tried, mut pages_read) = (Vec::new(), 0);
    for id in picked {
        if pages_read == pages::MAX_PAGES {
            break;
        }
        let status = page(context, setup, id).await?;
        pages_read += usize::from(pages::counts(status));
        tried.push(id);
    }
    Ok(Reading { tried, round_began })
}

impl Reading {
    /// The sources as this researcher knows them: without what another one of the same round has read of them
    /// meanwhile. Who came first is chance, and the same work must give the same report.
    pub(crate) async fn of_its_own(
        &self,
        context: &JobContext,
        mut sources: Vec<Source>,
    ) -> Result<Vec<Source>, Failure> {
        let tried = context.store.sources_with_text(&context.claim.job.task, &self.tried).await?;
        for source in &mut sources {
            let has_content = |one: &Source| one.sha256.is_some() && one.sha256 == source.sha256;
            let is_own = tried.iter().any(|one| one.id == source.id || has_content(one));
            if !is_own && pages::was_unread(source, self.round_began) {
                source.text = None;
                source.sha256 = None;
                source.note = None;
                source.status = SourceStatus::Found;
            }
        }
        Ok(sources)
    }
}

/// The jobs of a round are created together.
async fn round_began(context: &JobContext) -> Result<Millis, Failure> {
    let JobId { task, no } = &context.claim.job;
    let jobs = context.store.jobs(task).await?;
    let job = jobs.iter().find(|job| job.no == *no);
    Ok(job.ok_or_else(|| anyhow::anyhow!("the job {no} is not there"))?.created_at)
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

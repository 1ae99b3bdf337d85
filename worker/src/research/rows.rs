//! Sources as rows: what a search or a page gave, cleaned, under the fence of its claim.

use nightforge_domain::research::outside::cleaned;
use nightforge_domain::research::{Source, SourceId, SourceStatus};
use nightforge_sources::{NamedHit, Page, PageProblem, canonical_url};
use nightforge_store::{FoundSource, ReadPage, RecordedSource};

use super::setup::sha256;
use crate::engine::{Failure, JobContext};

/// The back-end's name of an address that the user gave.
const USER: &str = "user";

/// Makes a row of every hit; the ids of those that can be cited, in their order and each once.
pub(super) async fn record_hits(context: &JobContext, hits: &[NamedHit]) -> Result<Vec<SourceId>, Failure> {
    let found = hits.iter().map(|NamedHit { hit, backend, is_demo }| FoundSource {
        url: hit.url.clone(),
        canonical_url: canonical_url(&hit.url),
        title: line(&hit.title),
        snippet: cleaned(&hit.snippet),
        text: hit.text.as_deref().map(cleaned),
        tool: backend.clone(),
        is_demo: *is_demo,
        placeholder: hit.placeholder,
        published: hit.published.as_deref().map(line),
    });
    let recorded = record(context, &found.collect::<Vec<_>>()).await?;
    let citable = recorded.iter().filter(|row| row.source.status != SourceStatus::Placeholder);
    let mut ids: Vec<SourceId> = Vec::new();
    for row in citable {
        if !ids.contains(&row.source.id) {
            ids.push(row.source.id);
        }
    }
    Ok(ids)
}

/// Makes a row of every address that the user gave.
pub(super) async fn record_given(context: &JobContext, urls: &[String]) -> Result<Vec<SourceId>, Failure> {
    let found = urls.iter().map(|url| FoundSource {
        url: url.clone(),
        canonical_url: canonical_url(url),
        title: url.clone(),
        snippet: String::new(),
        text: None,
        tool: USER.to_owned(),
        is_demo: false,
        placeholder: false,
        published: None,
    });
    let recorded = record(context, &found.collect::<Vec<_>>()).await?;
    Ok(recorded.into_iter().map(|row| row.source.id).collect())
}

async fn record(context: &JobContext, found: &[FoundSource]) -> Result<Vec<RecordedSource>, Failure> {
    context
        .fenced(|store, claim| async move { store.record_sources(&claim.job, claim.fence, found).await })
        .await
}

/// Stores what reading a source gave.
pub(super) async fn record_page(
    context: &JobContext,
    id: SourceId,
    read: Result<Page, PageProblem>,
) -> Result<Source, Failure> {
    let page = match read {
        Ok(page) => {
            let text = cleaned(&page.text);
            ReadPage {
                status: SourceStatus::Read,
                note: None,
                title: page.title.as_deref().map(line).filter(|title| !title.is_empty()),
                sha256: Some(sha256(&text)),
                text: Some(text),
                media_type: Some(page.media_type),
                published: page.published.as_deref().map(line),
            }
        }
        Err(problem) => ReadPage {
            status: problem.status,
            note: Some(problem.note),
            title: None,
            text: None,
            sha256: None,
            media_type: None,
            published: None,
        },
    };
    let page = &page;
    context
        .fenced(|store, claim| async move { store.record_page(&claim.job, claim.fence, id, page).await })
        .await
}

/// The sources with these ids and their texts, in the order of the ids. In the place of one whose content another one
/// has stands that other one.
pub(super) async fn in_order(context: &JobContext, ids: &[SourceId]) -> Result<Vec<Source>, Failure> {
    let task = &context.claim.job.task;
    let all = context.store.sources(task).await?;
    let mut wanted: Vec<SourceId> = Vec::new();
    for id in ids {
        let Some(source) = all.iter().find(|source| source.id == *id) else { continue };
        let twin = all.iter().find(|other| {
            source.status == SourceStatus::Duplicate
                && other.status == SourceStatus::Read
                && other.sha256 == source.sha256
        });
        let id = twin.map_or(source.id, |twin| twin.id);
        if !wanted.contains(&id) {
            wanted.push(id);
        }
    }
    let mut sources = context.store.sources_with_text(task, &wanted).await?;
    sources.sort_by_key(|source| wanted.iter().position(|id| *id == source.id));
    Ok(sources)
}

fn line(text: &str) -> String {
    cleaned(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

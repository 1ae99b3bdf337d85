//! Searching: one step for each query, whose hits are rows before any model sees them.

use nightforge_domain::Event;
use nightforge_domain::research::outside::{cleaned, clipped};
use nightforge_domain::research::{SourceId, title_key};
use nightforge_sources::SearchAnswer;
use serde::{Deserialize, Serialize};

use super::SearchSetup;
use super::rows;
use crate::engine::{Failure, JobContext};

/// Hits of one query.
const MAX_HITS: usize = 6;

/// A longer query is a text, and no search takes it.
const MAX_QUERY_CHARS: usize = 200;

/// What one query came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
enum Searched {
    /// Best first; those that can be cited.
    Hits { sources: Vec<SourceId> },
    /// There is nothing.
    Nothing,
    /// Nobody could look, and other queries have found enough to go on.
    Unavailable,
}

/// The queries as they are asked: on one line, none twice.
pub(crate) fn queries(given: &[String]) -> Vec<String> {
    let mut queries: Vec<String> = Vec::new();
    for query in given {
        let line = cleaned(query).split_whitespace().collect::<Vec<_>>().join(" ");
        let query = clipped(&line, MAX_QUERY_CHARS);
        if !query.is_empty() && !queries.iter().any(|known| title_key(known) == title_key(&query)) {
            queries.push(query);
        }
    }
    queries
}

/// Asks every query; the hits of each, in the order of the queries.
///
/// # Errors
/// [`Failure::Unavailable`] where nobody could look for one of them and no other found anything: that is no evidence
/// of absence, so nothing may be made of it.
pub(crate) async fn search(
    context: &mut JobContext,
    setup: &SearchSetup,
    queries: &[String],
) -> Result<Vec<Vec<SourceId>>, Failure> {
    let mut found: Vec<Vec<SourceId>> = vec![Vec::new(); queries.len()];
    let mut open: Vec<usize> = (0..queries.len()).collect();
    let mut put_off: Vec<(usize, Failure)> = Vec::new();
    while !open.is_empty() {
        // After a crash the journal has the queries in the order in which they were answered.
        let mut next = 0;
        for (place, query) in open.iter().enumerate() {
            if context.is_recorded_next("search", &queries[*query])? {
                next = place;
                break;
            }
        }
        let query = open.remove(next);
        let may_do_without = found.iter().any(|hits| !hits.is_empty());
        match one(context, setup, &queries[query], may_do_without).await {
            Ok(Searched::Hits { sources }) => {
                found[query] = sources;
                // What was put off has no need to be answered any more, but stands in the journal all the same.
                open.extend(put_off.drain(..).map(|(query, _)| query));
            }
            Ok(Searched::Nothing | Searched::Unavailable) => {}
            Err(failure @ Failure::Unavailable { .. }) => put_off.push((query, failure)),
            Err(failure) => return Err(failure),
        }
    }
    match put_off.into_iter().next() {
        Some((_, failure)) => Err(failure),
        None => Ok(found),
    }
}

/// One query, asked of every back-end.
async fn one(
    context: &mut JobContext,
    setup: &SearchSetup,
    query: &str,
    may_do_without: bool,
) -> Result<Searched, Failure> {
    context
        .step_told("search", &query, async |context| {
            let found = setup.search(query, MAX_HITS).await;
            for problem in &found.problems {
                tracing::warn!(query, problem, "a back-end could not look");
            }
            let (searched, outcome) = match found.answer {
                SearchAnswer::Hits { hits } => {
                    let sources = rows::record_hits(context, &hits).await?;
                    match sources.len() {
                        0 => (Searched::Nothing, "nothing".to_owned()),
                        1 => (Searched::Hits { sources }, "1 hit".to_owned()),
                        count => (Searched::Hits { sources }, format!("{count} hits")),
                    }
                }
                SearchAnswer::Empty => (Searched::Nothing, "nothing".to_owned()),
                SearchAnswer::Unavailable { reason, .. } if may_do_without => {
                    tracing::warn!(query, reason, "search unavailable; other queries found something");
                    (Searched::Unavailable, "unavailable".to_owned())
                }
                SearchAnswer::Unavailable { reason, retry_after } => {
                    return Err(Failure::Unavailable { reason, retry_after });
                }
            };
            let (tool, subject) = ("search".to_owned(), query.to_owned());
            Ok((searched, vec![Event::ToolCalled { job: context.claim.job.no, tool, subject, outcome }]))
        })
        .await
}

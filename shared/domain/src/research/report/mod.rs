//! A result as pages for people: Markdown and HTML, in the language of the task. Both show the same sections; every
//! text in them came from agents or pages, so all of it is escaped, and addresses are printed from the source rows.

mod html;
mod markdown;
mod words;

pub use html::html;
pub use markdown::markdown;
pub(super) use words::{Words, words};

use super::{ResearchResult, ResultSource, SourceStatus};
use crate::Status;

/// The state in the words of the page's language.
fn state(result: &ResearchResult, words: &Words) -> &'static str {
    match (result.state, result.outcome) {
        (Status::Completed, _) => words.completed,
        (_, super::Outcome::InsufficientEvidence) => words.insufficient,
        (Status::Cancelled, _) => words.cancelled,
        (Status::Failed, _) => words.failed,
        _ => words.stopped,
    }
}

/// Sources in two groups: cited ones, and the others.
fn by_use(result: &ResearchResult) -> (Vec<&ResultSource>, Vec<&ResultSource>) {
    result.sources.iter().partition(|source| source.cited)
}

/// Whether the address can be opened by whoever reads the page.
fn can_be_opened(source: &ResultSource) -> bool {
    source.url.starts_with("https://") || source.url.starts_with("http://")
}

/// The date, the hash and what became of a source, as one line.
fn provenance(source: &ResultSource, words: &Words) -> String {
    let mut parts = vec![source.tool.clone()];
    if let Some(published) = &source.published {
        parts.push(format!("{} {published}", words.published));
    }
    parts.push(format!("{} {}", words.seen, source.at.date()));
    if let Some(hash) = &source.sha256 {
        parts.push(format!("sha256 {}", hash.chars().take(12).collect::<String>()));
    }
    if source.status != SourceStatus::Read {
        let note = source.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
        parts.push(format!("{}{note}", source.status));
    }
    parts.join(", ")
}

/// A decision or a status by the name that it has everywhere.
fn name(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}

/// Seconds, as people read them.
fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

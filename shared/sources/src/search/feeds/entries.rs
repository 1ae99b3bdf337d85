//! A feed's entries, and which of them a query means.

use std::cmp::Reverse;

use feed_rs::model::{Entry as Parsed, Link};
use feed_rs::parser::{Builder, ParseFeedError};
use reqwest::Url;

use super::bounds::{self, OutOfBounds};
use crate::answer::Hit;
use crate::search::markup::plain_text;
use crate::search::web_hit::web_hit;
use crate::search::words::{Words, folded};

/// One entry, ready to be searched.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    hit: Hit,
    /// When it was published, or changed where that is all it tells; seconds since 1970.
    at: Option<i64>,
    /// All its words, folded.
    words: String,
}

/// Why there are no entries.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoEntries {
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    #[error(transparent)]
    NoFeed(#[from] ParseFeedError),
}

/// The entries that have an address. Addresses are taken relative to the feed's own.
pub(super) fn entries_of(body: &[u8], feed: &Url) -> Result<Vec<Entry>, NoEntries> {
    bounds::check(body)?;
    let feed = Builder::new().base_uri(Some(feed.as_str())).build().parse(body)?;
    Ok(feed.entries.into_iter().filter_map(entry).collect())
}

fn entry(parsed: Parsed) -> Option<Entry> {
    let address = address(&parsed)?;
    let title = plain_text(&parsed.title.map(|title| title.content).unwrap_or_default());
    let summary = plain_text(&parsed.summary.map(|summary| summary.content).unwrap_or_default());
    let content = plain_text(&parsed.content.and_then(|content| content.body).unwrap_or_default());
    let labels = parsed.categories.into_iter().map(|category| category.label.unwrap_or(category.term));
    let labels = labels.collect::<Vec<_>>().join(" ");
    let words = folded(&format!("{title} {summary} {content} {labels}"));
    let at = parsed.published.or(parsed.updated);
    let date = at.map(|at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string());
    let snippet = if summary.is_empty() { &content } else { &summary };
    let hit = web_hit(&address, &title, snippet, date)?;
    Some(Entry { hit, at: at.map(|at| at.timestamp()), words })
}

/// The page of the entry: the link that says so, the first one, or an id that is an address.
fn address(entry: &Parsed) -> Option<String> {
    let is_page = |link: &&Link| matches!(link.rel.as_deref(), None | Some("alternate"));
    let link = entry.links.iter().find(is_page).or(entry.links.first());
    Some(link.map_or(&entry.id, |link| &link.href).clone()).filter(|address| !address.is_empty())
}

/// Entries that hold a word of the query: most words first, then the newest.
pub(super) fn matching(entries: Vec<Entry>, query: &str, limit: usize) -> Vec<Hit> {
    let words = Words::of(query);
    let mut found: Vec<(usize, Entry)> = entries
        .into_iter()
        .map(|entry| (words.count_in(&entry.words), entry))
        .filter(|(count, _)| *count > 0)
        .collect();
    found.sort_by_key(|(count, entry)| Reverse((*count, entry.at)));
    found.into_iter().take(limit).map(|(_, entry)| entry.hit).collect()
}

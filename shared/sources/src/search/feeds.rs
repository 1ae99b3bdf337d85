//! Feeds: RSS, Atom and JSON feeds, searched by the words of their entries.
//!
//! Every search asks every feed, with what the feed told of its last version, so that an unchanged one costs a line.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{
    ACCEPT, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};

mod bounds;
mod entries;

use entries::{Entry, entries_of, matching};

use super::Looked;
use super::config::{ConfigError, Patience, checked_url};
use super::exchange::{Question, Trouble, http_client};
use crate::answer::SearchAnswer;

const NAME: &str = "feeds";
const ACCEPTED: &str = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, \
                        application/json;q=0.9, */*;q=0.5";

/// Which feeds.
#[derive(Debug, Clone)]
pub struct FeedsConfig {
    /// Their addresses.
    pub urls: Vec<Url>,
    /// How long to wait for each; all are asked at once.
    pub patience: Patience,
}

impl FeedsConfig {
    /// These feeds, each with 10 s.
    pub fn new(urls: Vec<Url>) -> Self {
        Self { urls, patience: Patience { whole: Duration::from_secs(10), ..Patience::default() } }
    }
}

/// The feeds and what is known of them.
#[derive(Debug)]
pub struct Feeds {
    feeds: Vec<(Url, reqwest::Client)>,
    patience: Patience,
    /// By address; only of feeds that told how to ask for changes.
    known: Mutex<BTreeMap<Url, Version>>,
}

/// A feed as it was when it was last fetched.
#[derive(Debug, Clone)]
struct Version {
    /// Headers that ask whether it has changed.
    conditions: Vec<(HeaderName, HeaderValue)>,
    entries: Vec<Entry>,
}

impl Feeds {
    /// Checks the addresses; nothing is asked yet.
    pub fn new(config: FeedsConfig) -> Result<Self, ConfigError> {
        if config.urls.is_empty() {
            return Err(ConfigError::Nothing(
                "feeds: no feed is configured; name at least one, or take feeds out",
            ));
        }
        let mut feeds: Vec<(Url, reqwest::Client)> = Vec::new();
        for url in config.urls {
            let url = checked_url(NAME, url)?;
            if feeds.iter().all(|(other, _)| *other != url) {
                let http = http_client(NAME, &url, config.patience)?;
                feeds.push((url, http));
            }
        }
        Ok(Self { feeds, patience: config.patience, known: Mutex::default() })
    }

    pub(crate) async fn look(&self, query: &str, limit: usize) -> Looked {
        let fetches = self.feeds.iter().map(|(url, http)| self.entries(url, http));
        let mut entries = Vec::new();
        let (mut troubles, mut pauses) = (Vec::new(), Vec::new());
        for fetched in futures_util::future::join_all(fetches).await {
            match fetched {
                Ok(more) => entries.extend(more),
                Err(trouble) => {
                    troubles.push(trouble.reason);
                    pauses.extend(trouble.retry_after);
                }
            }
        }
        let hits = matching(entries, query, limit);
        // A feed that could not be read may hold what the others do not.
        if hits.is_empty() && !troubles.is_empty() {
            let reason = troubles.join("; ");
            return SearchAnswer::Unavailable { reason, retry_after: pauses.into_iter().min() }.into();
        }
        Looked { answer: SearchAnswer::of(hits), problems: troubles }
    }

    async fn entries(&self, url: &Url, http: &reqwest::Client) -> Result<Vec<Entry>, Trouble> {
        let question = Question {
            service: "feed",
            endpoint: url,
            asked: "for its entries".to_owned(),
            key: None,
            whole: self.patience.whole,
        };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned();
        let mut request = http.get(url.clone()).header(ACCEPT, ACCEPTED);
        for (name, value) in known.iter().flat_map(|version| &version.conditions) {
            request = request.header(name, value);
        }
        let reply = question.ask(request).await?;
        match (reply.status, known) {
            (304, Some(version)) => return Ok(version.entries),
            (200..=299, _) => {}
            _ => return Err(question.status_trouble(&reply)),
        }
        let conditions = conditions(&reply.headers);
        let (excerpt, base) = (reply.excerpt(), url.clone());
        // Parsing two megabytes takes a while, and other work waits on this thread.
        let parsed = tokio::task::spawn_blocking(move || entries_of(&reply.body, &base)).await;
        let entries = match parsed {
            Ok(Ok(entries)) => entries,
            Ok(Err(error)) => {
                let came = format!("no feed that can be read ({error}): {excerpt}");
                return Err(question.trouble(
                    came,
                    "check that the address is the feed's, not its site's",
                    None,
                ));
            }
            Err(panic) => {
                let came = format!("a feed that broke its parser ({panic})");
                return Err(question.trouble(came, "take it out of the configuration", None));
            }
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if conditions.is_empty() {
            known.remove(url);
        } else {
            known.insert(url.clone(), Version { conditions, entries: entries.clone() });
        }
        Ok(entries)
    }
}

fn conditions(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    [(ETAG, IF_NONE_MATCH), (LAST_MODIFIED, IF_MODIFIED_SINCE)]
        .into_iter()
        .filter_map(|(told, asked)| Some((asked, headers.get(told)?.clone())))
        .collect()
}

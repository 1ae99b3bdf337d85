//! Search: one query, asked of every configured back-end.
//!
//! A back-end answers in one of three ways and never mixes them up: hits, nothing there, could not look. Each lives in
//! a file of its own; `exchange.rs` is how those on the network ask, `merge.rs` puts several answers together.

mod brave;
mod config;
mod exchange;
mod feeds;
mod markup;
mod merge;
mod recorded;
mod replay;
mod retry_after;
mod searxng;
mod tavily;
mod web_hit;
mod words;

pub use brave::{Brave, BraveConfig};
pub use config::{ConfigError, Patience};
pub use feeds::{Feeds, FeedsConfig};
pub use merge::{Found, NamedHit, Search};
pub use recorded::Recorded;
pub use replay::{Recording, Replay};
pub use searxng::{SearxNg, SearxNgConfig};
pub use tavily::{Tavily, TavilyConfig};

use crate::answer::SearchAnswer;
use crate::corpus::Corpus;
use crate::demo::Demo;

/// One place to search. Cheap to build, made once and asked often.
#[derive(Debug)]
pub enum Backend {
    /// A SearXNG instance.
    SearxNg(SearxNg),
    /// Tavily's web search.
    Tavily(Tavily),
    /// Brave's web search.
    Brave(Brave),
    /// RSS, Atom and JSON feeds.
    Feeds(Feeds),
    /// Answers recorded before.
    Replay(Replay),
    /// A local folder.
    Corpus(Corpus),
    /// The demo's invented documents.
    Demo(Demo),
    /// Another back-end, its answers written down for [`Backend::Replay`].
    Recorded(Recorded),
}

impl Backend {
    /// Its name in the configuration, in the source rows and in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Backend::SearxNg(_) => "searxng",
            Backend::Tavily(_) => "tavily",
            Backend::Brave(_) => "brave",
            Backend::Feeds(_) => "feeds",
            Backend::Replay(_) => "replay",
            Backend::Corpus(_) => "corpus",
            Backend::Demo(_) => "demo",
            Backend::Recorded(recorded) => recorded.backend().name(),
        }
    }

    /// Whether what it finds is invented for demonstrations. A recording of such answers stays one.
    pub fn is_demo(&self) -> bool {
        match self {
            Backend::SearxNg(_) | Backend::Tavily(_) | Backend::Brave(_) | Backend::Feeds(_) => false,
            Backend::Corpus(_) => false,
            Backend::Replay(replay) => replay.is_demo(),
            Backend::Demo(_) => true,
            Backend::Recorded(recorded) => recorded.backend().is_demo(),
        }
    }

    /// Asks once, for at most `limit` hits. Never asks a second time: whoever calls decides when.
    pub async fn search(&self, query: &str, limit: usize) -> SearchAnswer {
        self.look(query, limit).await.answer
    }

    /// As [`Backend::search`], with what went wrong beside an answer that has hits all the same.
    pub(crate) async fn look(&self, query: &str, limit: usize) -> Looked {
        // With none wanted, an answer that has hits would look like an empty one.
        let limit = limit.max(1);
        match self {
            Backend::SearxNg(searxng) => searxng.look(query, limit).await,
            Backend::Tavily(tavily) => tavily.look(query, limit).await,
            Backend::Brave(brave) => brave.look(query, limit).await,
            Backend::Feeds(feeds) => feeds.look(query, limit).await,
            Backend::Replay(replay) => replay.look(query, limit).into(),
            Backend::Corpus(corpus) => corpus.search(query, limit).await.into(),
            Backend::Demo(demo) => demo.search(query, limit).into(),
            // Boxed because what is recorded is a back-end itself.
            Backend::Recorded(recorded) => Box::pin(recorded.look(query, limit)).await,
        }
    }
}

/// What one back-end found, and what kept it from finding more.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) answer: SearchAnswer,
    /// Each for the operator. What left the back-end without any hit is the reason of an `Unavailable` instead.
    pub(crate) problems: Vec<String>,
}

impl From<SearchAnswer> for Looked {
    fn from(answer: SearchAnswer) -> Self {
        Looked { answer, problems: Vec::new() }
    }
}

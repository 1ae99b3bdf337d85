//! What a search back-end says to a query.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One thing that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Where it stands: a URL, `demo://…`, or `path#Lx-Ly` in a corpus.
    pub url: String,
    /// Its title, never empty: the address where the back-end gave none.
    pub title: String,
    /// What the back-end shows of it, as plain text.
    pub snippet: String,
    /// Its date as the back-end gave it.
    pub published: Option<String>,
    /// The whole passage, where the back-end has it: then there is nothing left to read.
    pub text: Option<String>,
    /// It stands for "nothing known here" and can't be cited.
    pub placeholder: bool,
}

/// The answer to one query: of one back-end, or of several with hits that name theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum SearchAnswer<H = Hit> {
    /// At least one hit, best first.
    Hits {
        /// The hits.
        hits: Vec<H>,
    },
    /// The back-end looked and there is nothing: evidence of absence, as far as it goes.
    Empty,
    /// The back-end could not look. Never evidence of absence.
    Unavailable {
        /// What was asked, what came back, what to do; for the operator.
        reason: String,
        /// How long it asked to be left alone.
        retry_after: Option<Duration>,
    },
}

impl<H> SearchAnswer<H> {
    /// Hits where there are any, else that there is nothing.
    pub fn of(hits: Vec<H>) -> Self {
        if hits.is_empty() { SearchAnswer::Empty } else { SearchAnswer::Hits { hits } }
    }
}

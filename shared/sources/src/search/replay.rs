//! Recorded answers, given again: a search without a network, the same every time.
//!
//! The file is JSON lines: `{"query": …, "answer": {"answer": "hits", "hits": […]}, "is_demo": false}`. A query that
//! stands there twice has its last answer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::ConfigError;
use super::words::folded;
use crate::answer::SearchAnswer;

/// One line of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The query as it was asked; found again by NFKC, case folding and single spaces.
    pub query: String,
    /// The answer to it.
    pub answer: SearchAnswer,
    /// Whether the answer is invented for demonstrations. Default: no.
    #[serde(default)]
    pub is_demo: bool,
}

/// The answers of a recording.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    answers: HashMap<String, SearchAnswer>,
    is_demo: bool,
}

impl Replay {
    /// Reads the whole file.
    pub fn new(path: &Path) -> Result<Self, ConfigError> {
        let wrong = |why: String| ConfigError::Recording { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(|error| {
            wrong(format!("can't be read ({error}); record one first, or correct its path"))
        })?;
        let mut answers = HashMap::new();
        let mut is_demo = false;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line: Recording = serde_json::from_str(line).map_err(|error| {
                wrong(format!("line {} is no recorded answer: {error}; record it anew", at + 1))
            })?;
            is_demo |= line.is_demo;
            answers.insert(folded(&line.query), line.answer);
        }
        if answers.is_empty() {
            return Err(wrong("holds no answer; record one first".to_owned()));
        }
        Ok(Self { path: path.to_owned(), answers, is_demo })
    }

    /// Whether any of its answers is invented for demonstrations; then all count as such.
    pub fn is_demo(&self) -> bool {
        self.is_demo
    }

    /// A query that was not recorded is a gap of the recording, and says nothing of what there is.
    pub(crate) fn look(&self, query: &str, limit: usize) -> SearchAnswer {
        match self.answers.get(&folded(query)) {
            Some(SearchAnswer::Hits { hits }) => SearchAnswer::of(hits.iter().take(limit).cloned().collect()),
            Some(answer) => answer.clone(),
            None => SearchAnswer::Unavailable {
                reason: format!(
                    "recording {}, asked for `{query}`: that query was not recorded; record it, or search live",
                    self.path.display()
                ),
                retry_after: None,
            },
        }
    }
}

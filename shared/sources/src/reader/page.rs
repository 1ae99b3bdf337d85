//! What a reading comes to.

use nightforge_domain::research::SourceStatus;

/// A page that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it was in the end, after redirects.
    pub url: String,
    /// Its content type without parameters, in lower case.
    pub media_type: String,
    /// Its title, on one line.
    pub title: Option<String>,
    /// Its text, not cleaned: at most 1 MiB, clipped with a mark.
    pub text: String,
    /// SHA-256 of that text, in hexadecimal.
    pub sha256: String,
    /// When it was published, as it says itself.
    pub published: Option<String>,
}

/// A page that was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {note}")]
pub struct PageProblem {
    /// What becomes of its source.
    pub status: SourceStatus,
    /// Why, for people. Holds nothing of the page's text.
    pub note: String,
}

impl PageProblem {
    pub(crate) fn new(status: SourceStatus, note: impl Into<String>) -> Self {
        Self { status, note: note.into() }
    }
}

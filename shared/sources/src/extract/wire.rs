//! What parent and child say to each other: one line of JSON and then the bytes in, one JSON document out.

use serde::{Deserialize, Serialize};

/// What the child is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub(super) enum Task {
    /// Get the text out of a document.
    Text {
        /// Without parameters, in lower case.
        media_type: String,
        /// The character set that the server named.
        charset: Option<String>,
        /// Where the document is from.
        url: String,
        /// Whether a text that is too short to be a source is refused.
        is_page: bool,
    },
    /// Say whether a robots.txt lets this address be read.
    Robots {
        /// The address.
        url: String,
    },
}

/// The first line of the child's input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    #[serde(flatten)]
    pub(super) task: Task,
    /// How many bytes follow. Fewer mean that the parent has gone.
    pub(super) length: usize,
}

/// The child's answer.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(super) enum Reply {
    Text(Extracted),
    Permission { allowed: bool },
    Unreadable { reason: String },
}

/// The text of a document and what it says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// Its title, never empty.
    pub title: Option<String>,
    /// Its text; blocks stand on lines of their own. Not cleaned.
    pub text: String,
    /// When it was published, as it says itself.
    pub published: Option<String>,
}

//! Sources: what a search found, and what became of it when it was read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Millis;

/// Number of a source in its task: `S1`, `S2`, … Never used for another page, also when the first one turns out useless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceId(pub u32);

/// The text is no source id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no source id; they look like S1")]
pub struct NoSourceId(String);

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S{}", self.0)
    }
}

impl FromStr for SourceId {
    type Err = NoSourceId;

    /// Takes what models write: `S3`, `s3`, `[S3]`, ` S3 `.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || NoSourceId(text.chars().take(40).collect());
        let bare = text.trim().trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
        let digits = bare.strip_prefix(['S', 's']).ok_or_else(refused)?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) if plain && number > 0 => Ok(Self(number)),
            _ => Err(refused()),
        }
    }
}

impl TryFrom<String> for SourceId {
    type Error = NoSourceId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SourceId> for String {
    fn from(id: SourceId) -> Self {
        id.to_string()
    }
}

/// What is known of a source's text. Nothing but this changes when a page is hostile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceStatus {
    /// A search named it; only its snippet is known.
    Found,
    /// Its text is stored.
    Read,
    /// Another source has the same content.
    Duplicate,
    /// It stands for "nothing known"; it can't be cited.
    Placeholder,
    /// Its address may not be asked: not public, a port or a scheme that is not allowed, too many redirects.
    Refused,
    /// Its robots.txt does not want to be read.
    Disallowed,
    /// No answer, an error status, or one that came too slowly.
    Unreachable,
    /// Longer than the limit, also when only unpacked.
    TooLarge,
    /// A content type that is not read.
    WrongType,
    /// No text came out of it: too short, broken, or its extraction ran into a limit.
    Unreadable,
}

impl SourceStatus {
    /// Every status.
    pub const ALL: [SourceStatus; 10] = [
        SourceStatus::Found,
        SourceStatus::Read,
        SourceStatus::Duplicate,
        SourceStatus::Placeholder,
        SourceStatus::Refused,
        SourceStatus::Disallowed,
        SourceStatus::Unreachable,
        SourceStatus::TooLarge,
        SourceStatus::WrongType,
        SourceStatus::Unreadable,
    ];

    /// The name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            SourceStatus::Found => "found",
            SourceStatus::Read => "read",
            SourceStatus::Duplicate => "duplicate",
            SourceStatus::Placeholder => "placeholder",
            SourceStatus::Refused => "refused",
            SourceStatus::Disallowed => "disallowed",
            SourceStatus::Unreachable => "unreachable",
            SourceStatus::TooLarge => "too_large",
            SourceStatus::WrongType => "wrong_type",
            SourceStatus::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for SourceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SourceStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        SourceStatus::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| format!("unknown source status `{text}`"))
    }
}

/// A source as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its number in the task.
    pub id: SourceId,
    /// Where it stands: a URL, `demo://…`, or `path#Lx-Ly` in a corpus.
    pub url: String,
    /// As the search gave it, or the page itself.
    pub title: String,
    /// What the search showed of it.
    pub snippet: String,
    /// Its text, clipped; `None` until it was read.
    pub text: Option<String>,
    /// SHA-256 of that text, in hexadecimal.
    pub sha256: Option<String>,
    /// The search back-end that named it, or `user` for an address of the objective.
    pub tool: String,
    /// Whether it is invented for demonstrations.
    pub is_demo: bool,
    /// What is known of it.
    pub status: SourceStatus,
    /// Why it could not be read, for people.
    pub note: Option<String>,
    /// Its date, where the search or the page told one.
    pub published: Option<String>,
    /// When it was found, or read.
    pub at: Millis,
}

impl Source {
    /// The text that quotes are looked for in, and whether it is more than a snippet.
    pub fn passage(&self) -> (&str, bool) {
        self.text.as_deref().map_or((&self.snippet, false), |text| (text, true))
    }
}

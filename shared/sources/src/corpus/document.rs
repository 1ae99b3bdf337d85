//! One file made into what the index holds of it.

use sha2::{Digest, Sha256};

use super::extraction::Extraction;
use super::folder::{Found, Kind, read};
use super::passages::{Headings, Passage, first_heading, passages};

/// Longest title that is kept, in characters.
const MOST_TITLE_CHARS: usize = 200;

/// A file after reading.
#[derive(Debug)]
pub(super) enum Prepared {
    /// Its content is what the index has already.
    Same,
    /// Its passages, or why it has none. Both are kept until the file changes.
    Content { sha256: Vec<u8>, content: Result<Content, String> },
    /// It could not be looked at now; the next look tries again.
    NotNow(String),
}

/// What is indexed of a document.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) title: String,
    pub(super) passages: Vec<Passage>,
}

/// Reads `found` and cuts it, unless its content hashes to `known`.
pub(super) async fn prepare(found: Found, known: Option<Vec<u8>>, extraction: &Extraction) -> Prepared {
    let reading = found.clone();
    let bytes = match tokio::task::spawn_blocking(move || read(&reading)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Prepared::NotNow(error.to_string()),
        Err(stopped) => return Prepared::NotNow(format!("reading it stopped: {stopped}")),
    };
    let sha256 = Sha256::digest(&bytes).to_vec();
    if known.is_some_and(|known| known == sha256) {
        return Prepared::Same;
    }
    let content = match found.kind {
        Kind::Markdown | Kind::Text => plain(&found, &bytes),
        Kind::Html | Kind::Pdf => match extraction.extract(found.kind, &found.path, &bytes).await {
            Ok(extracted) => {
                extracted.and_then(|(title, text)| content(&found, title, &text, Headings::None))
            }
            Err(reason) => return Prepared::NotNow(reason),
        },
    };
    Prepared::Content { sha256, content }
}

fn plain(found: &Found, bytes: &[u8]) -> Result<Content, String> {
    if bytes.contains(&0) {
        return Err("it holds NUL bytes, so it is no text in UTF-8; save it as UTF-8".to_owned());
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let headings = if found.kind == Kind::Markdown { Headings::Markdown } else { Headings::None };
    let title = (found.kind == Kind::Markdown).then(|| first_heading(text)).flatten();
    content(found, title, text, headings)
}

fn content(found: &Found, title: Option<String>, text: &str, headings: Headings) -> Result<Content, String> {
    let passages = passages(text, headings);
    if passages.is_empty() {
        return Err("there is no text in it".to_owned());
    }
    let name = found.path.rsplit('/').next().unwrap_or(&found.path);
    let title = title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| name.to_owned());
    let title =
        title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_TITLE_CHARS).collect();
    Ok(Content { title, passages })
}

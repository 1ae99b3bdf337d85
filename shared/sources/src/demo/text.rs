//! The text of the demo's own documents, for its search.
//!
//! The reader gets the documents themselves and extracts them in its child process, like any page. These here are
//! part of the program, so nothing hostile is parsed.

use super::catalogue::DemoDocument;

/// The document's text without its markup; empty only where a test would fail.
pub(super) fn searchable(document: &DemoDocument) -> String {
    match document.media_type {
        "text/html" => without_tags(&String::from_utf8_lossy(document.bytes)),
        "application/pdf" => pdf_extract::extract_text_from_mem(document.bytes).unwrap_or_else(|error| {
            tracing::error!(%error, "the demo's PDF has no text");
            String::new()
        }),
        _ => String::from_utf8_lossy(document.bytes).into_owned(),
    }
}

/// What stands between the tags of the article, a line for each block.
fn without_tags(html: &str) -> String {
    let article = html.split_once("<article>").map_or(html, |(_, article)| article);
    let mut text = String::new();
    for part in article.split('<') {
        // Before the first tag there is none to end.
        let shown = part.split_once('>').map_or(part, |(_, shown)| shown).trim();
        if !shown.is_empty() {
            text.push_str(shown);
            text.push_str("\n\n");
        }
    }
    text
}

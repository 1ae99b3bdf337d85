//! What kind of document an answer is, and whether that kind is read.

use nightforge_domain::research::SourceStatus;
use reqwest::header::{CONTENT_TYPE, HeaderMap};

use super::page::PageProblem;

/// The kinds that are read.
const READ: [&str; 6] = [
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "text/markdown",
    "application/pdf",
    "application/json",
];
/// What an unnamed document is, is looked for in so many first bytes.
const SNIFFED_BYTES: usize = 1024;

/// A content type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Media {
    /// Without parameters, in lower case.
    pub(super) media_type: String,
    pub(super) charset: Option<String>,
}

/// The type that the server named; `None` where it named none.
pub(super) fn named(headers: &HeaderMap) -> Result<Option<Media>, PageProblem> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(None) };
    let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    if media_type.is_empty() {
        return Ok(None);
    }
    if !READ.contains(&media_type) {
        let shown = shown(media_type);
        return Err(PageProblem::new(
            SourceStatus::WrongType,
            format!("content of type {shown} is not read"),
        ));
    }
    let charset = parts.find_map(|parameter| parameter.strip_prefix("charset="));
    let charset = charset.map(|label| label.trim_matches(['"', '\'', ' ']).to_owned());
    Ok(Some(Media { media_type: media_type.to_owned(), charset }))
}

/// What a server wrote, for a note: the characters of a token, and not many of them.
pub(super) fn shown(value: &str) -> String {
    value.chars().filter(|c| c.is_ascii_alphanumeric() || "/+-.,_ ".contains(*c)).take(80).collect()
}

/// The type of a document that its server left without one.
pub(super) fn sniffed(bytes: &[u8]) -> Result<Media, PageProblem> {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    let media_type = if head.starts_with(b"%PDF-") {
        "application/pdf"
    } else if looks_like_html(head) {
        "text/html"
    } else if is_plain_text(head) {
        "text/plain"
    } else {
        return Err(PageProblem::new(
            SourceStatus::WrongType,
            "content without a type, and it is neither text nor PDF",
        ));
    };
    Ok(Media { media_type: media_type.to_owned(), charset: None })
}

fn looks_like_html(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let mut text = text.trim_start_matches('\u{feff}').trim_start();
    while let Some(comment) = text.strip_prefix("<!--") {
        let Some((_, rest)) = comment.split_once("-->") else { return true };
        text = rest.trim_start();
    }
    ["<!doctype html", "<html", "<head", "<body", "<title", "<meta"].iter().any(|tag| text.starts_with(tag))
}

fn is_plain_text(head: &[u8]) -> bool {
    let whole_characters = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last character may be cut.
        Err(error) if head.len() - error.valid_up_to() < 4 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !whole_characters.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(value: &'static str) -> Result<Option<Media>, PageProblem> {
        named(&HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]))
    }

    #[test]
    fn named_types() {
        let html = header("Text/HTML; Charset=\"Shift_JIS\"").unwrap().unwrap();
        assert_eq!(html, Media { media_type: "text/html".to_owned(), charset: Some("shift_jis".to_owned()) });
        for kind in READ {
            assert_eq!(header(kind).unwrap().unwrap().media_type, kind);
        }
        for kind in
            ["image/png", "application/octet-stream", "text/javascript", "text/html2", "text", "multipart/x"]
        {
            assert_eq!(header(kind).unwrap_err().status, SourceStatus::WrongType, "{kind}");
        }
        assert_eq!(header("").unwrap(), None);
        assert_eq!(named(&HeaderMap::new()).unwrap(), None);
    }

    #[test]
    fn unnamed_types() {
        for (bytes, kind) in [
            (b"%PDF-1.7\n\xff\xfe".as_slice(), "application/pdf"),
            (b"\xef\xbb\xbf \n<!-- x --><!DOCTYPE HTML><p>", "text/html"),
            (b"<HTML lang=en>", "text/html"),
            (b"Plain words, \xe6\x97\xa5\xe6\x9c", "text/plain"),
            (b"", "text/plain"),
        ] {
            assert_eq!(sniffed(bytes).unwrap().media_type, kind);
        }
        for bytes in [
            b"\x89PNG\r\n\x1a\n\0\0".as_slice(),
            b"MZ\x90\0\x03\0\0\0\x04",
            b"\x1f\x8b\x08\0",
            b"\xff\xfe\xfd\xfc\xfb",
        ] {
            assert_eq!(sniffed(bytes).unwrap_err().status, SourceStatus::WrongType);
        }
    }
}

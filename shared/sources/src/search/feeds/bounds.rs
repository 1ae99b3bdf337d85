//! What a feed may not do to its parser.
//!
//! feed-rs follows groups of media inside each other by recursion, until the stack is used up and the process with it,
//! and copies what stands around such a group into each of them. So a document is looked through first, with the same
//! reader, and one that would do harm is not parsed. Its JSON side has the limits of serde_json.

use quick_xml::encoding::DecodingReader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// The deepest nesting of elements, many times that of real feeds.
const DEPTH: u32 = 200;
/// The most that groups of media may be copied, in bytes: groups of an entry times the length of the entry, all added up.
const COPIED_BYTES: u64 = 64 * 1024 * 1024;
/// The longest `xml:base`; every element below it gets a copy.
const BASE_BYTES: usize = 2_048;

/// Why a document is not parsed.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutOfBounds {
    #[error("elements nested more than {DEPTH} deep")]
    TooDeep,
    #[error("too many groups of media in one entry")]
    TooManyGroups,
    #[error("an xml:base of more than {BASE_BYTES} bytes")]
    LongBase,
    #[error("{0}")]
    Malformed(#[from] quick_xml::Error),
}

/// Looks through the document to the end of its root. What is no XML is left to the parser.
pub(super) fn check(body: &[u8]) -> Result<(), OutOfBounds> {
    if body.iter().find(|byte| matches!(byte, b'<' | b'{')) != Some(&b'<') {
        return Ok(());
    }
    let mut reader = Reader::from_reader(DecodingReader::new(body));
    // As feed-rs reads.
    reader.config_mut().expand_empty_elements = true;
    reader.config_mut().trim_markup_names_in_closing_tags = true;
    let mut piece = Vec::new();
    let mut depth = 0;
    let mut entry: Option<EntrySpan> = None;
    let mut copied: u64 = 0;
    loop {
        let position = reader.buffer_position();
        match reader.read_event_into(&mut piece)? {
            Event::Decl(declaration) => {
                if let Some(encoding) = declaration.encoder() {
                    reader.get_mut().set_encoding(encoding);
                }
            }
            Event::Start(start) => {
                depth += 1;
                if depth > DEPTH {
                    return Err(OutOfBounds::TooDeep);
                }
                if has_long_base(&start) {
                    return Err(OutOfBounds::LongBase);
                }
                match (start.local_name().as_ref(), &mut entry) {
                    ("item" | "entry", None) => entry = Some(EntrySpan { depth, start: position, groups: 0 }),
                    ("group" | "content", Some(entry)) => entry.groups += 1,
                    _ => {}
                }
            }
            Event::End(_) => {
                if let Some(ended) = entry.take_if(|entry| entry.depth == depth) {
                    let bytes = reader.buffer_position().saturating_sub(ended.start);
                    copied = copied.saturating_add(ended.groups.saturating_mul(bytes));
                    if copied > COPIED_BYTES {
                        return Err(OutOfBounds::TooManyGroups);
                    }
                }
                depth -= 1;
                if depth == 0 {
                    return Ok(());
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
        piece.clear();
    }
}

/// The entry that is being read.
struct EntrySpan {
    depth: u32,
    /// In bytes of the document.
    start: u64,
    groups: u64,
}

fn has_long_base(start: &BytesStart<'_>) -> bool {
    matches!(start.try_get_attribute("xml:base"), Ok(Some(base)) if base.value.len() > BASE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(inside: &str) -> String {
        let document =
            format!("<?xml version=\"1.0\"?><rss><channel><item>{inside}</item></channel></rss><junk");
        check(document.as_bytes()).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    fn nested(times: usize) -> String {
        "<m:group>".repeat(times) + &"</m:group>".repeat(times)
    }

    #[test]
    fn real_feeds_pass_and_hostile_ones_do_not() {
        let podcast =
            "<media:group><media:content url='x'/><media:text>words</media:text></media:group>".repeat(50);
        for (inside, verdict) in [
            ("<title>a &lt; b</title><!-- <a><a> --><![CDATA[<p><p><p>]]>".to_owned(), "fine"),
            (podcast, "fine"),
            (nested(197), "fine"),
            (nested(198), "elements nested more than 200 deep"),
            (
                format!("<t>{}</t>{}", "x".repeat(200_000), "<group/>".repeat(1_000)),
                "too many groups of media in one entry",
            ),
            (
                format!("<a xml:base='http://h/{}'/>", "x".repeat(3_000)),
                "an xml:base of more than 2048 bytes",
            ),
        ] {
            assert_eq!(checked(&inside), verdict, "{}", &inside[..inside.len().min(80)]);
        }
        assert!(checked("</other>").contains("other"), "{}", checked("</other>"));
        assert!(check(b"{\"version\": \"<a>\"}").is_ok(), "JSON is not looked through");
        assert!(check(b"").is_ok());
    }

    #[test]
    fn other_encodings_are_looked_through_too() {
        let deep = format!("<?xml version=\"1.0\" encoding=\"UTF-16\"?>{}", "<a>".repeat(300));
        let utf_16: Vec<u8> =
            std::iter::once(0xFEFF).chain(deep.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        assert!(matches!(check(&utf_16), Err(OutOfBounds::TooDeep)));
    }
}

//! From bytes to characters.

use encoding_rs::{Encoding, UTF_8};

/// A page names its character set in its first bytes (the standard says 1,024; many need more).
const PRESCAN_BYTES: usize = 4096;

/// Decodes with the set of the byte order mark, else of the server, else of the page, else as UTF-8. What is
/// no text in that set becomes U+FFFD.
pub(super) fn decode(bytes: &[u8], charset: Option<&str>, is_html: bool) -> String {
    let named = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = named.or_else(|| if is_html { declared(bytes) } else { None }).unwrap_or(UTF_8);
    // `decode` itself lets a byte order mark win.
    encoding.decode(bytes).0.into_owned()
}

/// `<meta charset=…>`, `<meta … content="text/html; charset=…">` or `<?xml … encoding=…?>`.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(PRESCAN_BYTES)]).to_ascii_lowercase();
    let tags = head.split('<').filter(|tag| tag.starts_with("meta") || tag.starts_with("?xml"));
    let encoding = tags.filter_map(|tag| {
        let tag = tag.split('>').next()?;
        let (_, value) = tag.split_once("charset").or_else(|| tag.split_once("encoding"))?;
        let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let label: String =
            value.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c)).collect();
        Encoding::for_label(label.as_bytes())
    });
    // A page that can be read as ASCII can't be UTF-16, whatever it says.
    encoding.map(Encoding::output_encoding).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_the_set() {
        let word = "日本";
        let shift_jis = b"\x93\xfa\x96\x7b";
        assert_eq!(decode(shift_jis, Some("Shift_JIS"), false), word);
        let page = [b"<meta charset='shift_jis'>".as_slice(), shift_jis].concat();
        assert!(decode(&page, None, true).ends_with(word));
        let page = [
            b"<META http-equiv=Content-Type content=\"text/html; charset=Shift_JIS\">".as_slice(),
            shift_jis,
        ]
        .concat();
        assert!(decode(&page, None, true).ends_with(word));
        assert!(decode(&page, Some("no such set"), true).ends_with(word));
        let page = [b"<?xml version='1.0' encoding='shift_jis'?>".as_slice(), shift_jis].concat();
        assert!(decode(&page, None, true).ends_with(word));
        assert_eq!(decode(word.as_bytes(), None, true), word);
        assert_eq!(decode(b"\xff\xfea\0", Some("utf-8"), true), "a", "the byte order mark decides");
        assert!(decode(b"<meta charset=utf-16>a", None, true).ends_with('a'));
        assert_eq!(decode(b"a\xffb", None, true), "a\u{fffd}b");
    }
}

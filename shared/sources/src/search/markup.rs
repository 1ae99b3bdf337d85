//! HTML fragments to plain text, for snippets and feed entries.
//!
//! One pass without a tree: a fragment comes from anybody, and deep nesting takes a parser of trees down. Whole pages
//! go through the page reader.

/// Elements whose content is no text.
const WITHOUT_TEXT: [&str; 3] = ["script", "style", "template"];
/// Elements that stand inside a word or a line; any other tag separates words.
const INLINE: [&str; 12] = ["a", "abbr", "b", "code", "em", "i", "mark", "s", "span", "strong", "sub", "sup"];

/// The text of a fragment: tags taken out, entities resolved once, white space made single.
pub(crate) fn plain_text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(tag) = Tag::at_start(rest) else {
            text.push('<');
            rest = &rest[1..];
            continue;
        };
        rest = &rest[tag.length..];
        if !INLINE.contains(&tag.name.as_str()) {
            text.push(' ');
        }
        if !tag.closes && WITHOUT_TEXT.contains(&tag.name.as_str()) {
            rest = after_closing(rest, &tag.name);
        }
    }
    text.push_str(rest);
    single_spaced(&html_escape::decode_html_entities(&text))
}

/// Words with one space between them.
pub(crate) fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `most` characters, with a mark where something was cut.
pub(crate) fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

struct Tag {
    name: String,
    closes: bool,
    /// In bytes, with its angle brackets.
    length: usize,
}

impl Tag {
    /// The tag, comment or declaration that `text` starts with. A `<` before anything else is text, as in `a < b`.
    fn at_start(text: &str) -> Option<Tag> {
        if let Some(comment) = text.strip_prefix("<!--") {
            let length = comment.find("-->").map_or(text.len(), |end| end + "<!--".len() + "-->".len());
            return Some(Tag { name: String::new(), closes: false, length });
        }
        let inside = text.get(1..)?;
        let closes = inside.starts_with('/');
        let inside = inside.trim_start_matches('/');
        if !inside.starts_with(|first: char| first.is_ascii_alphabetic() || first == '!' || first == '?') {
            return None;
        }
        let name: String = inside.chars().take_while(char::is_ascii_alphanumeric).take(16).collect();
        let length = text.find('>').map_or(text.len(), |end| end + 1);
        Some(Tag { name: name.to_ascii_lowercase(), closes, length })
    }
}

/// What follows the element's closing tag; nothing where there is none.
fn after_closing<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_become_text() {
        for (html, text) in [
            ("plain", "plain"),
            ("<strong>Pilates</strong> in Nas<strong>sau</strong>", "Pilates in Nassau"),
            ("Tom &amp; Jerry&#39;s &lt;b&gt; &quot;x&quot;&nbsp;y", "Tom & Jerry's <b> \"x\" y"),
            ("one<br/>two<p>three</p>four", "one two three four"),
            ("a < b and c > d", "a < b and c > d"),
            ("x<script>alert('<p>no</p>')</script>y<STYLE>p{}</Style>z", "x y z"),
            ("kept<!-- <b>not</b> --> kept", "kept kept"),
            ("cut <a href='x", "cut"),
            ("unclosed <script>all gone", "unclosed"),
            ("&amp;lt; once only", "&lt; once only"),
            ("料金は<b>5,000円</b>です", "料金は5,000円です"),
            ("", ""),
        ] {
            assert_eq!(plain_text(html), text, "{html}");
        }
    }

    #[test]
    fn a_million_nested_tags_are_no_trouble() {
        assert_eq!(
            plain_text(&format!("{}deep{}", "<div>".repeat(300_000), "</div>".repeat(300_000))),
            "deep"
        );
    }

    #[test]
    fn a_clip_leaves_a_mark() {
        assert_eq!(clipped("料金は五千円", 3), "料金は…");
        assert_eq!(clipped("ab cd", 3), "ab…");
        assert_eq!(clipped("abc", 3), "abc");
    }
}

//! A hit on the web, from what a service says of it.

use reqwest::Url;

use super::markup::{clipped, single_spaced};
use crate::answer::Hit;

/// In characters: a title is a line.
const TITLE_CHARS: usize = 300;
/// In characters: some services send whole passages.
const SNIPPET_CHARS: usize = 4_000;

/// The hit, or `None` where its address is none of the web's: such a thing can be neither read nor cited.
pub(crate) fn web_hit(url: &str, title: &str, snippet: &str, published: Option<String>) -> Option<Hit> {
    let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?.to_string();
    let title = single_spaced(title);
    Some(Hit {
        title: if title.is_empty() { url.clone() } else { clipped(&title, TITLE_CHARS) },
        url,
        snippet: clipped(&single_spaced(snippet), SNIPPET_CHARS),
        published: published.map(|date| date.trim().to_owned()).filter(|date| !date.is_empty()),
        text: None,
        placeholder: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_needs_an_address_of_the_web() {
        for none in ["", "magnet:?xt=1", "javascript:alert(1)", "/relative", "ftp://host/file"] {
            assert_eq!(web_hit(none, "t", "s", None), None, "{none}");
        }
        let hit = web_hit(" https://example.org/a ", " \n ", "one\n two", Some(" ".into())).unwrap();
        assert_eq!((hit.title.as_str(), hit.snippet.as_str()), ("https://example.org/a", "one two"));
        assert_eq!(hit.published, None);
    }
}

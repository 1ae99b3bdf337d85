//! The text of an HTML page.

use dom_smoothie::{Config, Readability, TextMode};

use super::text;
use super::wire::Extracted;

/// The page's article; where there is none worth reading, all that its body says.
pub(super) fn read(html: &str, url: &str) -> Extracted {
    let mut readability = reader(html, url);
    let title = readability.get_article_title();
    let article = readability.parse().ok();
    let (mut extracted, article_text) = match article {
        Some(article) => {
            let extracted = Extracted {
                title: Some(article.title),
                text: String::new(),
                published: article.published_time,
            };
            (extracted, article.text_content.to_string())
        }
        None => (Extracted { title: Some(title.to_string()), ..Extracted::default() }, String::new()),
    };
    extracted.text =
        if text::too_little(&article_text).is_some() { whole_body(html, url) } else { article_text };
    extracted
}

/// Reading changes the document, so it is parsed again.
fn whole_body(html: &str, url: &str) -> String {
    let document = reader(html, url).doc;
    document.select("script, style, noscript, template, head, iframe, object, svg").remove();
    document.formatted_text().to_string()
}

fn reader(html: &str, url: &str) -> Readability {
    let config = || Some(Config { text_mode: TextMode::Formatted, ..Config::default() });
    // Only an address that is not absolute is an error, and then the page does without.
    Readability::new(html, Some(url), config())
        .or_else(|_| Readability::new(html, None, config()))
        .unwrap_or_else(|_| unreachable!("without an address nothing can be wrong with it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str =
        "The studio at the harbour teaches visitors in small groups, and it asks them to book a day ahead. ";

    #[test]
    fn an_article_without_what_surrounds_it() {
        let page = format!(
            "<!doctype html><html><head><title>Harbour classes</title>\
             <meta property='article:published_time' content='2026-03-01'></head><body>\
             <nav><a href='/'>Home</a> <a href='/x'>Cookies and more</a></nav>\
             <article><h1>Harbour classes</h1><p>{0}{0}</p><p>{0}{0}</p><ul><li>Monday</li><li>Tuesday</li></ul></article>\
             <script>var secret = 'never seen';</script></body></html>",
            SENTENCE.repeat(3)
        );
        let extracted = read(&page, "https://example.com/a");
        assert_eq!(extracted.title.as_deref(), Some("Harbour classes"));
        assert_eq!(extracted.published.as_deref(), Some("2026-03-01"));
        assert!(extracted.text.contains("book a day ahead."), "{}", extracted.text);
        assert!(extracted.text.contains("Monday\nTuesday"), "blocks keep their lines: {}", extracted.text);
        assert!(
            !extracted.text.contains("secret") && !extracted.text.contains("Cookies"),
            "{}",
            extracted.text
        );
    }

    #[test]
    fn a_page_without_an_article_gives_its_body() {
        let cells: String = (0..40).map(|n| format!("<tr><td>Price {n}</td><td>${n}.00</td></tr>")).collect();
        let page =
            format!("<title>Prices</title><style>b {{}}</style><table>{cells}</table><script>x()</script>");
        let extracted = read(&page, "no address");
        assert!(extracted.text.contains("Price 39 $39.00"), "{}", extracted.text);
        assert!(!extracted.text.contains("x()") && !extracted.text.contains("b {"), "{}", extracted.text);
        assert_eq!(extracted.title.as_deref(), Some("Prices"));
    }
}

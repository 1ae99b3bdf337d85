//! Addresses in what the user wrote.

/// Addresses of one text that are looked at.
const MOST: usize = 20;

/// What ends an address, beside white space.
const ENDS: &str = "<>\"`{}|\\^「」『』（）【】、。，；《》“”‘’";

/// What may stand behind an address and does not belong to it.
const BEHIND: &str = ".,;:!?'*_~";

/// The http and https addresses in a text, in order, each once.
pub(super) fn addresses(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = next_scheme(rest) {
        let here = &rest[at..];
        let end = here.find(|char: char| char.is_whitespace() || ENDS.contains(char)).unwrap_or(here.len());
        let address = without_tail(&here[..end]);
        let has_host = address.split_once("://").is_some_and(|(_, host)| !host.is_empty());
        if has_host && !found.iter().any(|known| known == address) {
            found.push(address.to_owned());
        }
        if found.len() == MOST {
            break;
        }
        rest = &here[end.max("http".len())..];
    }
    found
}

fn next_scheme(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    [lower.find("http://"), lower.find("https://")].into_iter().flatten().min()
}

/// Without the punctuation of the sentence around it; a bracket stays where its partner is in the address.
fn without_tail(address: &str) -> &str {
    let mut bare = address;
    loop {
        let shorter = bare.trim_end_matches(|char| BEHIND.contains(char));
        let is_open = |open: char, close: char| {
            shorter.ends_with(close) && shorter.matches(close).count() > shorter.matches(open).count()
        };
        let shorter =
            if is_open('(', ')') || is_open('[', ']') { &shorter[..shorter.len() - 1] } else { shorter };
        if shorter == bare {
            return bare;
        }
        bare = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::addresses;

    #[test]
    fn addresses_stand_in_sentences() {
        for (text, found) in [
            ("Compare https://a.example/x and http://b.example.", "https://a.example/x http://b.example"),
            ("See (https://a.example/wiki/X_(y)), too", "https://a.example/wiki/X_(y)"),
            ("[here](https://a.example/b)!", "https://a.example/b"),
            ("<HTTPS://A.example/>", "HTTPS://A.example/"),
            ("「https://a.example/日本」を読む。", "https://a.example/日本"),
            ("https://a.example https://a.example", "https://a.example"),
            ("http:// and https://, or ftp://a.example", ""),
            ("nothing", ""),
        ] {
            assert_eq!(addresses(text).join(" "), found, "{text}");
        }
    }
}

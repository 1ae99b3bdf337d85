//! The part of a passage that a hit shows.

use super::fold::fold;
use super::query::Query;

/// Most characters of a snippet.
const MOST_CHARS: usize = 300;

/// The stretch of whole sentences that holds most of the query's different terms; the first among equals.
pub(crate) fn snippet(body: &str, query: &Query) -> String {
    let sentences: Vec<(String, Vec<bool>)> = sentences(body)
        .into_iter()
        .map(|sentence| {
            let folded = fold(&sentence);
            let held =
                query.words.iter().chain(&query.pieces).map(|term| folded.contains(term.as_str())).collect();
            (sentence, held)
        })
        .collect();
    let mut best = (0, String::new());
    for start in 0..sentences.len() {
        let mut text = String::new();
        let mut held = vec![false; query.words.len() + query.pieces.len()];
        for (sentence, holds) in &sentences[start..] {
            if !text.is_empty() && text.chars().count() + 1 + sentence.chars().count() > MOST_CHARS {
                break;
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(sentence);
            held.iter_mut().zip(holds).for_each(|(held, holds)| *held |= holds);
        }
        let count = held.iter().filter(|held| **held).count();
        if best.1.is_empty() || count > best.0 {
            best = (count, text);
        }
    }
    clipped(&best.1)
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Sentences, each on one line; a line break ends one only where a line is blank or a mark of its own (`#`, `-`, `|`).
fn sentences(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = String::new();
    for line in body.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '-', '|', '*']) {
            found.push(std::mem::take(&mut open));
        }
        if !open.is_empty() {
            open.push(' ');
        }
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            open.push(letter);
            let ends = match letter {
                '。' | '！' | '？' => true,
                '.' | '!' | '?' | '؟' => letters.peek().is_none_or(|next| next.is_whitespace()),
                _ => false,
            };
            if ends {
                found.push(std::mem::take(&mut open));
            }
        }
    }
    found.push(open);
    found.iter().map(|sentence| sentence.trim().to_owned()).filter(|sentence| !sentence.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretch_with_most_terms_is_shown() {
        let filler = "Nothing of interest stands here, however long one looks at it. ".repeat(6);
        let body = format!("{filler}\n\nPrices of Pilates\nclasses rose in Nassau. {filler}");
        let shown = snippet(&body, &Query::parse("pilates prices nassau"));
        assert!(shown.contains("Prices of Pilates classes rose in Nassau."), "{shown}");
        assert!(shown.chars().count() <= MOST_CHARS, "{shown}");
    }

    #[test]
    fn one_long_sentence_is_clipped_with_a_mark() {
        let shown = snippet(&"茶".repeat(900), &Query::parse("茶"));
        assert_eq!(shown.chars().count(), MOST_CHARS + 1);
        assert!(shown.ends_with('…'));
    }
}

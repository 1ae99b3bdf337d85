//! Typographic punctuation as plain ASCII: models write one where the file has the other.

use super::ladder::{Match, occurrences};

/// The text in plain punctuation.
pub(super) fn plain(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut plain, next| {
        push_plain(&mut plain, next);
        plain
    })
}

/// Places that are equal in plain punctuation; parts of lines, too.
pub(super) fn matches(content: &str, old: &str, new: &str) -> Vec<Match> {
    let wanted = plain(old);
    if wanted.trim().is_empty() {
        return Vec::new();
    }
    let mut text = String::with_capacity(content.len());
    // Where each byte of `text` comes from.
    let mut origin = Vec::with_capacity(content.len() + 1);
    for (at, next) in content.char_indices() {
        push_plain(&mut text, next);
        origin.resize(text.len(), at);
    }
    origin.push(content.len());
    occurrences(&text, &wanted)
        .filter_map(|start| {
            let end = start + wanted.len();
            // Not from or to the middle of one character, such as two dots of an ellipsis.
            let whole = |at: usize| at == 0 || origin[at] != origin[at - 1];
            (whole(start) && whole(end)).then(|| Match {
                start: origin[start],
                end: origin[end],
                replacement: new.to_owned(),
            })
        })
        .collect()
}

fn push_plain(text: &mut String, next: char) {
    match next {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => text.push('\''),
        '\u{201c}'..='\u{201f}' | '\u{2033}' => text.push('"'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => text.push('-'),
        '\u{2026}' => text.push_str("..."),
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => text.push(' '),
        '\u{200b}' | '\u{feff}' => {}
        other => text.push(other),
    }
}

//! A query as a model wrote it, made into terms. Nothing of it is ever syntax of the index.

use super::fold::{fold, is_unspaced, is_word_letter};

/// Most words of a query that are looked for, and most pairs of letters.
const MOST_TERMS: usize = 48;

/// What is looked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// Words for the word index, folded, without quotes or signs.
    pub(crate) words: Vec<String>,
    /// Pieces of one to three letters for the trigram index, which finds each as the beginning of a trigram.
    pub(crate) pieces: Vec<String>,
}

impl Query {
    /// Words and pieces of `text`, each once, the first 48 of each.
    pub(crate) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        let folded = fold(text);
        for word in words(&folded) {
            let mut rest = word;
            while let Some(first) = rest.chars().next() {
                let unspaced = is_unspaced(first);
                let end = rest.find(|letter| is_unspaced(letter) != unspaced).unwrap_or(rest.len());
                let (run, after) = rest.split_at(end);
                if unspaced {
                    pieces(run).into_iter().for_each(|piece| add(&mut query.pieces, &piece));
                } else if run.chars().any(char::is_alphanumeric) {
                    add(&mut query.words, run.trim_matches(['.', ',']));
                }
                rest = after;
            }
        }
        if query.pieces.iter().any(|piece| !is_grammar(piece)) {
            query.pieces.retain(|piece| !is_grammar(piece));
        }
        query
    }
}

fn add(terms: &mut Vec<String>, term: &str) {
    if terms.len() < MOST_TERMS && !terms.iter().any(|known| known == term) {
        terms.push(term.to_owned());
    }
}

/// Runs of letters and digits; a number keeps its separators (`1,250.5`), and is so found as a phrase.
fn words(folded: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = folded.char_indices().collect();
    let digit = |at: Option<usize>| {
        at.and_then(|at| letters.get(at)).is_some_and(|(_, letter)| letter.is_ascii_digit())
    };
    let mut found = Vec::new();
    let mut start = None;
    for (at, (byte, letter)) in letters.iter().enumerate() {
        let inside = is_word_letter(*letter)
            || (matches!(letter, '.' | ',') && digit(at.checked_sub(1)) && digit(Some(at + 1)));
        match (inside, start) {
            (true, None) => start = Some(*byte),
            (false, Some(begun)) => {
                found.push(&folded[begun..*byte]);
                start = None;
            }
            _ => {}
        }
    }
    found.extend(start.map(|begun| &folded[begun..]));
    found
}

/// Overlapping pieces of a run: pairs, but three letters in scripts whose letters say as little as Latin ones do.
fn pieces(run: &str) -> Vec<String> {
    let letters: Vec<char> = run.chars().collect();
    let alphabetic =
        letters.iter().any(|letter| matches!(letter, '\u{e00}'..='\u{10ff}' | '\u{1780}'..='\u{17ff}'));
    let length = if alphabetic { 3 } else { 2 };
    if letters.len() <= length {
        return vec![run.to_owned()];
    }
    letters.windows(length).map(|piece| piece.iter().collect()).collect()
}

/// Only hiragana: endings and particles, which say nothing of the subject.
fn is_grammar(piece: &str) -> bool {
    piece.chars().all(|letter| matches!(letter, '\u{3040}'..='\u{309f}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, words: &[&str], pieces: &[&str]) {
        let query = Query::parse(text);
        assert_eq!(
            (query.words, query.pieces),
            (
                words.iter().map(ToString::to_string).collect(),
                pieces.iter().map(ToString::to_string).collect(),
            ),
            "{text}"
        );
    }

    #[test]
    fn nothing_of_a_query_is_syntax() {
        check(
            r#"NEAR("pilates", 3) col:title -tourist* ^a "b" OR"#,
            &["near", "pilates", "3", "col", "title", "tourist", "a", "b", "or"],
            &[],
        );
        check(r#" "" * - ( "#, &[], &[]);
    }

    #[test]
    fn numbers_stay_whole() {
        check("$1,250.50, about 3.", &["1,250.50", "about", "3"], &[]);
    }

    #[test]
    fn languages_without_spaces_become_pieces() {
        check("京都の茶道教室", &[], &["京都", "都の", "の茶", "茶道", "道教", "教室"]);
        check("2025年度について", &["2025"], &["年度", "度に"]);
        check("茶", &[], &["茶"]);
        check("について", &[], &["につ", "つい", "いて"]);
        check("서울 tea", &["tea"], &["서울"]);
        check("นวดไทย", &[], &["นวด", "วดไ", "ดไท", "ไทย"]);
    }

    #[test]
    fn a_long_query_is_cut() {
        let long: Vec<String> = (0..500).map(|number| format!("word{number}")).collect();
        assert_eq!(Query::parse(&long.join(" ")).words.len(), MOST_TERMS);
    }
}

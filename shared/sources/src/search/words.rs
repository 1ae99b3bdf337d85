//! Which words of a query a text holds, in any script.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

use super::markup::single_spaced;

/// A query's word of at least this many letters also matches a longer word that starts with it: plurals, inflections.
const PREFIX_CHARS: usize = 4;

/// The text as it is compared: NFKC, case folded, white space made single.
pub(crate) fn folded(text: &str) -> String {
    let compatible: String = text.nfkc().collect();
    let folded = caseless::default_case_fold_str(&compatible);
    single_spaced(&folded.nfkc().collect::<String>())
}

/// The words of a query, each once.
#[derive(Debug)]
pub(crate) struct Words {
    /// Found as words.
    spaced: BTreeSet<String>,
    /// Found anywhere: pairs of letters of scripts that put no space between words.
    unspaced: BTreeSet<String>,
}

impl Words {
    pub(crate) fn of(query: &str) -> Self {
        let (mut spaced, mut unspaced) = (BTreeSet::new(), BTreeSet::new());
        for word in words(&folded(query)) {
            let letters: Vec<char> = word.chars().collect();
            if !is_unspaced(letters[0]) {
                spaced.insert(word.to_owned());
            } else if letters.len() == 1 {
                unspaced.insert(word.to_owned());
            } else {
                unspaced.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
            }
        }
        Self { unspaced: telling(unspaced, !spaced.is_empty()), spaced }
    }

    /// How many of them stand in a [`folded`] text.
    pub(crate) fn count_in(&self, text: &str) -> usize {
        let held: BTreeSet<&str> = words(text).collect();
        let spaced = self.spaced.iter().filter(|word| holds(&held, word)).count();
        spaced + self.unspaced.iter().filter(|pair| text.contains(pair.as_str())).count()
    }
}

/// Hiragana is mostly grammar: pairs without any tell most, those of nothing else count only where there is no other
/// word at all.
fn telling(pairs: BTreeSet<String>, other_words: bool) -> BTreeSet<String> {
    let with = |wanted: fn(&str) -> bool| -> BTreeSet<String> {
        pairs.iter().filter(|pair| wanted(pair)).cloned().collect()
    };
    let (without, mixed) =
        (with(|pair| !pair.chars().any(is_hiragana)), with(|pair| !pair.chars().all(is_hiragana)));
    if !without.is_empty() {
        without
    } else if !mixed.is_empty() || other_words {
        mixed
    } else {
        pairs
    }
}

/// Letters and digits in a row, of one manner of spacing: `Go言語` is two.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric()).flat_map(|word| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let unspaced = is_unspaced(rest.chars().next()?);
            let end = rest.find(|char| is_unspaced(char) != unspaced).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            rest = after;
            Some(run)
        })
    })
}

fn holds(held: &BTreeSet<&str>, word: &str) -> bool {
    held.contains(word)
        || (word.chars().count() >= PREFIX_CHARS
            && held.range(word..).next().is_some_and(|next| next.starts_with(word)))
}

fn is_hiragana(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{309F}')
}

/// Thai, Lao, Burmese, Khmer, kana, Han, and Hangul, whose particles hang on to the words.
fn is_unspaced(char: char) -> bool {
    matches!(char,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3005}'..='\u{30FF}'
        | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_in_any_script() {
        for (query, text, count) in [
            ("Pilates price", "PILATES prices in Nassau", 2),
            ("price", "priceless", 1),
            ("tea", "teams", 0),
            ("rust rust RUST", "Rust", 1),
            ("STRASSE", "Straße", 1),
            ("ﬁne", "fine", 1),
            ("café", "cafe\u{301}", 1),
            ("1.95 release", "Release 1.95", 3),
            ("東京の人口", "東京都の人口は", 2),
            ("料金", "料理の金額", 0),
            ("ピラティス", "ﾋﾟﾗﾃｨｽ教室", 4),
            ("これは", "それは", 1),
            ("Rustとは", "心とは", 0),
            ("Rust 食べる", "食べ物", 1),
            ("السعر", "السعر مرتفع", 1),
            ("go 入門", "Go言語の入門", 2),
            ("서울 인구", "서울의 인구는", 2),
            ("!?", "!?", 0),
            ("", "anything", 0),
        ] {
            assert_eq!(Words::of(query).count_in(&folded(text)), count, "{query} in {text}");
        }
    }
}

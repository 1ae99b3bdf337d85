//! What a text is about: its words in the form in which they are compared, and its key words for a search.

use std::collections::BTreeSet;

use nightforge_domain::research::normalised;

/// Words that say nothing of a subject, and those in which assignments are worded.
const EMPTY: &str = " a about according all also an and any anything are as ask asked at be been both but by can check \
    could describe determine did do does each exactly find for from had has have how if in into is it its itself kind \
    many me might more most much must no not of on one only or other our out over own per please question report say \
    should some source state still such tell than that the their them then there these they thing this those to under \
    up us was we were what when where whether which who whose why will with would you your \
    answer assignment claim evidence fact figure finding found information name objective research researcher verify ";

/// The words of a text in the form in which they are compared: case, plural and tense are gone, empty words as well.
/// Chinese and Japanese by pairs of characters.
pub(crate) fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    each_word(text, |word| {
        let mut chars = word.chars().peekable();
        if !word.chars().any(is_cjk) {
            if !is_empty(word) {
                terms.insert(stem(word));
            }
            return;
        }
        while let (Some(first), Some(second)) = (chars.next(), chars.peek()) {
            // Particles and endings are hiragana on both sides.
            if !(is_hiragana(first) && is_hiragana(*second)) {
                terms.insert(String::from_iter([first, *second]));
            }
        }
    });
    terms
}

/// The words to search for, as they stand in the text, without empty ones; Japanese in runs without hiragana.
pub(crate) fn key_words(text: &str, at_most: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut keep = |word: &str| {
        if words.len() < at_most && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    };
    for word in split(text) {
        if !word.chars().any(is_cjk) {
            if !is_empty(&word.to_lowercase()) {
                keep(word);
            }
        } else {
            word.split(is_hiragana).filter(|run| run.chars().nth(1).is_some()).for_each(&mut keep);
        }
    }
    words
}

/// What must be known for an answer: names and years of the question, in the form of [`terms`].
///
/// Names are words with a capital letter that do not open a sentence; in Japanese the first two runs of Chinese
/// characters or katakana.
pub(crate) fn names(question: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut opens = true;
    for piece in question.split_whitespace() {
        for word in split(piece) {
            let is_name = !opens && word.starts_with(|c: char| c.is_uppercase());
            if (is_name || is_year(word)) && !is_empty(&word.to_lowercase()) {
                names.extend(terms(word));
            }
        }
        opens = piece.ends_with(['.', '!', '?', ':']);
    }
    let runs = split(question).filter(|word| word.chars().any(is_cjk));
    let runs = runs.flat_map(|word| word.split(is_hiragana)).filter(|run| run.chars().nth(1).is_some());
    names.extend(runs.take(2).map(|run| run.chars().take(2).collect()));
    names
}

/// The figures of a text, years left out: `1,742,000` and `1742000` are the same.
pub(crate) fn figures(text: &str) -> BTreeSet<String> {
    let mut figures = BTreeSet::new();
    each_word(text, |word| {
        for run in word.split(|c: char| !c.is_ascii_digit() && c != '.') {
            let run = run.trim_matches('.');
            if run.starts_with(|c: char| c.is_ascii_digit()) && !is_year(run) {
                figures.insert(run.to_owned());
            }
        }
    });
    figures
}

/// Whether a term is a figure or a year rather than a word.
pub(crate) fn is_number(term: &str) -> bool {
    term.chars().any(|c| c.is_ascii_digit())
}

pub(crate) fn is_year(word: &str) -> bool {
    word.len() == 4
        && word.bytes().all(|b| b.is_ascii_digit())
        && (word.starts_with("19") || word.starts_with("20"))
}

pub(crate) fn is_cjk(char: char) -> bool {
    matches!(char, '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}')
}

pub(crate) fn is_hiragana(char: char) -> bool {
    matches!(char, '\u{3041}'..='\u{3096}')
}

/// Each word in lower case and of one width, digits without the commas between them.
fn each_word(text: &str, mut take: impl FnMut(&str)) {
    let normal = normalised(text);
    split(normal.text()).for_each(|word| take(&word.replace([',', '\''], "")));
}

/// Words as they stand; a Latin word ends where Chinese or Japanese begins. Marks inside a number or a word stay.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let first = rest.chars().next()?;
        let mut end = rest.len();
        for (at, char) in rest.char_indices() {
            let goes_on = rest[at + char.len_utf8()..].starts_with(char::is_alphanumeric);
            let is_inside = matches!(char, ',' | '.' | '\'' | '’')
                && goes_on
                && rest[..at].ends_with(|c: char| c.is_ascii_digit() || c.is_ascii_alphabetic())
                && (matches!(char, '\'' | '’') || rest[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
            let same = is_cjk(char) == is_cjk(first);
            if !(is_inside || (char.is_alphanumeric() || is_cjk(char)) && same) {
                end = at;
                break;
            }
        }
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

fn is_empty(word: &str) -> bool {
    word.len() < 2 && !word.starts_with(|c: char| c.is_ascii_digit()) || EMPTY.contains(&format!(" {word} "))
}

fn stem(word: &str) -> String {
    if is_number(word) {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    let cut = |word: &mut String, end: &str, least: usize, instead: &str| {
        let is_cut = word.len() >= least + end.len() && word.ends_with(end);
        if is_cut {
            word.truncate(word.len() - end.len());
            word.push_str(instead);
        }
        is_cut
    };
    let _plural = cut(&mut word, "ies", 2, "y")
        || ["sses", "shes", "ches", "xes"].iter().any(|end| cut(&mut word, end, 1, &end[..end.len() - 2]))
        || !word.ends_with("ss") && cut(&mut word, "s", 3, "");
    let _tense = cut(&mut word, "ing", 4, "") || cut(&mut word, "ed", 3, "");
    cut(&mut word, "e", 4, "");
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: impl IntoIterator<Item = String>) -> String {
        words.into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_compared_without_case_plural_and_tense() {
        for (one, other) in [
            ("What do classes cost?", "the class costs"),
            ("prices of studios", "Pricing, a studio"),
            ("1,742,000 visitors", "1742000 VISITOR"),
            ("the visitor’s stay", "visitor's stays"),
            ("ＡＢ茶道体験", "ab 茶道体験"),
        ] {
            assert_eq!(terms(one), terms(other), "{one} / {other}");
        }
        assert_eq!(joined(terms("茶道の体験を")), "の体 体験 茶道 道の 験を");
        assert_eq!(joined(terms("Find out what it is")), "");
    }

    #[test]
    fn key_words_are_the_words_as_they_stand() {
        let words = key_words("What do Pilates classes in Nassau cost, and what do Pilates bundles cost?", 4);
        assert_eq!(joined(words), "Pilates classes Nassau cost");
        let words = key_words("京都の小さな茶道教室が外国人観光客向けの体験コースを始めるべきか", 8);
        assert_eq!(joined(words), "京都 茶道教室 外国人観光客向 体験コース");
    }

    #[test]
    fn names_and_years_must_be_known() {
        assert_eq!(
            joined(names("How many studios are in Freeport on Grand Bahama in 2019?")),
            "freeport grand bahama 2019"
        );
        assert_eq!(joined(names("大阪の茶道体験の平均料金はいくらですか。")), "大阪 茶道");
        assert_eq!(joined(names("Where is it? Is it good?")), "");
    }

    #[test]
    fn figures_are_numbers_without_years() {
        assert_eq!(
            joined(figures("In 2025 1,742,000 came, 1.8% more; $38 each, 85万円")),
            "1.8 1742000 38 85"
        );
    }
}

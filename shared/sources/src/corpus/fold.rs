//! The form in which corpus text and queries are compared: compatibility forms, case and accents folded away.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// NFKC, lower case, without Latin, Greek and Cyrillic accents, Arabic vowel signs and invisible joiners.
///
/// The marks of kana, Thai and Indic scripts stay: there they make another letter.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd().flat_map(char::to_lowercase).filter(|letter| !is_dropped(*letter)).nfc().collect()
}

fn is_dropped(letter: char) -> bool {
    matches!(letter,
        '\u{300}'..='\u{36f}'                               // accents
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{640}'     // Arabic vowel signs, stretching
        | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// A letter of a script whose words are not (or, in Korean, not only) found by spaces: these go to the trigram index.
pub(super) fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{e00}'..='\u{eff}'       // Thai, Lao
        | '\u{1000}'..='\u{109f}'   // Burmese
        | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}' // Hangul
        | '\u{1780}'..='\u{17ff}'   // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // kana, 々〆〇
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Chinese characters
        | '\u{20000}'..='\u{3ffff}')
}

/// A letter or digit, or a mark on one.
pub(super) fn is_word_letter(letter: char) -> bool {
    letter.is_alphanumeric() || is_combining_mark(letter)
}

/// Folded text for the word index: letters that the trigram index holds would only glue numbers to them.
pub(super) fn spaced_part(folded: &str) -> String {
    folded.chars().map(|letter| if is_unspaced(letter) { ' ' } else { letter }).collect()
}

/// Folded text for the trigram index, or an empty one where it holds nothing for it.
///
/// A line break within Japanese or Chinese is no space, so it goes. Two spaces follow, so that also the last two
/// letters begin a trigram.
pub(super) fn unspaced_part(folded: &str) -> String {
    if !folded.chars().any(is_unspaced) {
        return String::new();
    }
    let mut joined = String::with_capacity(folded.len() + 2);
    let mut letters = folded.chars().peekable();
    while let Some(letter) = letters.next() {
        let between = letter == '\n'
            && joined.chars().next_back().is_some_and(is_unspaced)
            && letters.peek().copied().is_some_and(is_unspaced);
        if !between {
            joined.push(letter);
        }
    }
    joined.push_str("  ");
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_differently_is_the_same() {
        for (one, other) in [
            ("Manutenção", "MANUTENCAO"),
            ("ﾋﾟﾗﾃｨｽ", "ピラティス"),
            ("２０２５年", "2025年"),
            ("مُدَرِّسَة", "مدرسة"),
            ("أسعار", "اسعار"),
            ("한국", "한국"),
        ] {
            assert_eq!(fold(one), fold(other), "{one} and {other}");
        }
        assert_ne!(fold("が"), fold("か"), "voiced kana are other letters");
    }

    #[test]
    fn a_line_break_within_japanese_is_no_space() {
        assert_eq!(unspaced_part("茶道\n教室\nabc"), "茶道教室\nabc  ");
        assert_eq!(unspaced_part("only words"), "");
        assert_eq!(spaced_part("2025年度 budget"), "2025   budget");
    }
}

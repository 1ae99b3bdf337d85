//! Text as quotes are compared in it, with the way back to the words of the original.

use std::ops::Range;

use caseless::Caseless;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use crate::research::outside::{is_invisible, unescaped};

/// A text in the form that quotes are compared in: NFKC and case folding; white space is one space, and none between
/// Chinese characters or kana, where only a line break puts it; quotes, dashes and ellipses are one of a kind; what
/// can't be seen is gone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Normalised {
    text: String,
    /// For each character of `text`: where it starts in `text`, and the bytes of the original that it stands for.
    places: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    at: usize,
    from: usize,
    to: usize,
}

/// The normal form of a text. The same for two texts that differ only in what it makes equal.
pub fn normalised(original: &str) -> Normalised {
    let mut made = Normalised::default();
    made.text.reserve(original.len());
    let mut segment = String::new();
    let mut span = 0..0;
    for (at, char) in original.char_indices() {
        let end = at + char.len_utf8();
        if is_invisible(char) && !char.is_whitespace() {
            continue;
        }
        if char.is_ascii() || starts_segment(char) {
            made.take(&segment, &span);
            segment.clear();
            span = at..end;
        } else if segment.is_empty() {
            span.start = at;
        }
        segment.push(char);
        span.end = end;
    }
    made.take(&segment, &span);
    if made.text.ends_with(' ') {
        made.text.pop();
        made.places.pop();
    }
    made
}

/// Whether no character before this one can compose with it, so that its normal form is its own.
fn starts_segment(char: char) -> bool {
    let first = std::iter::once(char).nfkd().next().unwrap_or(char);
    canonical_combining_class(first) == 0 && is_nfkc_quick(std::iter::once(first)) != IsNormalized::Maybe
}

impl Normalised {
    /// The normal form itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its length in characters.
    pub fn char_count(&self) -> usize {
        self.places.len()
    }

    /// The bytes of the original that a stretch of characters stands for; empty for an empty stretch.
    pub fn original(&self, chars: Range<usize>) -> Range<usize> {
        let stretch = self.places.get(chars).unwrap_or_default();
        match (stretch.first(), stretch.last()) {
            (Some(first), Some(last)) => first.from..last.to,
            _ => 0..0,
        }
    }

    /// The index of the character that starts at, or holds, a byte of the normal form.
    pub(super) fn char_at(&self, byte: usize) -> usize {
        self.places.partition_point(|place| place.at < byte)
    }

    fn take(&mut self, segment: &str, span: &Range<usize>) {
        if let (1, Some(char)) = (segment.len(), segment.chars().next()) {
            self.push(unified(char.to_ascii_lowercase()), span);
            return;
        }
        // Twice: the first folding can undo a composition that the second one then sees.
        let folded: String = segment.nfkc().default_case_fold().nfkc().default_case_fold().nfkc().collect();
        for char in folded.chars() {
            match char {
                '⋯' | '︙' => (0..3).for_each(|_| self.push('.', span)),
                _ => self.push(unified(char), span),
            }
        }
    }

    fn push(&mut self, char: char, span: &Range<usize>) {
        let last = self.text.chars().next_back();
        match (last, char) {
            (None | Some(' '), ' ') => return,
            // One dash, however it was typed.
            (Some('-'), '-') => return self.widen(span),
            // Some set a space before a full stop or an ellipsis.
            (Some(' '), '.') => {
                self.text.pop();
                self.places.pop();
            }
            (Some(' '), _) if is_unspaced(char) && self.before_space().is_some_and(is_unspaced) => {
                self.text.pop();
                self.places.pop();
            }
            _ => {}
        }
        self.places.push(Place { at: self.text.len(), from: span.start, to: span.end });
        self.text.push(char);
    }

    fn widen(&mut self, span: &Range<usize>) {
        if let Some(place) = self.places.last_mut() {
            place.to = span.end;
        }
    }

    fn before_space(&self) -> Option<char> {
        self.text.chars().rev().nth(1)
    }
}

/// One character for all that look or mean the same in running text.
fn unified(char: char) -> char {
    let plain = unescaped(char);
    match plain {
        _ if plain.is_whitespace() => ' ',
        '‘' | '’' | '‚' | '‛' | '′' | '`' | '´' | 'ʼ' | 'ʹ' | '‵' => '\'',
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' | '「' | '」' | '『' | '』' | '〝' | '〞' | '〟' => {
            '"'
        }
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '⸺' | '⸻' => '-',
        '〜' => '~',
        _ => plain,
    }
}

/// Scripts that put no space between words: Chinese characters and kana, with their punctuation.
fn is_unspaced(char: char) -> bool {
    let is_mark = matches!(char, '\u{3099}' | '\u{309A}');
    (is_han_or_kana(char) && !is_mark) || matches!(char, '、' | '。')
}

pub(in crate::research) fn is_han_or_kana(char: char) -> bool {
    matches!(char, '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9F}' | '\u{20000}'..='\u{3FFFF}')
}

pub(in crate::research) fn is_kana(char: char) -> bool {
    matches!(char, '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FD}'..='\u{30FF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9D}')
}

pub(super) fn is_hangul(char: char) -> bool {
    matches!(char, '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7AF}')
}

/// Whether most letters of a text are Chinese, Japanese or Korean: fewer characters then say as much.
pub(super) fn is_cjk(text: &str) -> bool {
    let letters = text.chars().filter(|char| char.is_alphabetic());
    let (cjk, all) = letters.fold((0, 0), |(cjk, all), char| {
        (cjk + usize::from(is_han_or_kana(char) || is_hangul(char)), all + 1)
    });
    cjk * 2 > all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_looks_the_same_is_the_same() {
        for (left, right) in [
            ("Two  studios\n\tserve", "two studios serve"),
            ("“Guests’ only” – resort", "\"guests' only\" - resort"),
            ("well‑known — and --- so", "well-known - and - so"),
            ("and so on … here", "and so on... here"),
            ("ＡＢＣ　１２３％", "abc 123%"),
            ("Straße", "STRASSE"),
            ("cafe\u{301}", "café"),
            ("ｶﾞｲﾄﾞ", "ガイド"),
            ("zero\u{200B}width\u{FEFF} so\u{AD}ft", "zerowidth soft"),
            ("e\u{200D}\u{301}", "é"),
            ("日本\nの 料金", "日本の料金"),
            ("「料金」", "\"料金\""),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("‹|x|›", "<|x|>"),
        ] {
            assert_eq!(normalised(left).text(), normalised(right).text(), "{left} / {right}");
        }
        assert_ne!(normalised("東京").text(), normalised("京都").text());
        assert_eq!(normalised("한국 요금").text(), "한국 요금", "Korean puts spaces between words");
        assert_eq!(normalised(" \n ").text(), "");
    }

    #[test]
    fn a_stretch_leads_back_to_the_words_of_the_original() {
        let original = "  The “Café” —  opened\u{200B} ①  ";
        let normal = normalised(original);
        assert_eq!(normal.text(), "the \"café\" - opened 1");
        let at = normal.char_at(normal.text().find("\"café").unwrap());
        assert_eq!(&original[normal.original(at..at + 8)], "“Café” —");
        assert_eq!(&original[normal.original(0..normal.char_count())], original.trim());
        assert_eq!(normal.original(3..3), 0..0);
    }

    proptest! {
        #[test]
        fn places_are_in_order_and_on_boundaries(original in "(\\PC|[ \\n\\t‘’“”–—…\u{301}\u{3099}ﾞｶ각각]){0,60}") {
            let normal = normalised(&original);
            let mut before = 0;
            for (index, (at, _)) in normal.text().char_indices().enumerate() {
                prop_assert_eq!(normal.char_at(at), index);
                let range = normal.original(index..index + 1);
                prop_assert!(original.get(range.clone()).is_some_and(|text| !text.is_empty()));
                prop_assert!(range.start >= before, "{:?}", range);
                before = range.start;
            }
            prop_assert_eq!(normal.char_count(), normal.text().chars().count());
        }

        #[test]
        fn segments_give_the_nfkc_of_the_whole(original in "[a-zé\u{301}\u{323}\u{3099}ﾞﾊﾟｶ각각ᅡ①ﬁ한]{0,30}") {
            let folded: String = original.nfkc().default_case_fold().nfkc().default_case_fold().nfkc().collect();
            let normal = normalised(&original);
            prop_assert_eq!(normal.text(), folded);
        }

        #[test]
        fn the_normal_form_is_its_own(original in "[A-Za-zé ß\\n“”‘’–—….\u{200B}日本のｶﾞ한국０-９]{0,60}") {
            let once = normalised(&original);
            let twice = normalised(once.text());
            prop_assert_eq!(once.text(), twice.text());
        }
    }
}

//! When two assignments have the same title.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::outside::is_invisible;

/// What two titles have in common that say the same: letters and digits of any script, without case, width, spaces and
/// punctuation.
pub fn title_key(title: &str) -> String {
    let folded = caseless::default_case_fold_str(&title.nfkc().collect::<String>());
    let is_letter =
        |char: &char| char.is_alphanumeric() || (is_combining_mark(*char) && !is_invisible(*char));
    let letters: String = folded.nfkc().filter(is_letter).collect();
    if letters.is_empty() {
        // A title of signs alone is still a title.
        return folded.nfkc().filter(|char| !char.is_whitespace() && !is_invisible(*char)).collect();
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::title_key;

    #[test]
    fn letters_of_every_script_count() {
        let same = [
            ("Tourist pricing", "  tourist-PRICING! "),
            ("観光客の価格", "観光客の 価格。"),
            ("ＡＢＣ　１２", "abc 12"),
            ("STRASSE", "straße"),
            ("cafe\u{301} \u{200B}prices", "Café-Prices"),
            ("أسعار السياح", "أسعار، السياح"),
        ];
        for (one, other) in same {
            assert_eq!(title_key(one), title_key(other), "{one}");
        }
        let different = [
            ("観光客の価格", "住民の価格"),
            ("أسعار السياح", "أسعار السكان"),
            ("plan 1", "plan 2"),
            ("ราคา มา", "ราคา ม้า"),
            ("★", "☆"),
        ];
        for (one, other) in different {
            assert_ne!(title_key(one), title_key(other), "{one}");
            assert!(!title_key(one).is_empty(), "{one}");
        }
    }
}

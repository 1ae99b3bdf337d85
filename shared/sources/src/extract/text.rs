//! Whether text is worth being a source, and how it is cut.

/// Fewer characters than this are no source.
const LEAST: usize = 200;
/// Chinese, Japanese and Korean say in some 80 characters what takes 200 letters elsewhere.
const LEAST_CJK: usize = 80;
/// More than one character of so many that is no text means a binary file.
const TEXT_PER_GARBAGE: usize = 20;
/// Most bytes of a text.
pub(super) const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Why this text is no source. A run of white space counts as one character.
pub(super) fn too_little(text: &str) -> Option<String> {
    let (mut characters, mut letters, mut cjk) = (0_usize, 0_usize, 0_usize);
    let mut after_space = true;
    for character in text.chars() {
        let space = character.is_whitespace();
        characters += usize::from(!(space && after_space));
        after_space = space;
        letters += usize::from(character.is_alphanumeric());
        cjk += usize::from(is_cjk(character));
    }
    let least = if cjk * 2 > letters { LEAST_CJK } else { LEAST };
    (characters < least)
        .then(|| format!("only {characters} characters of text came out of it; {least} are the least"))
}

fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}'       // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7af}'     // Hangul
        | '\u{ff66}'..='\u{ff9d}'     // half-width Katakana
        | '\u{20000}'..='\u{3ffff}')
}

/// Whether it is a binary file that calls itself text: too many control characters and bytes that are none.
pub(super) fn is_garbage(text: &str) -> bool {
    let (mut all, mut garbage) = (0_usize, 0_usize);
    for character in text.chars() {
        all += 1;
        let control = character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{c}');
        garbage += usize::from(control || character == char::REPLACEMENT_CHARACTER);
    }
    garbage * TEXT_PER_GARBAGE > all
}

/// Cuts the text to so many bytes, and says so at its end.
pub(super) fn clip(text: &mut String, most_bytes: usize) {
    if text.len() <= most_bytes {
        return;
    }
    let left_out = text.len() - most_bytes;
    text.truncate(text.floor_char_boundary(most_bytes));
    text.push_str(&format!("\n[clipped: some {left_out} bytes more]"));
}

/// White space made single, cut to so many characters; `None` where nothing is left.
pub(super) fn one_line(text: &str, most_characters: usize) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = match line.char_indices().nth(most_characters) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_is_enough() {
        assert!(too_little(&"a".repeat(199)).is_some());
        assert!(too_little(&"a".repeat(200)).is_none());
        assert!(too_little(&format!("a{}b", " ".repeat(500))).is_some());
        assert!(too_little(&"日".repeat(79)).is_some());
        assert!(too_little(&"日".repeat(80)).is_none());
        assert!(too_little(&format!("{}{}", "日".repeat(40), "a".repeat(60))).is_some());
        assert!(too_little("").is_some());
    }

    #[test]
    fn what_is_garbage() {
        assert!(is_garbage("\u{fffd}PNG\u{1}\u{2}\u{3}"));
        assert!(!is_garbage(&format!("{}\u{fffd}\u{200b}\u{202e}", "plain text ".repeat(10))));
        assert!(!is_garbage(""));
    }

    #[test]
    fn cut_between_characters() {
        let mut text = "日本語".to_owned();
        clip(&mut text, 9);
        assert_eq!(text, "日本語");
        clip(&mut text, 4);
        assert_eq!(text, "日\n[clipped: some 5 bytes more]");
        assert_eq!(one_line(" a \n b ", 10).as_deref(), Some("a b"));
        assert_eq!(one_line("日本語", 2).as_deref(), Some("日本…"));
        assert_eq!(one_line(" \n", 2), None);
    }
}

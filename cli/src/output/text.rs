//! Texts and lengths of time, shortened for people.

use nightforge_domain::Status;

/// Characters that turn the direction of what follows, and so make a text look like another one.
const TURNING: [char; 12] = [
    '\u{061c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// Characters that nobody sees: they hide words, or orders to a model.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// One line of at most `max` characters. Control characters become spaces, and those that turn the direction or hide
/// are left out: what others wrote must not steer the terminal.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let clean: String = text
        .chars()
        .filter(|c| !TURNING.contains(c) && !is_hidden(*c))
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= max {
        return words;
    }
    let mut short: String = words.chars().take(max.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// The text as a terminal may show it: its lines stay, and nothing in it steers.
pub(crate) fn for_terminal(text: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    let kept = text.chars().filter(|c| !TURNING.contains(c) && !is_hidden(*c));
    kept.map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// `8 s`, `3 min 05 s`, `2 h 07 min`.
pub(crate) fn length(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

/// A path as a shell takes it for one word.
pub(crate) fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A state's name, in its colour.
pub(crate) fn state(state: Status, colour: bool) -> String {
    let code = match state {
        Status::Completed => "32",
        Status::Running => "36",
        Status::WaitingForHuman | Status::NeedsReview => "33",
        Status::Failed => "31",
        Status::Queued | Status::Cancelled => "2",
    };
    if colour { format!("\u{1b}[{code}m{state}\u{1b}[0m") } else { state.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_do_not_steer_the_terminal() {
        assert_eq!(one_line("a\u{1b}[2Jb\nc\td  e", 40), "a [2Jb c d e");
        assert_eq!(one_line("a\u{202e}txt.\u{2066}b\u{200f}\u{61c}", 40), "atxt.b");
        assert_eq!(one_line("a\u{200b}b\u{feff}c\u{e0041}\u{9b}31md", 40), "abc 31md");
        assert_eq!(for_terminal("a\u{1b}[2J\n\tb\r\u{202e}c"), "a [2J\n\tb c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("abcd", 4), "abcd");
    }

    #[test]
    fn paths_are_one_word() {
        assert_eq!(shell_word("/data/git/1.git"), "/data/git/1.git");
        assert_eq!(shell_word("/Ada's data"), "'/Ada'\\''s data'");
    }

    #[test]
    fn lengths_and_numbers_are_readable() {
        let lengths: Vec<String> = [0, 8_900, 185_000, 7_620_000].map(length).into();
        assert_eq!(lengths, ["0 s", "8 s", "3 min 05 s", "2 h 07 min"]);
        let numbers: Vec<String> = [0, 999, 1_000, 1_234_567].map(grouped).into();
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
    }
}

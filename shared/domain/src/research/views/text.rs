//! Text of persons, agents and pages on its way into a view.

use crate::research::outside::{cleaned, clipped, escaped};

/// Bytes and characters of the mark that `clipped` leaves.
const MARK_BYTES: usize = " […]".len();
const MARK_CHARS: usize = 4;

/// What continuation lines begin with: no section of a prompt does.
pub(super) const INDENT: &str = "  ";

/// A text on one line, in at most `max_bytes`.
pub(super) fn line(text: &str, max_bytes: usize) -> String {
    cut(&flat(&escaped(&cleaned(text))), max_bytes)
}

/// A text whose lines after the first are indented, in at most `max_bytes`; blank lines are gone.
pub(super) fn block(text: &str, max_bytes: usize) -> String {
    cut(&indented(&escaped(&cleaned(text))), max_bytes)
}

/// The lines of an escaped text without blank ones, each but the first indented.
fn indented(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(&format!("\n{INDENT}"))
}

/// The text in at most `max_bytes`, with a mark where its end was cut.
pub(super) fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let Some(room) = max_bytes.checked_sub(MARK_BYTES) else { return String::new() };
    let fitting = text.char_indices().take_while(|(at, char)| at + char.len_utf8() <= room).count();
    // The last characters may have more bytes than the mark.
    clipped(text, (fitting + MARK_CHARS).min(text.chars().count() - 1))
}

/// The forms of something that is made for a size: one for each size, the shortest first, equal ones once.
pub(super) fn forms<T: PartialEq>(sizes: &[usize], make: impl Fn(usize) -> T) -> Vec<T> {
    let mut forms: Vec<T> = sizes.iter().map(|size| make(*size)).collect();
    forms.dedup();
    forms
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

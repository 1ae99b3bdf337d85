//! Text as numbered lines.

use std::fmt::Write;

/// A longer line is cut.
const MAX_LINE_CHARS: usize = 1_000;

/// `  12| text`, without the carriage return of a DOS line.
pub(super) fn numbered(number: usize, line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut text = format!("{number:>5}| ");
    let count = line.chars().count();
    if count > MAX_LINE_CHARS {
        text.extend(line.chars().take(MAX_LINE_CHARS));
        let _ = write!(text, " … (the line has {count} characters)");
    } else {
        text.push_str(line);
    }
    text
}

/// A NUL byte near its start marks a file that is no text, as git has it.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8000).any(|byte| *byte == 0)
}

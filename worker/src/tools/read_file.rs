//! `read_file`: lines of a text file, numbered.

use super::ToolError;
use super::confined::{Files, ProjectPath};
use super::lines::{is_binary, numbered};

const MAX_LINES: usize = 200;
const MAX_CHARS: usize = 8_000;

/// Lines from `start_line` (from 1; default 1), at most `line_count` (default and most 200) and at most
/// 8,000 characters. Says how to read on.
pub fn read_file(
    files: &Files,
    path: &str,
    start_line: Option<u32>,
    line_count: Option<u32>,
) -> Result<String, ToolError> {
    let path: ProjectPath = path.parse()?;
    let bytes = files.bytes(&path)?;
    if is_binary(&bytes) {
        return Err(ToolError::model(format!("`{path}` is a binary file of {} bytes", bytes.len())));
    }
    if bytes.is_empty() {
        return Ok(format!("{path} is empty"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> =
        text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line)).collect();
    let first = start_line.unwrap_or(1).max(1) as usize;
    if first > lines.len() {
        return Err(ToolError::model(format!("`{path}` has only {} lines", lines.len())));
    }
    let count = (line_count.unwrap_or(u32::MAX) as usize).clamp(1, MAX_LINES);
    let mut shown = String::new();
    let mut chars = 0;
    let mut next = first;
    for line in lines.iter().skip(first - 1).take(count) {
        let line = numbered(next, line);
        chars += line.chars().count() + 1;
        if chars > MAX_CHARS && next > first {
            break;
        }
        shown.push_str(&line);
        shown.push('\n');
        next += 1;
    }
    let mut result = format!("{path}, lines {first} to {} of {}\n{shown}", next - 1, lines.len());
    if matches!(text, std::borrow::Cow::Owned(_)) {
        result.push_str("(the file is not UTF-8; what can't be shown is �)\n");
    }
    if next <= lines.len() {
        result.push_str(&format!("(more follows: start_line {next})\n"));
    }
    Ok(result)
}

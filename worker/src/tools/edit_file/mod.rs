//! `edit_file`: replaces a text that occurs exactly once.

mod indentation;
mod ladder;
mod nearest;
mod punctuation;

use super::ToolError;
use super::confined::{Files, ProjectPath, operator};
use super::lines::{is_binary, numbered};
use ladder::{Outcome, Rung};

/// Of a longer change only so many lines are shown: the model has just written them.
const SHOWN_LINES: usize = 14;

/// Replaces `old_text` by `new_text`. The text is found exactly, else without regard to white space at the
/// ends of lines, else to indentation (the new text is then indented as the file is), else to typographic
/// punctuation; never by similarity. It must occur once. Line ends stay as the file has them.
///
/// The changed lines are shown; a miss shows the ten lines that look most like it.
pub fn edit_file(files: &Files, path: &str, old_text: &str, new_text: &str) -> Result<String, ToolError> {
    let path: ProjectPath = path.parse()?;
    let (folder, name, executable) = files.existing(&path)?;
    let bytes = files.bytes(&path)?;
    let content = match String::from_utf8(bytes) {
        Ok(content) if !is_binary(content.as_bytes()) => content,
        _ => {
            return Err(ToolError::model(format!(
                "`{path}` is not a text file in UTF-8; it can't be edited"
            )));
        }
    };
    if old_text.is_empty() {
        return Err(ToolError::model(
            "old_text is empty; give the lines to replace, or use write_file for a new file",
        ));
    }
    let dos = content.contains('\n') && content.matches('\n').count() == content.matches("\r\n").count();
    let unix = |text: &str| if dos { text.replace("\r\n", "\n") } else { text.to_owned() };
    let (content, old_text, new_text) = (unix(&content), unix(old_text), unix(new_text));
    if old_text == new_text {
        return Err(ToolError::model("old_text and new_text are the same; nothing would change"));
    }
    match ladder::replace(&content, &old_text, &new_text) {
        Outcome::Replaced { text, rung, line } => {
            let shown = changed(&text, line, new_text.lines().count());
            let text = if dos { text.replace('\n', "\r\n") } else { text };
            folder.replace(&name, text.as_bytes(), executable).map_err(operator(&path))?;
            Ok(format!("edited {path} at line {line}{}. It reads now:\n{shown}", how(rung)))
        }
        Outcome::Ambiguous(lines) => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            Err(ToolError::model(format!(
                "old_text occurs more than once in `{path}`, at lines {}; add lines before or after it until it is unique",
                lines.join(", ")
            )))
        }
        Outcome::Missing => Err(ToolError::model(miss(&path, &content, &old_text))),
    }
}

/// The lines from `first` on and one on either side, numbered; of many, the first ones.
fn changed(text: &str, first: usize, count: usize) -> String {
    let from = first.saturating_sub(2);
    let wanted = first - 1 - from + count + 1;
    let mut shown: String = text
        .lines()
        .enumerate()
        .skip(from)
        .take(wanted.min(SHOWN_LINES))
        .map(|(at, line)| numbered(at + 1, line) + "\n")
        .collect();
    if wanted > SHOWN_LINES {
        shown.push_str("  …\n");
    }
    shown
}

fn how(rung: Rung) -> &'static str {
    match rung {
        Rung::Exact => "",
        Rung::TrailingSpace => " (white space at the ends of lines differed)",
        Rung::Indentation => " (indentation differed; the new text was indented as the file is)",
        Rung::Punctuation => " (typographic punctuation differed)",
    }
}

fn miss(path: &ProjectPath, content: &str, old_text: &str) -> String {
    if content.is_empty() {
        return format!("`{path}` is empty; use write_file");
    }
    let mut text = format!("old_text does not occur in `{path}`.");
    if old_text.lines().all(has_line_number) {
        text.push_str(" Leave out the line numbers that read_file shows.");
    }
    text.push_str(" The lines that look most like it (copy them without the numbers):\n");
    text.push_str(&nearest::lines(content, old_text));
    text
}

fn has_line_number(line: &str) -> bool {
    line.trim_start()
        .split_once('|')
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

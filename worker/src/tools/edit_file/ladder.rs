//! How a text is found: rung by rung, each looser than the one before, and on each it must be unique.

use super::indentation;
use super::punctuation;

/// What had to be overlooked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    Exact,
    TrailingSpace,
    Indentation,
    Punctuation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The new content, and the line where the change starts.
    Replaced {
        text: String,
        rung: Rung,
        line: usize,
    },
    /// The lines where it occurs, the first few.
    Ambiguous(Vec<usize>),
    Missing,
}

/// A place in the content and what goes there.
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) replacement: String,
}

/// More would not be named in the message.
const MAX_MATCHES: usize = 8;

pub(super) fn replace(content: &str, old: &str, new: &str) -> Outcome {
    let rungs: [(Rung, &dyn Fn() -> Vec<Match>); 5] = [
        (Rung::Exact, &|| exact(content, old, new)),
        (Rung::TrailingSpace, &|| by_lines(content, old, new, |line| line.trim_end().to_owned(), false)),
        (Rung::Indentation, &|| by_lines(content, old, new, |line| line.trim().to_owned(), true)),
        (Rung::Punctuation, &|| punctuation::matches(content, old, new)),
        (Rung::Punctuation, &|| {
            by_lines(content, old, new, |line| punctuation::plain(line).trim().to_owned(), true)
        }),
    ];
    for (rung, find) in rungs {
        let mut found = find();
        if found.len() > 1 {
            return Outcome::Ambiguous(found.iter().map(|one| line_of(content, one.start)).collect());
        }
        if let Some(Match { start, end, replacement }) = found.pop() {
            let text = [&content[..start], &replacement, &content[end..]].concat();
            return Outcome::Replaced { text, rung, line: line_of(content, start) };
        }
    }
    Outcome::Missing
}

fn line_of(content: &str, at: usize) -> usize {
    content[..at].matches('\n').count() + 1
}

fn exact(content: &str, old: &str, new: &str) -> Vec<Match> {
    occurrences(content, old)
        .map(|start| Match { start, end: start + old.len(), replacement: new.to_owned() })
        .collect()
}

/// Overlapping ones, too: of `aa` in `aaa` nobody knows which is meant.
pub(super) fn occurrences<'a>(content: &'a str, text: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + content.get(from..)?.find(text)?;
        from = start + text.chars().next().map_or(1, char::len_utf8);
        Some(start)
    })
    .take(MAX_MATCHES)
}

/// Whole lines that are equal after `same`.
fn by_lines(
    content: &str,
    old: &str,
    new: &str,
    same: impl Fn(&str) -> String,
    reindent: bool,
) -> Vec<Match> {
    if old.trim().is_empty() {
        // Every empty line would do.
        return Vec::new();
    }
    let ends_line = old.ends_with('\n');
    let old_lines: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    let wanted: Vec<String> = old_lines.iter().map(|line| same(line)).collect();
    let lines = lines_of(content);
    let keys: Vec<String> = lines.iter().map(|(_, line)| same(line)).collect();
    let mut found = Vec::new();
    for (at, window) in keys.windows(wanted.len()).enumerate() {
        if window != wanted {
            continue;
        }
        let matched: Vec<&str> = lines[at..at + wanted.len()].iter().map(|(_, line)| *line).collect();
        let Some((last_start, last)) = lines.get(at + wanted.len() - 1) else { continue };
        let new = if ends_line { new.strip_suffix('\n').unwrap_or(new) } else { new };
        let replacement =
            if reindent { indentation::adapt(&old_lines, &matched, new) } else { Some(new.to_owned()) };
        // Lines that are equal and can't be indented alike are still a second place.
        let Some(replacement) = replacement else { continue };
        let mut end = last_start + last.len();
        if ends_line && new.is_empty() && content[end..].starts_with('\n') {
            end += 1;
        }
        found.push(Match { start: lines[at].0, end, replacement });
        if found.len() == MAX_MATCHES {
            break;
        }
    }
    found
}

/// Each line without its newline, and where it starts.
fn lines_of(content: &str) -> Vec<(usize, &str)> {
    let mut start = 0;
    content
        .split_inclusive('\n')
        .map(|line| {
            let at = start;
            start += line.len();
            (at, line.strip_suffix('\n').unwrap_or(line))
        })
        .collect()
}

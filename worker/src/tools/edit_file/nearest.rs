//! Where a text that was not found was probably meant to be. Only shown; nothing is ever changed by it.

use std::collections::HashSet;

use super::super::lines::numbered;

const SHOWN: usize = 10;
/// Of long texts and files, so much is compared.
const MAX_OLD_LINES: usize = 40;
const MAX_FILE_LINES: usize = 20_000;

/// The ten lines that share most words with `old`, numbered.
pub(super) fn lines(content: &str, old: &str) -> String {
    let lines: Vec<&str> = content.lines().take(MAX_FILE_LINES).collect();
    let wanted: Vec<(&str, HashSet<&str>)> = old
        .lines()
        .skip_while(|line| line.trim().is_empty())
        .take(MAX_OLD_LINES)
        .map(|line| (line.trim(), words(line)))
        .collect();
    let there: Vec<HashSet<&str>> = lines.iter().map(|line| words(line)).collect();
    let score = |start: usize| -> usize {
        wanted
            .iter()
            .enumerate()
            .filter_map(|(offset, (line, words))| {
                let at = start + offset;
                let found = there.get(at)?;
                let same = if lines[at].trim() == *line && !line.is_empty() { 100 } else { 0 };
                let common = found.intersection(words).count();
                Some(same + 60 * common / words.len().max(found.len()).max(1))
            })
            .sum()
    };
    // The first of equals.
    let best = (0..lines.len()).max_by_key(|start| (score(*start), usize::MAX - start)).unwrap_or(0);
    let before = (SHOWN - wanted.len().min(SHOWN)) / 2;
    let first = best.saturating_sub(before).min(lines.len().saturating_sub(SHOWN));
    lines.iter().enumerate().skip(first).take(SHOWN).map(|(at, line)| numbered(at + 1, line) + "\n").collect()
}

fn words(line: &str) -> HashSet<&str> {
    line.split(|next: char| !next.is_alphanumeric() && next != '_').filter(|word| !word.is_empty()).collect()
}

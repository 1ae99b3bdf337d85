//! The fenced texts that a researcher is given, and the sentences in them that can be quoted.
//!
//! Nothing in a fence is followed: a paragraph that speaks to agents or reviewers is not even quoted.

use super::view::{FENCE_CLOSES, FENCE_OPENS};
use super::words::{figures, is_cjk};

/// Characters of a quote, at least and at most.
const LEAST_QUOTE: usize = 20;
const LEAST_CJK_QUOTE: usize = 8;
const LONGEST_QUOTE: usize = 300;

/// Stands in a text in place of what is not known.
const PLACEHOLDER: &str = "no curated demo data";

/// One source of SOURCES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceBlock {
    pub(super) id: String,
    pub(super) title: String,
    /// Only the search's snippet is known.
    pub(super) is_snippet: bool,
    pub(super) text: String,
}

/// A sentence that can be quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) source: String,
    /// Its words; a line break is a space.
    pub(super) text: String,
    /// The heading above it and the title of its page.
    pub(super) context: String,
    pub(super) is_snippet: bool,
}

/// Reads SOURCES. The protocol's check has seen that its fences are whole.
pub(super) fn blocks(section: &str) -> Vec<SourceBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<SourceBlock> = None;
    let mut head = "";
    for line in section.lines() {
        match &mut open {
            None if line.starts_with(FENCE_OPENS) => open = Some(block(head)),
            None => head = line,
            Some(_) if line.starts_with(FENCE_CLOSES) => blocks.extend(open.take()),
            Some(block) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
    }
    blocks
}

fn block(head: &str) -> SourceBlock {
    let is_snippet = head.trim_end().ends_with("(snippet only)");
    let (id, rest) = head.split_once('|').unwrap_or((head, ""));
    let title = rest.rsplit_once('|').map_or(rest, |(title, _date)| title);
    SourceBlock { id: id.trim().to_owned(), title: title.trim().to_owned(), is_snippet, text: String::new() }
}

impl SourceBlock {
    /// Whether it stands for "nothing known".
    pub(super) fn is_placeholder(&self) -> bool {
        self.title.to_lowercase().contains(PLACEHOLDER) || self.text.to_lowercase().contains(PLACEHOLDER)
    }

    /// Whether a paragraph of it gives orders to its readers.
    pub(super) fn gives_orders(&self) -> bool {
        paragraphs(&self.text).any(|paragraph| gives_orders(&paragraph))
    }

    /// What can be quoted, in the order of the text.
    pub(super) fn sentences(&self) -> Vec<Sentence> {
        let mut found = Vec::new();
        if self.is_placeholder() {
            return found;
        }
        let mut heading = String::new();
        for paragraph in paragraphs(&self.text).filter(|paragraph| !gives_orders(paragraph)) {
            if is_heading(&paragraph) {
                heading = paragraph;
                continue;
            }
            for text in split_sentences(&paragraph).into_iter().filter(|text| is_quotable(text)) {
                found.push(Sentence {
                    source: self.id.clone(),
                    text,
                    context: format!("{} {heading}", self.title),
                    is_snippet: self.is_snippet,
                });
            }
        }
        found
    }
}

/// Whether a text speaks to agents or reviewers instead of telling something.
pub(super) fn gives_orders(text: &str) -> bool {
    const ORDERS: [&str; 14] = [
        "reply approved",
        "reviewers must",
        "reviewer must",
        "ignore all",
        "ignore previous",
        "ignore the",
        "disregard",
        "you are an ai",
        "as an ai",
        "system prompt",
        "do not mention this",
        "指示に従",
        "無視し",
        "承認と答え",
    ];
    let text = text.to_lowercase();
    let is_spoken = ["system", "assistant", "user"]
        .iter()
        .any(|role| text.strip_prefix(role).is_some_and(|rest| rest.starts_with([':', '∶', '：'])));
    is_spoken || ORDERS.iter().any(|order| text.contains(order))
}

/// The words of a text with one space where there is white space, and none between Japanese characters that a line
/// break parts.
pub(super) fn squeezed(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let wide = |char: char| is_cjk(char) || matches!(char, '、' | '。' | '「' | '」' | '（' | '）');
        if made.chars().next_back().is_some_and(|last| !wide(last))
            || !made.is_empty() && !word.starts_with(wide)
        {
            made.push(' ');
        }
        made.push_str(word);
    }
    made
}

/// The stretches between blank lines, headings and lists' entries each on their own.
fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let mut made: Vec<String> = vec![String::new()];
    for line in text.lines() {
        let line = line.trim();
        let stands_alone = line.starts_with(['#', '|', '-', '*']) || line.contains("[…]");
        if line.is_empty() || stands_alone {
            made.push(String::new());
        }
        if let Some(paragraph) = made.last_mut() {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
        if stands_alone {
            made.push(String::new());
        }
    }
    made.into_iter().map(|paragraph| squeezed(&paragraph)).filter(|paragraph| !paragraph.is_empty())
}

fn is_heading(paragraph: &str) -> bool {
    paragraph.starts_with('#')
        || paragraph.chars().count() < 90 && !paragraph.ends_with(ENDS) && !has_figure(paragraph)
}

const ENDS: [char; 7] = ['.', '!', '?', '。', '！', '？', '"'];

/// A year alone makes no heading a fact.
fn has_figure(text: &str) -> bool {
    !figures(text).is_empty()
}

fn is_quotable(text: &str) -> bool {
    let length = text.chars().count();
    let least = if text.chars().filter(|char| is_cjk(*char)).count() * 2 > length {
        LEAST_CJK_QUOTE
    } else {
        LEAST_QUOTE
    };
    let is_marked = text.starts_with(['#', '|', '>']) || text.contains('…');
    (least..=LONGEST_QUOTE).contains(&length) && !is_marked && (text.ends_with(ENDS) || has_figure(text))
}

/// Sentences; one that is too long to be quoted goes in pieces that end at a word.
fn split_sentences(paragraph: &str) -> Vec<String> {
    let mut made = Vec::new();
    let mut start = 0;
    // Whoever is quoted may end sentences of his own.
    let mut quoted = 0_usize;
    for (at, char) in paragraph.char_indices() {
        let end = at + char.len_utf8();
        match char {
            '「' | '『' => quoted += 1,
            '」' | '』' => quoted = quoted.saturating_sub(1),
            _ => {}
        }
        let is_end = match char {
            '。' | '！' | '？' => quoted == 0,
            '.' | '!' | '?' => paragraph[end..].starts_with(' ') && !is_abbreviation(&paragraph[start..at]),
            _ => end == paragraph.len(),
        };
        if is_end {
            made.extend(in_pieces(paragraph[start..end].trim()));
            start = end;
        }
    }
    made.extend(in_pieces(paragraph[start..].trim()));
    made
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    matches!(word, "Mr" | "Mrs" | "Ms" | "Dr" | "St" | "No" | "vs" | "e" | "g" | "i")
}

fn in_pieces(sentence: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = sentence;
    while let Some((limit, _)) = rest.char_indices().nth(LONGEST_QUOTE) {
        let cut = rest[..limit].rfind([' ', '、']).filter(|at| *at > 0).unwrap_or(limit);
        pieces.push(rest[..cut].to_owned());
        rest = rest[cut..].trim_start_matches([' ', '、']);
    }
    if !rest.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

#[cfg(test)]
mod tests;

//! Grounding: what of a claim stands in its sources, found by code alone. A found quote proves the words, not the
//! conclusion.
//!
//! A cited passage is the paragraph, or paragraphs, of the source around a found quote, at most 600 characters on each
//! side of it. The numbers of a claim are looked for there, in the source's own words: near words of a model that
//! change a number do not count as found.

mod matching;
mod negation;
mod normal;
mod number;
mod synthesis;
mod words;

use std::collections::BTreeMap;
use std::ops::Range;

pub use normal::{Normalised, normalised};
pub(super) use normal::{is_han_or_kana, is_kana};
pub use synthesis::ground_synthesis;

use super::outside::clipped;
use super::{Evidence, Found, GroundedFinding, Level, Source, SourceId, SourceStatus};
use crate::contract::research::{Confidence, Quote, ReportedFinding};
use number::Figures;
use words::Share;

/// A shorter quote proves nothing.
const MIN_QUOTE_CHARS: usize = 20;
/// A character of these scripts says more.
const MIN_CJK_QUOTE_CHARS: usize = 8;
/// Of the source's words in [`Evidence::passage`], the mark included.
const MAX_PASSAGE_CHARS: usize = 400;
/// How far a cited passage reaches beyond its quote, in characters; a page without blank lines is no single passage.
const MAX_AROUND_CHARS: usize = 600;
/// Of the content words of a claim that must stand in the cited passages: a paraphrase has words of its own.
const CLAIM_WORDS: Share = Share { part: 1, of: 3 };
/// Of a quote or a claimed id in a note.
const MAX_SHOWN_CHARS: usize = 80;

/// Checks a finding against the sources of its task.
pub fn ground(finding: &ReportedFinding, sources: &[Source]) -> GroundedFinding {
    let mut check = Check::default();
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut notes = Vec::new();
    let (mut page_figures, mut all_figures) = (Figures::default(), Figures::default());
    let (mut page_passages, mut all_passages) = (Vec::new(), Vec::new());
    let mut is_demo = false;
    for quote in &finding.evidence {
        let source = match citable(&quote.source_id, sources) {
            Ok(source) => source,
            Err(reason) => {
                notes.push(reason);
                continue;
            }
        };
        is_demo |= source.is_demo;
        if evidence.iter().any(|known| known.source == source.id && known.quote == quote.quote) {
            continue;
        }
        let (found, passage, sentences) = match check.find(quote, source) {
            Ok(hit) => {
                all_figures.add(hit.around);
                all_passages.push(hit.around);
                if hit.found == Found::Page {
                    page_figures.add(hit.around);
                    page_passages.push(hit.around);
                }
                let sentences = sentences(hit.around, hit.words);
                (hit.found, Some(clipped(hit.words, MAX_PASSAGE_CHARS)), Some(sentences))
            }
            Err(reason) => {
                notes.push(reason);
                (Found::Nowhere, None, None)
            }
        };
        evidence.push(Evidence { source: source.id, quote: quote.quote.clone(), found, passage, sentences });
    }
    if finding.evidence.is_empty() {
        notes.push("The claim cites no source.".to_owned());
    }
    let best = evidence.iter().map(|evidence| evidence.found).max();
    let is_dropped = !notes.is_empty();
    let ids: Vec<String> = evidence.iter().map(|one| one.source.to_string().to_lowercase()).collect();
    let missing = all_figures.missing(&finding.claim, &ids);
    let words = carried(&finding.claim, &all_passages);
    let level = match best {
        None => Level::G0,
        Some(Found::Nowhere) => Level::G1,
        Some(_) if !missing.is_empty() => {
            notes.extend(
                missing
                    .iter()
                    .map(|figure| format!("The figure {figure} of the claim is not in any cited passage.")),
            );
            Level::G1
        }
        Some(_) if words == Carried::No => {
            notes.push("The words of the claim are not in any cited passage.".to_owned());
            Level::G1
        }
        Some(Found::Page)
            if page_figures.missing(&finding.claim, &ids).is_empty()
                && carried(&finding.claim, &page_passages) != Carried::No =>
        {
            Level::G3
        }
        Some(_) => Level::G2,
    };
    let mut confidence = finding.confidence.min(most(level));
    if level > Level::G1 && words == Carried::Unknown {
        notes.push(OTHER_LANGUAGE.to_owned());
        confidence = confidence.min(Confidence::Medium);
    }
    if is_dropped {
        confidence = Confidence::Low;
    }
    if is_demo {
        confidence = confidence.min(Confidence::Medium);
    }
    GroundedFinding {
        title: finding.title.clone(),
        claim: finding.claim.clone(),
        confidence,
        stated_confidence: finding.confidence,
        level,
        evidence,
        notes,
        is_demo,
    }
}

const OTHER_LANGUAGE: &str =
    "The words could not be compared with those of the sources, which are in another language.";

/// Whether the words of a claim stand in what it cites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carried {
    Yes,
    No,
    /// What is cited is in another language.
    Unknown,
}

fn carried(claim: &str, passages: &[&str]) -> Carried {
    let comparable: Vec<&str> =
        passages.iter().copied().filter(|passage| words::are_comparable(claim, passage)).collect();
    if words::hold(claim, &comparable, CLAIM_WORDS) {
        return Carried::Yes;
    }
    if comparable.len() < passages.len() { Carried::Unknown } else { Carried::No }
}

/// What a level can carry at most.
fn most(level: Level) -> Confidence {
    match level {
        Level::G3 => Confidence::High,
        Level::G2 => Confidence::Medium,
        Level::G1 | Level::G0 => Confidence::Low,
    }
}

/// The source of an id, if it may be cited; else why not.
fn citable<'a>(id: &str, sources: &'a [Source]) -> Result<&'a Source, String> {
    let shown = clipped(id.trim(), MAX_SHOWN_CHARS);
    let parsed: SourceId =
        id.parse().map_err(|_| format!("`{shown}` is no source id; the citation was dropped."))?;
    match sources.iter().find(|source| source.id == parsed) {
        None => Err(format!("{parsed} is no source that a search gave; the citation was dropped.")),
        Some(source) if source.status == SourceStatus::Placeholder => Err(format!(
            "{parsed} stands for \"nothing known\" and can't be cited; the citation was dropped."
        )),
        Some(source) => Ok(source),
    }
}

/// The texts of cited sources, each made normal once.
#[derive(Default)]
struct Check {
    pages: BTreeMap<(SourceId, Found), Normalised>,
}

/// A quote that was found.
struct Hit<'a> {
    found: Found,
    /// The stretch of the source that matches.
    words: &'a str,
    /// The passage that it stands in.
    around: &'a str,
}

impl Check {
    fn find<'a>(&mut self, quote: &Quote, source: &'a Source) -> Result<Hit<'a>, String> {
        let id = source.id;
        let shown = clipped(quote.quote.trim(), MAX_SHOWN_CHARS);
        let normal = normalised(&quote.quote);
        let bare = bare(normal.text());
        let least = if normal::is_cjk(bare) { MIN_CJK_QUOTE_CHARS } else { MIN_QUOTE_CHARS };
        let length = bare.chars().count();
        if length < least {
            return Err(format!("The quote of {id} has {length} characters and needs {least}: \"{shown}\"."));
        }
        let texts = [(Found::Page, source.text.as_deref()), (Found::Snippet, Some(source.snippet.as_str()))];
        let texts = texts.map(|(found, text)| (found, text.unwrap_or_default()));
        for (found, text) in texts {
            let page = self.page(id, found, text);
            if let Some(matched) = matching::exact(bare, page) {
                return Ok(hit(found, text, page.original(matched)));
            }
        }
        // Two stretches with an ellipsis between them could say anything.
        if bare.contains("...") {
            return Err(format!(
                "The quote of {id} leaves words out (…); it must be one contiguous stretch: \"{shown}\"."
            ));
        }
        let mut changed = None;
        for (found, text) in texts {
            let page = self.page(id, found, text);
            let Some(matched) = matching::near(bare, page) else {
                continue;
            };
            let hit = hit(found, text, page.original(matched));
            let mut figures = Figures::default();
            figures.add(hit.words);
            match figures.missing(&quote.quote, &[]).into_iter().next() {
                None => return Ok(hit),
                Some(figure) => changed = Some(figure),
            }
        }
        Err(match changed {
            Some(figure) => {
                format!("The quote of {id} has the figure {figure}, the source has not: \"{shown}\".")
            }
            None => format!("The quote of {id} is not in its text: \"{shown}\"."),
        })
    }

    fn page(&mut self, id: SourceId, found: Found, text: &str) -> &Normalised {
        self.pages.entry((id, found)).or_insert_with(|| normalised(text))
    }
}

fn hit(found: Found, text: &str, stretch: Range<usize>) -> Hit<'_> {
    Hit { found, words: &text[stretch.clone()], around: around(text, stretch) }
}

/// The sentences of a passage that a stretch of it stands in, with the one before where there is room for it.
fn sentences(around: &str, words: &str) -> String {
    let Some(start) = around.find(words) else { return clipped(words, MAX_PASSAGE_CHARS) };
    let end = start + words.len();
    let ends: Vec<usize> = sentence_ends(around);
    let from = |before: usize| ends.iter().copied().filter(|at| *at <= before).max().unwrap_or(0);
    let own = from(start);
    let to = ends.iter().copied().find(|at| *at >= end).unwrap_or(around.len());
    let earlier = if own == 0 { 0 } else { from(own - 1) };
    let chosen = [earlier, own].into_iter().map(|from| around[from..to].trim());
    let fits = |text: &&str| text.chars().count() <= MAX_PASSAGE_CHARS;
    chosen.into_iter().find(fits).map_or_else(|| clipped(words, MAX_PASSAGE_CHARS), str::to_owned)
}

/// Where sentences end: behind a full stop that is followed by a space, behind its East Asian forms, at line breaks that
/// a list or a table makes.
fn sentence_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    for (at, letter) in text.char_indices() {
        let next = at + letter.len_utf8();
        let is_end = match letter {
            '.' | '!' | '?' => text[next..].starts_with([' ', '\n']),
            '。' | '！' | '？' => true,
            _ => false,
        };
        if is_end {
            ends.push(next);
        }
    }
    ends
}

/// The quote without the marks and ellipses that models put around it.
fn bare(quote: &str) -> &str {
    let mut bare = quote;
    loop {
        let shorter = bare.trim_matches([' ', '"', '\'']);
        let shorter =
            shorter.strip_prefix("...").or_else(|| shorter.strip_prefix("[...]")).unwrap_or(shorter);
        let shorter =
            shorter.strip_suffix("...").or_else(|| shorter.strip_suffix("[...]")).unwrap_or(shorter);
        if shorter == bare {
            return bare;
        }
        bare = shorter;
    }
}

/// The paragraphs that a stretch of a text stands in, bounded.
fn around(text: &str, stretch: Range<usize>) -> &str {
    let before = &text[..stretch.start];
    let reach = before.char_indices().rev().nth(MAX_AROUND_CHARS - 1).map_or(0, |(at, _)| at);
    let start = paragraph_break(&before[reach..], true).map_or(reach, |at| reach + at);
    let after = &text[stretch.end..];
    let reach = after.char_indices().nth(MAX_AROUND_CHARS).map_or(after.len(), |(at, _)| at);
    let end = paragraph_break(&after[..reach], false).unwrap_or(reach);
    &text[start..stretch.end + end]
}

/// The end of the last blank line, or the start of the first.
fn paragraph_break(text: &str, is_last: bool) -> Option<usize> {
    let mut breaks = text.match_indices('\n').filter_map(|(at, _)| {
        let rest = &text[at + 1..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\u{A0}', '\u{3000}']).len();
        rest[blank..].starts_with('\n').then_some((at, at + 1 + blank + 1))
    });
    if is_last { breaks.next_back().map(|(_, end)| end) } else { breaks.next().map(|(start, _)| start) }
}

#[cfg(test)]
mod tests;

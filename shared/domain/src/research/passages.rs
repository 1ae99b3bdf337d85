//! The paragraphs of a long page that matter for an assignment.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::grounding::is_han_or_kana;

/// Stands on a line of its own where paragraphs were left out.
const GAP: &str = "[…]";
/// A longer paragraph is taken apart at its lines, sentences or words.
const MAX_PARAGRAPH_CHARS: usize = 800;
/// BM25 as it is commonly set: how soon a word's count stops to matter, and how much length does.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;

/// A contiguous stretch of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its words, as they stand there.
    pub text: String,
    /// The byte of the text where it starts.
    pub start: usize,
}

/// The paragraphs that have most of the wanted words, in the order of the text and with those next to each other in one
/// passage; the whole text where it fits. `budget_chars` holds for what `joined` makes of them. Words are compared
/// without case and the `s` of a plural, Chinese and Japanese by pairs of characters. What the wanted words leave of
/// the budget goes to the paragraphs around those that have them, or to the beginning of the text.
pub fn best_passages(text: &str, wanted: &str, budget_chars: usize) -> Vec<Passage> {
    if text.chars().nth(budget_chars).is_none() {
        return vec![Passage { text: text.to_owned(), start: 0 }];
    }
    let paragraphs = paragraphs(text, MAX_PARAGRAPH_CHARS.min(budget_chars).max(1));
    let scores = scores(text, &paragraphs, wanted);
    let mut order: Vec<usize> = (0..paragraphs.len()).collect();
    order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(one.cmp(other)));
    let hits = scores.iter().filter(|score| **score > 0.0).count();
    let (best, rest) = order.split_at_mut(hits);
    let mut chosen = BTreeSet::new();
    // A mark before each passage, and one at the end.
    let mark = GAP.chars().count() + 2;
    let mut left = budget_chars.saturating_sub(mark);
    let mut choose = |index: usize, chosen: &mut BTreeSet<usize>| {
        let cost = text[paragraphs[index].clone()].chars().count() + mark;
        if cost <= left {
            left -= cost;
            chosen.insert(index);
        }
    };
    for index in best.iter() {
        choose(*index, &mut chosen);
    }
    let distance = |index: &usize| chosen.iter().map(|hit| hit.abs_diff(*index)).min().unwrap_or(*index);
    rest.sort_by_key(|index| (distance(index), *index));
    for index in rest.iter() {
        choose(*index, &mut chosen);
    }
    merged(text, &paragraphs, &chosen)
}

/// Passages of a text as an agent reads them: with a mark on a line of its own wherever something was left out.
pub fn joined(text: &str, passages: &[Passage]) -> String {
    let mut made = String::new();
    let mut end = 0;
    for passage in passages {
        let is_gap = !text.get(end..passage.start).unwrap_or_default().trim().is_empty();
        match (made.is_empty(), is_gap) {
            (true, true) => made.push_str(&format!("{GAP}\n")),
            (false, true) => made.push_str(&format!("\n{GAP}\n")),
            (false, false) => made.push('\n'),
            (true, false) => {}
        }
        made.push_str(&passage.text);
        end = passage.start + passage.text.len();
    }
    if !text.get(end..).unwrap_or_default().trim().is_empty() {
        made.push_str(&format!("\n{GAP}"));
    }
    made
}

fn merged(text: &str, paragraphs: &[Range<usize>], chosen: &BTreeSet<usize>) -> Vec<Passage> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for paragraph in chosen.iter().map(|index| &paragraphs[*index]) {
        match ranges.last_mut() {
            // Only a little white space is between the two, no other paragraph and no mark's worth of lines.
            Some(range)
                if paragraph.start - range.end <= 4 && text[range.end..paragraph.start].trim().is_empty() =>
            {
                range.end = paragraph.end;
            }
            _ => ranges.push(paragraph.clone()),
        }
    }
    ranges
        .into_iter()
        .map(|range| Passage { text: text[range.clone()].to_owned(), start: range.start })
        .collect()
}

/// Stretches between blank lines, without the white space around them; long ones in pieces.
fn paragraphs(text: &str, max_chars: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            split_into(text, start..end, max_chars, &mut found);
            start = end + line.len();
        }
        end += line.len();
    }
    split_into(text, start..end, max_chars, &mut found);
    found
}

fn split_into(text: &str, range: Range<usize>, max_chars: usize, found: &mut Vec<Range<usize>>) {
    let mut range = trimmed(text, range);
    while !range.is_empty() {
        let rest = &text[range.clone()];
        let Some((limit, _)) = rest.char_indices().nth(max_chars) else {
            found.push(range);
            return;
        };
        let head = &rest[..limit];
        let after = |at: Option<usize>| {
            at.and_then(|at| head[at..].chars().next().map(|char| at + char.len_utf8()))
                .filter(|at| *at > limit / 3)
        };
        let cut = after(head.rfind('\n'))
            .or_else(|| after(head.rfind(['.', '!', '?', '。', '！', '？'])))
            .or_else(|| after(head.rfind(char::is_whitespace)))
            .unwrap_or(limit);
        let piece = trimmed(text, range.start..range.start + cut);
        if !piece.is_empty() {
            found.push(piece);
        }
        range = trimmed(text, range.start + cut..range.end);
    }
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let whole = &text[range.clone()];
    let start = range.start + whole.len() - whole.trim_start().len();
    start..start + whole.trim().len()
}

/// How well each paragraph answers to the wanted words (Okapi BM25).
fn scores(text: &str, paragraphs: &[Range<usize>], wanted: &str) -> Vec<f64> {
    let wanted: BTreeSet<String> = terms(wanted).into_iter().collect();
    let counts: Vec<(BTreeMap<String, f64>, f64)> = paragraphs
        .iter()
        .map(|range| {
            let terms = terms(&text[range.clone()]);
            let length = terms.len() as f64;
            let mut counts = BTreeMap::new();
            for term in terms.into_iter().filter(|term| wanted.contains(term)) {
                *counts.entry(term).or_insert(0.0) += 1.0;
            }
            (counts, length)
        })
        .collect();
    let all = counts.len() as f64;
    let mean = (counts.iter().map(|(_, length)| length).sum::<f64>() / all.max(1.0)).max(1.0);
    let rarity: BTreeMap<&String, f64> = wanted
        .iter()
        .map(|term| {
            let having = counts.iter().filter(|(counts, _)| counts.contains_key(term)).count() as f64;
            (term, (1.0 + (all - having + 0.5) / (having + 0.5)).ln())
        })
        .collect();
    let score = |(counts, length): &(BTreeMap<String, f64>, f64)| {
        let weight = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / mean);
        counts.iter().map(|(term, count)| rarity[term] * count * (SATURATION + 1.0) / (count + weight)).sum()
    };
    counts.iter().map(score).collect()
}

/// Words in the form they are compared in; pairs of characters where there are no spaces.
fn terms(text: &str) -> Vec<String> {
    let folded = caseless::default_case_fold_str(&text.nfkc().collect::<String>());
    let mut terms = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    for char in folded.chars().chain([' ']) {
        let is_unspaced = is_han_or_kana(char) && char.is_alphanumeric();
        if !is_unspaced && char.is_alphanumeric() {
            word.push(char);
        } else if !word.is_empty() {
            terms.push(stem(std::mem::take(&mut word)));
        }
        if let (true, Some(previous)) = (is_unspaced, previous) {
            terms.push(String::from_iter([previous, char]));
        }
        previous = is_unspaced.then_some(char);
    }
    terms
}

fn stem(word: String) -> String {
    match word.strip_suffix('s') {
        Some(bare) if bare.chars().count() > 2 && !bare.ends_with('s') => bare.to_owned(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page() -> String {
        let filler = |name: &str| format!("{name} has beaches, boats and a market. It rains in summer.");
        [
            filler("Nassau"),
            "Visitor bundles for Pilates cost 150 to 180 dollars.".to_owned(),
            "Towels are included in every bundle.".to_owned(),
            filler("Freeport"),
            filler("Andros"),
            "Residents pay less for a Pilates class.".to_owned(),
            filler("Exuma"),
        ]
        .join("\n\n")
    }

    #[test]
    fn what_fits_stays_whole() {
        let page = page();
        let whole = best_passages(&page, "pilates", page.chars().count());
        assert_eq!(whole, [Passage { text: page.clone(), start: 0 }]);
        assert_eq!(joined(&page, &whole), page);
    }

    #[test]
    fn the_wanted_words_come_first_and_in_the_order_of_the_page() {
        let page = page();
        let best = best_passages(&page, "What do BUNDLES of visitors cost?", 130);
        assert_eq!(
            joined(&page, &best),
            "[…]\nVisitor bundles for Pilates cost 150 to 180 dollars.\n\nTowels are included in every bundle.\n[…]"
        );
        let best = best_passages(&page, "pilates", 130);
        assert_eq!(
            joined(&page, &best),
            "[…]\nVisitor bundles for Pilates cost 150 to 180 dollars.\n[…]\nResidents pay less for a Pilates class.\n[…]"
        );
    }

    #[test]
    fn without_any_wanted_word_it_is_the_beginning() {
        let page = page();
        let best = best_passages(&page, "submarine", 80);
        assert_eq!(best.len(), 1);
        assert!(best[0].text.starts_with("Nassau has"), "{best:?}");
    }

    #[test]
    fn japanese_is_found_by_pairs_of_characters() {
        let page = "天気は晴れです。海がきれいです。\n\n観光客向けの料金は一万五千円です。\n\n島には市場があります。";
        let best = best_passages(page, "観光客の料金を調べる", 30);
        assert_eq!(best.len(), 1);
        assert_eq!(best[0].text, "観光客向けの料金は一万五千円です。");
        assert_eq!(&page[best[0].start..][..best[0].text.len()], best[0].text);
    }

    #[test]
    fn a_page_of_one_paragraph_is_taken_apart() {
        let page = format!(
            "{}The price is 42 dollars. {}",
            "Nothing to see here. ".repeat(200),
            "More of it. ".repeat(200)
        );
        let best = best_passages(&page, "price dollars", 900);
        assert!(best.iter().any(|passage| passage.text.contains("42 dollars")), "{best:?}");
        assert!(joined(&page, &best).chars().count() <= 900);
    }

    proptest! {
        #[test]
        fn passages_are_stretches_of_the_text_within_the_budget(
            text in "([a-c]{1,4}[ .]|日本|é|\\n|\\n\\n){0,80}", budget in 10usize..120,
        ) {
            let passages = best_passages(&text, "a bc 日本", budget);
            let mut end = 0;
            for passage in &passages {
                prop_assert!(passage.start >= end);
                prop_assert!(text[passage.start..].starts_with(&passage.text));
                end = passage.start + passage.text.len();
            }
            prop_assert!(joined(&text, &passages).chars().count() <= budget.max(1), "{:?}", passages);
            prop_assert_eq!(passages, best_passages(&text, "a bc 日本", budget));
        }
    }
}

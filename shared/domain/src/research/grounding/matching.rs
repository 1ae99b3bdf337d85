//! Where a quote stands in a text: word by word, or as one contiguous stretch that is nearly the same.
//!
//! The near match is complete and linear. A stretch with at most `k` edits holds one of any `k + 1` pieces of the quote
//! unchanged; around the places of those pieces, Myers' bit-parallel search (J. ACM 46(3), 1999) finds the least number
//! of edits. At worst that is the whole text once, for each 64 characters of the quote.

use std::collections::HashMap;
use std::ops::Range;

use super::Normalised;

/// A near match has at most this many edits in 100 characters, which makes it 0.92 or better.
const EDITS_PER_HUNDRED: usize = 8;
/// Longer quotes are looked for word by word only; agents are asked for 300 characters at most.
const MAX_NEAR_CHARS: usize = 1024;

/// Where the quote stands word by word, in characters of the normal form.
pub(super) fn exact(quote: &str, text: &Normalised) -> Option<Range<usize>> {
    let byte = text.text().find(quote).filter(|_| !quote.is_empty())?;
    let start = text.char_at(byte);
    Some(start..start + quote.chars().count())
}

/// The stretch with the fewest edits, if it is near enough; the first of several.
pub(super) fn near(quote: &str, text: &Normalised) -> Option<Range<usize>> {
    let pattern: Vec<char> = quote.chars().collect();
    if pattern.is_empty() || pattern.len() > MAX_NEAR_CHARS {
        return None;
    }
    // The stretch may be longer than the quote, and the ratio is over the longer of the two.
    let max_edits = pattern.len() * EDITS_PER_HUNDRED / (100 - EDITS_PER_HUNDRED);
    let mut best: Option<(usize, usize)> = None;
    let regions = regions(&pattern, text, max_edits);
    if regions.is_empty() {
        return None;
    }
    let chars: Vec<char> = text.text().chars().collect();
    let mut search = Search::new(&pattern);
    for region in regions {
        search.restart();
        for end in region {
            let edits = search.step(chars[end]);
            if edits <= max_edits && best.is_none_or(|(least, _)| edits < least) {
                best = Some((edits, end + 1));
            }
        }
    }
    let (edits, end) = best?;
    let length = length_back(&pattern, &chars[..end], edits)?;
    let is_near = edits * 100 <= EDITS_PER_HUNDRED * pattern.len().max(length);
    is_near.then(|| end - length..end)
}

/// Where a near stretch can lie at all; in order, not overlapping.
fn regions(pattern: &[char], text: &Normalised, max_edits: usize) -> Vec<Range<usize>> {
    let pieces = max_edits + 1;
    let mut found = Vec::new();
    for piece in 0..pieces {
        let (from, to) = (piece * pattern.len() / pieces, (piece + 1) * pattern.len() / pieces);
        let words: String = pattern[from..to].iter().collect();
        for (byte, _) in text.text().match_indices(&words) {
            let at = text.char_at(byte);
            let end = (at + pattern.len() - from + max_edits).min(text.char_count());
            found.push(at.saturating_sub(from + max_edits)..end);
        }
    }
    found.sort_by_key(|region| region.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for region in found {
        match merged.last_mut() {
            Some(last) if region.start <= last.end => last.end = last.end.max(region.end),
            _ => merged.push(region),
        }
    }
    merged
}

/// How long the stretch is that ends here with so many edits; the length nearest to the quote's.
fn length_back(pattern: &[char], text: &[char], edits: usize) -> Option<usize> {
    let window = pattern.len() + edits;
    let mut row: Vec<usize> = (0..=pattern.len()).collect();
    let mut best: Option<usize> = None;
    for (length, char) in text.iter().rev().take(window).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], length + 1);
        for (at, wanted) in pattern.iter().rev().enumerate() {
            let substituted = diagonal + usize::from(wanted != char);
            diagonal = row[at + 1];
            row[at + 1] = substituted.min(row[at] + 1).min(diagonal + 1);
        }
        let is_better = |old: usize| (length + 1).abs_diff(pattern.len()) < old.abs_diff(pattern.len());
        if row[pattern.len()] == edits && best.is_none_or(is_better) {
            best = Some(length + 1);
        }
    }
    best
}

/// Least edits between the pattern and any stretch that ends at the last character seen.
struct Search {
    /// For each character of the pattern the places where it stands, 64 in a block.
    places: HashMap<char, Vec<u64>>,
    nowhere: Vec<u64>,
    plus: Vec<u64>,
    minus: Vec<u64>,
    length: usize,
    edits: usize,
}

impl Search {
    fn new(pattern: &[char]) -> Self {
        let blocks = pattern.len().div_ceil(64);
        let mut places: HashMap<char, Vec<u64>> = HashMap::new();
        for (at, char) in pattern.iter().enumerate() {
            places.entry(*char).or_insert_with(|| vec![0; blocks])[at / 64] |= 1 << (at % 64);
        }
        Self {
            places,
            nowhere: vec![0; blocks],
            plus: vec![u64::MAX; blocks],
            minus: vec![0; blocks],
            length: pattern.len(),
            edits: pattern.len(),
        }
    }

    fn restart(&mut self) {
        self.plus.fill(u64::MAX);
        self.minus.fill(0);
        self.edits = self.length;
    }

    fn step(&mut self, char: char) -> usize {
        let places = self.places.get(&char).unwrap_or(&self.nowhere);
        let last = self.plus.len() - 1;
        let last_bit = 1u64 << ((self.length - 1) % 64);
        // What the row above the block changes by, as two bits; nothing above the first: a match may start anywhere.
        let (mut up, mut down) = (0u64, 0u64);
        for (block, &places) in places.iter().enumerate() {
            let (plus, minus) = (self.plus[block], self.minus[block]);
            let vertical = places | minus;
            let equal = places | down;
            let horizontal = (((equal & plus).wrapping_add(plus)) ^ plus) | equal;
            let mut rises = minus | !(horizontal | plus);
            let mut falls = plus & horizontal;
            if block == last {
                self.edits += usize::from(rises & last_bit != 0);
                self.edits -= usize::from(falls & last_bit != 0);
            }
            let (next_up, next_down) = (rises >> 63, falls >> 63);
            rises = (rises << 1) | up;
            falls = (falls << 1) | down;
            self.plus[block] = falls | !(vertical | rises);
            self.minus[block] = rises & vertical;
            (up, down) = (next_up, next_down);
        }
        self.edits
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::normalised;
    use super::*;

    const PAGE: &str = "Opening hours vary. A bundle of five visitor classes costs between 150 and 180 dollars in the \
                        high season, towels included. Residents pay less than half of that.";

    fn near_in(quote: &str, text: &str) -> Option<String> {
        let text = normalised(text);
        near(normalised(quote).text(), &text)
            .map(|found| text.text().chars().collect::<Vec<_>>()[found].iter().collect())
    }

    #[test]
    fn a_few_slips_are_near_and_more_are_not() {
        let slip = "A bundle of five visitors classes costs betwen 150 and 180 dollars in the high season";
        let stretch = "a bundle of five visitor classes costs between 150 and 180 dollars in the high season";
        assert_eq!(near_in(slip, PAGE).as_deref(), Some(stretch));
        let other = "A package of five visitor lessons costs around 150 to 180 dollars in the high season";
        assert_eq!(near_in(other, PAGE), None);
        assert_eq!(near_in("words that stand nowhere in the page at all", PAGE), None);
        assert_eq!(near_in("", PAGE), None);
    }

    #[test]
    fn two_stretches_far_apart_are_not_one() {
        let glued = "Opening hours vary. Residents pay less than half of that.";
        assert_eq!(near_in(glued, PAGE), None);
    }

    #[test]
    fn the_limit_is_eight_in_a_hundred() {
        let text: String = ('a'..='z').cycle().take(100).collect();
        let with_edits = |count: usize| -> String {
            text.chars()
                .enumerate()
                .map(|(at, char)| if at % 12 == 5 && at / 12 < count { '#' } else { char })
                .collect()
        };
        assert!(near_in(&with_edits(8), &text).is_some());
        // One more is 0.91.
        let nine = with_edits(8).replacen("a", "#", 1);
        assert_eq!(near_in(&nine, &text), None);
    }

    /// The definition, without any cleverness.
    fn least_edits(pattern: &[char], text: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=pattern.len()).collect();
        let mut least = pattern.len();
        for char in text {
            let mut diagonal = row[0];
            for (at, wanted) in pattern.iter().enumerate() {
                let next = (diagonal + usize::from(wanted != char)).min(row[at] + 1).min(row[at + 1] + 1);
                diagonal = std::mem::replace(&mut row[at + 1], next);
            }
            least = least.min(row[pattern.len()]);
        }
        least
    }

    proptest! {
        #[test]
        fn the_search_counts_as_the_definition_does(pattern in "[ab]{1,150}", text in "[ab]{0,200}") {
            let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            let mut search = Search::new(&pattern);
            let least = text.iter().map(|char| search.step(*char)).min().unwrap_or(pattern.len()).min(pattern.len());
            prop_assert_eq!(least, least_edits(&pattern, &text));
        }

        #[test]
        fn nothing_near_is_missed(
            words in proptest::collection::vec("[a-e]{1,6}", 20..60), from in 0usize..10, edits in 0usize..4,
            places in proptest::collection::vec(0usize..400, 4),
        ) {
            let text = words.join(" ");
            let stretch = words[from..from + 10].join(" ");
            let mut quote: Vec<char> = stretch.chars().collect();
            for place in places.iter().take(edits) {
                let at = place % quote.len();
                quote[at] = 'z';
            }
            let quote: String = quote.into_iter().collect();
            let near_enough = edits * 100 <= 8 * quote.chars().count();
            prop_assert_eq!(near_in(&quote, &text).is_some() || !near_enough, true, "{} in {}", quote, text);
        }
    }
}

//! Which sentences answer an assignment.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Sentence, SourceBlock};
use super::words::{figures, is_year, names, terms};

/// Findings of one report at most.
const MOST: usize = 4;
/// Share of the wanted words' weight that the best sentence must hold, its page's title and heading counted half.
const ENOUGH: f64 = 0.4;
/// Share of the best sentence's points that one of another source needs.
const NEAR_THE_BEST: f64 = 0.75;
/// Share of the best sentence's points that the words a sentence adds to those chosen before must bring.
const ADDS_ENOUGH: f64 = 0.4;
/// What stands in a heading or a title counts that much.
const CONTEXT: f64 = 0.5;
/// A question for a number is answered by one.
const WITH_FIGURE: f64 = 1.4;

/// What came of looking.
#[derive(Debug)]
pub(super) enum Picked {
    /// Best first.
    Sentences(Vec<Scored>),
    /// No source speaks of these.
    Unknown(Vec<String>),
    /// No sentence holds enough of what is wanted.
    Nothing,
}

/// A sentence with the share of the wanted words that it holds.
#[derive(Debug, Clone)]
pub(super) struct Scored {
    pub(super) sentence: Sentence,
    pub(super) share: f64,
}

struct Candidate {
    sentence: Sentence,
    own: BTreeSet<String>,
    points: f64,
    share: f64,
}

/// The sentences that share most words with a question, with something from each source that knows as much.
pub(super) fn pick(question: &str, blocks: &[SourceBlock]) -> Picked {
    let wanted = terms(question);
    let known: BTreeSet<String> =
        blocks.iter().filter(|block| !block.is_placeholder()).flat_map(all_terms).collect();
    let unknown: Vec<String> = names(question).into_iter().filter(|name| !known.contains(name)).collect();
    if !unknown.is_empty() {
        return Picked::Unknown(unknown);
    }
    let years: Vec<&String> = wanted.iter().filter(|term| is_year(term)).collect();
    let of_the_year = |block: &&SourceBlock| {
        let has = all_terms(block);
        years.iter().all(|year| has.contains(*year))
    };
    let sentences: Vec<Sentence> =
        blocks.iter().filter(of_the_year).flat_map(SourceBlock::sentences).collect();
    let weights = weights(&wanted, &sentences);
    let mut candidates: Vec<Candidate> =
        sentences.into_iter().map(|sentence| candidate(sentence, question, &weights)).collect();
    candidates.sort_by(|one, other| other.points.total_cmp(&one.points));
    match candidates.first() {
        Some(best) if best.share >= ENOUGH && best.own.iter().any(|term| wanted.contains(term)) => {
            Picked::Sentences(chosen(&candidates, &weights))
        }
        _ => Picked::Nothing,
    }
}

fn all_terms(block: &SourceBlock) -> BTreeSet<String> {
    terms(&format!("{}\n{}", block.title, block.text))
}

/// Rare words count more; one that no sentence has counts as the rarest.
#[expect(clippy::cast_precision_loss, reason = "counts of sentences")]
fn weights(wanted: &BTreeSet<String>, sentences: &[Sentence]) -> BTreeMap<String, f64> {
    let having: Vec<BTreeSet<String>> = sentences.iter().map(|sentence| terms(&sentence.text)).collect();
    let all = having.len() as f64;
    let weight = |term: &String| {
        let with = having.iter().filter(|has| has.contains(term)).count().max(1) as f64;
        (1.0 + all / with).ln()
    };
    wanted.iter().map(|term| (term.clone(), weight(term))).collect()
}

fn candidate(sentence: Sentence, question: &str, weights: &BTreeMap<String, f64>) -> Candidate {
    let own: BTreeSet<String> =
        terms(&sentence.text).into_iter().filter(|term| weights.contains_key(term)).collect();
    let around = terms(&sentence.context);
    let all: f64 = weights.values().sum::<f64>().max(f64::MIN_POSITIVE);
    let held: f64 = weights
        .iter()
        .map(|(term, weight)| match (own.contains(term), around.contains(term)) {
            (true, _) => *weight,
            (false, true) => weight * CONTEXT,
            (false, false) => 0.0,
        })
        .sum();
    let has_figure = !figures(&sentence.text).is_empty();
    let points = if has_figure && asks_for_a_number(question) { held * WITH_FIGURE } else { held };
    Candidate { sentence, own, points, share: held / all }
}

fn asks_for_a_number(question: &str) -> bool {
    const WORDS: [&str; 16] = [
        "how many",
        "how much",
        "how long",
        "cost",
        "price",
        "share",
        "fee",
        "figure",
        "number",
        "average",
        "pay",
        "いくら",
        "何人",
        "何%",
        "料金",
        "数",
    ];
    let question = question.to_lowercase();
    WORDS.iter().any(|word| question.contains(word))
}

/// The best one; then those that add wanted words, and the best of each other source that is nearly as good.
fn chosen(candidates: &[Candidate], weights: &BTreeMap<String, f64>) -> Vec<Scored> {
    let best = candidates[0].points;
    let mut chosen: Vec<&Candidate> = Vec::new();
    let mut held: BTreeSet<&String> = BTreeSet::new();
    for candidate in candidates {
        if chosen.len() == MOST || candidate.own.is_empty() {
            break;
        }
        let adds: f64 =
            candidate.own.iter().filter(|term| !held.contains(term)).map(|term| weights[term]).sum();
        let is_other = chosen.iter().all(|one| one.sentence.source != candidate.sentence.source);
        let is_near = is_other && candidate.points >= best * NEAR_THE_BEST;
        let is_double = chosen.iter().any(|one| one.sentence.text == candidate.sentence.text);
        if !is_double && (chosen.is_empty() || is_near || adds >= best * ADDS_ENOUGH) {
            held.extend(&candidate.own);
            chosen.push(candidate);
        }
    }
    chosen.into_iter().map(|one| Scored { sentence: one.sentence.clone(), share: one.share }).collect()
}

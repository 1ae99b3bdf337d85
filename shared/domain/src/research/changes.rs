//! What is different between two results for the same question, found by code.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::machine::count;
use super::{ResearchResult, SourceId, normalised};
use crate::{Millis, TaskId};

/// Two statements are about the same when so much of their words is the same, numbers left out. Whether they say the
/// same, a reader judges: one little word can turn a statement round.
const SAME_WORDS: f64 = 0.6;

/// What changed since an earlier task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The earlier task.
    pub since_task: TaskId,
    /// When the newest of its sources was looked at.
    pub since: Option<Millis>,
    /// Statements that were not there.
    pub new: Vec<String>,
    /// Statements that were there in other words or with other numbers: before, now.
    pub changed: Vec<(String, String)>,
    /// Statements that are gone.
    pub gone: Vec<String>,
    /// Statements that stand word for word as they did.
    pub unchanged: u32,
    /// Sources that were not there.
    pub new_sources: Vec<SourceId>,
    /// Sources whose text is another now.
    pub changed_sources: Vec<SourceId>,
}

/// Compares a result with an earlier one.
pub fn changes(now: &ResearchResult, before: &ResearchResult) -> Changes {
    let mut earlier: Vec<Statement<'_>> = statements(before);
    let mut changes = Changes {
        since_task: before.task.clone(),
        since: before.sources.iter().map(|source| source.at).max(),
        new: Vec::new(),
        changed: Vec::new(),
        gone: Vec::new(),
        unchanged: 0,
        new_sources: Vec::new(),
        changed_sources: Vec::new(),
    };
    let mut later = statements(now);
    // What is word for word the same is taken first, so that nothing similar takes its place.
    later.retain(|statement| match earlier.iter().position(|other| other.key == statement.key) {
        Some(place) => {
            earlier.remove(place);
            changes.unchanged += 1;
            false
        }
        None => true,
    });
    for statement in later {
        let similar = earlier
            .iter()
            .enumerate()
            .map(|(place, other)| (place, statement.likeness(other)))
            .filter(|(_, likeness)| *likeness >= SAME_WORDS)
            .max_by(|one, other| one.1.total_cmp(&other.1));
        match similar {
            None => changes.new.push(statement.text.to_owned()),
            Some((place, _)) => {
                let other = earlier.remove(place);
                changes.changed.push((other.text.to_owned(), statement.text.to_owned()));
            }
        }
    }
    changes.gone = earlier.into_iter().map(|statement| statement.text.to_owned()).collect();
    compare_sources(now, before, &mut changes);
    changes
}

fn compare_sources(now: &ResearchResult, before: &ResearchResult, changes: &mut Changes) {
    for source in &now.sources {
        match before.sources.iter().find(|other| other.url == source.url) {
            None => changes.new_sources.push(source.id),
            Some(other) => {
                let both = other.sha256.as_ref().zip(source.sha256.as_ref());
                if both.is_some_and(|(before, now)| before != now) {
                    changes.changed_sources.push(source.id);
                }
            }
        }
    }
}

struct Statement<'a> {
    text: &'a str,
    key: String,
    words: BTreeSet<String>,
}

/// The statements of the answer; of a result without one, the claims that were found.
fn statements(result: &ResearchResult) -> Vec<Statement<'_>> {
    if result.key_findings.is_empty() {
        result.findings.iter().map(|finding| Statement::of(&finding.grounded.claim)).collect()
    } else {
        result.key_findings.iter().map(|finding| Statement::of(&finding.statement)).collect()
    }
}

impl<'a> Statement<'a> {
    fn of(text: &'a str) -> Self {
        let normal = normalised(text);
        let mut words = BTreeSet::new();
        for word in
            normal.text().split(|letter: char| !letter.is_alphanumeric() && letter != '.' && letter != ',')
        {
            words.extend(pieces(word));
        }
        Self { text, key: normal.text().to_owned(), words }
    }

    /// The share of words that both have, of those that either has.
    fn likeness(&self, other: &Self) -> f64 {
        let both = self.words.intersection(&other.words).count();
        let either = self.words.union(&other.words).count();
        if either == 0 { 0.0 } else { f64::from(count(both)) / f64::from(count(either)) }
    }
}

/// A word without its digits; where words are written without spaces between them, its pairs of letters.
fn pieces(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().filter(|letter| letter.is_alphabetic()).collect();
    let without_spaces = letters.iter().any(|letter| ('\u{3040}'..='\u{9fff}').contains(letter));
    if without_spaces && letters.len() > 1 {
        letters.windows(2).map(|pair| pair.iter().collect()).collect()
    } else if letters.is_empty() {
        Vec::new()
    } else {
        vec![letters.into_iter().collect()]
    }
}

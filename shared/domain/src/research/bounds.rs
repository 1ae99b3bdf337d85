//! Bounds of what agents write: whatever a model says, a task stays small and readable. What is cut has a mark; what is
//! dropped is told among the open questions.

use super::outside::clipped;
use super::{GroundedFinding, GroundedSynthesis};
use crate::contract::research::Assignment;

/// Characters that a title, a description and another text of an agent may have; longer ones are clipped.
pub(super) const MAX_TITLE: usize = 160;
const MAX_DESCRIPTION: usize = 1_200;
pub(super) const MAX_TEXT: usize = 4_000;

/// Findings, open questions, issues and statements of one answer; the contracts ask for fewer.
pub(super) const MAX_ITEMS: usize = 12;

/// Of an answer's open questions and recommendations, to which grounding adds.
const MAX_LIST: usize = 40;

/// Quotes of one finding, and characters of one.
const MAX_QUOTES: usize = 4;
const MAX_QUOTE: usize = 600;

/// A text of an agent, clipped where it is too long.
pub(super) fn within(text: String) -> String {
    if text.chars().count() <= MAX_TEXT { text } else { clipped(&text, MAX_TEXT) }
}

/// A finding whose quotes and notes have bounds: whatever a model writes, a task stays readable.
pub(super) fn finding(grounded: &GroundedFinding) -> GroundedFinding {
    let mut finding = grounded.clone();
    finding.title = clipped(&finding.title, MAX_TITLE);
    finding.claim = clipped(&finding.claim, MAX_DESCRIPTION);
    finding.evidence.truncate(MAX_QUOTES);
    for evidence in &mut finding.evidence {
        evidence.quote = clipped(&evidence.quote, MAX_QUOTE);
    }
    finding.notes.truncate(MAX_ITEMS);
    finding
}

/// An answer whose lists and texts have bounds.
pub(super) fn answer(synthesis: &GroundedSynthesis) -> GroundedSynthesis {
    let mut answer = synthesis.clone();
    let dropped = answer.key_findings.len().saturating_sub(MAX_ITEMS);
    answer.key_findings.truncate(MAX_ITEMS);
    for finding in &mut answer.key_findings {
        finding.statement = clipped(&finding.statement, MAX_DESCRIPTION);
        finding.notes.truncate(MAX_ITEMS);
    }
    for list in [&mut answer.uncertainties, &mut answer.recommendations] {
        list.truncate(MAX_LIST);
        list.iter_mut().for_each(|text| *text = clipped(text, MAX_DESCRIPTION));
    }
    if dropped > 0 {
        answer
            .uncertainties
            .push(format!("{dropped} further statements were dropped: an answer may have {MAX_ITEMS}."));
    }
    answer.summary = clipped(&answer.summary, MAX_TEXT);
    answer.conclusion = clipped(&answer.conclusion, MAX_TEXT);
    answer
}

/// An assignment on one line and a few.
pub(super) fn assignment(assignment: &Assignment) -> Assignment {
    Assignment {
        title: clipped(&one_line(&assignment.title), MAX_TITLE),
        description: clipped(assignment.description.trim(), MAX_DESCRIPTION),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::research::Confidence;
    use crate::research::{Evidence, Found, GroundedKeyFinding, Level, SourceId};

    #[test]
    fn a_bloated_answer_is_cut_and_says_so() {
        let statement = GroundedKeyFinding {
            statement: "long ".repeat(1_000),
            sources: Vec::new(),
            level: Level::G3,
            confidence: Confidence::Low,
            notes: vec![String::new(); 100],
        };
        let bloated = GroundedSynthesis {
            summary: "s".repeat(90_000),
            key_findings: vec![statement; 30],
            uncertainties: vec!["u".repeat(5_000); 900],
            recommendations: Vec::new(),
            conclusion: String::new(),
            confidence: Confidence::Low,
        };
        let kept = answer(&bloated);
        assert_eq!((kept.key_findings.len(), kept.uncertainties.len()), (MAX_ITEMS, MAX_LIST + 1));
        assert!(kept.uncertainties[MAX_LIST].starts_with("18 further statements were dropped"));
        assert!(kept.summary.chars().count() <= MAX_TEXT && kept.summary.ends_with("[…]"));
        assert!(kept.key_findings.iter().all(|finding| finding.statement.chars().count() <= MAX_DESCRIPTION));
    }

    #[test]
    fn a_bloated_finding_keeps_its_first_quotes() {
        let evidence = Evidence {
            source: SourceId(1),
            quote: "q".repeat(9_000),
            found: Found::Nowhere,
            passage: None,
            sentences: None,
        };
        let bloated = GroundedFinding {
            title: "t".repeat(900),
            claim: "c".repeat(9_000),
            confidence: Confidence::Low,
            stated_confidence: Confidence::High,
            level: Level::G1,
            evidence: vec![evidence; 50],
            notes: vec!["n".to_owned(); 50],
            is_demo: false,
        };
        let kept = finding(&bloated);
        assert_eq!((kept.evidence.len(), kept.notes.len()), (MAX_QUOTES, MAX_ITEMS));
        assert!(kept.evidence.iter().all(|one| one.quote.chars().count() <= MAX_QUOTE));
        assert!(kept.title.chars().count() <= MAX_TITLE);
    }
}

//! One question: what the team answered, and what of it holds.

use nightforge_api::TaskView;
use nightforge_domain::Status;
use nightforge_domain::research::{Finding, Found, Level, Outcome, ResearchResult};
use nightforge_sources::{Category, Question};
use serde::Serialize;

/// How an answer says that there is none. Compared as answers are: in lower case, white space made single.
const ABSTAINING: [&str; 22] = [
    "no evidence",
    "no information",
    "no data",
    "no source",
    "not found",
    "not available",
    "not stated",
    "not mentioned",
    "not documented",
    "not specified",
    "not provided",
    "does not say",
    "do not say",
    "does not state",
    "do not state",
    "cannot be determined",
    "can't be determined",
    "could not be determined",
    "insufficient",
    "unanswered",
    "見つかりません",
    "情報がありません",
];

/// How the notes of a finding say that one of its citations named no source.
const DROPPED: &str = "the citation was dropped";

/// How they say that a number of the claim is in no cited passage.
const FIGURE_MISSING: &str = "The figure ";

/// One question, scored.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Scored {
    pub(crate) id: String,
    pub(crate) category: Category,
    pub(crate) question: String,
    pub(crate) state: Status,
    pub(crate) outcome: Option<Outcome>,
    /// An answerable question: it holds what was expected. An unanswerable one: the team abstained.
    pub(crate) right: bool,
    /// No answer was given, or one that says that there is none.
    pub(crate) abstained: bool,
    /// What it holds although no answer may.
    pub(crate) forbidden: Vec<String>,
    pub(crate) quotes: Quotes,
    pub(crate) numbers: Numbers,
    pub(crate) agent_calls: u32,
    pub(crate) model_calls: u64,
    pub(crate) tokens: u64,
    pub(crate) working_ms: i64,
    /// The conclusion, or the summary where there is none.
    pub(crate) answer: String,
}

/// What became of the quotes that findings rest on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Quotes {
    /// As the model gave them, those without a source included.
    pub(crate) offered: usize,
    /// With a source.
    pub(crate) kept: usize,
    /// Found in that source.
    pub(crate) found: usize,
}

/// Claims with numbers in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Numbers {
    pub(crate) claims: usize,
    /// Whose numbers stand in a cited passage.
    pub(crate) supported: usize,
}

/// Scores one question. `result` is missing where the task left none.
pub(crate) fn score(question: &Question, task: &TaskView, result: Option<&ResearchResult>) -> Scored {
    let text = result.map(whole_answer).unwrap_or_default();
    let abstained = result.is_none_or(abstains);
    let right = match question.category {
        Category::Unanswerable => abstained,
        _ => question.is_met_by(&text),
    };
    let findings = result.map(|result| result.findings.as_slice()).unwrap_or_default();
    Scored {
        id: question.id.clone(),
        category: question.category,
        question: question.question.clone(),
        state: task.state,
        outcome: result.map(|result| result.outcome),
        right,
        abstained,
        forbidden: question.forbidden_in(&text).into_iter().map(str::to_owned).collect(),
        quotes: quotes(findings),
        numbers: numbers(findings),
        agent_calls: task.research.as_ref().map_or(0, |research| research.agent_calls),
        model_calls: task.spent.model_calls,
        tokens: task.spent.prompt_tokens + task.spent.completion_tokens,
        working_ms: task.research.as_ref().map_or(0, |research| research.working_ms),
        answer: result.map(short_answer).unwrap_or_default(),
    }
}

/// Everything that a reader would take for the answer.
fn whole_answer(result: &ResearchResult) -> String {
    let mut parts = vec![result.summary.clone()];
    parts.extend(result.conclusion.clone());
    parts.extend(result.key_findings.iter().map(|finding| finding.statement.clone()));
    parts.extend(result.recommendations.iter().cloned());
    parts.join("\n")
}

fn short_answer(result: &ResearchResult) -> String {
    result.conclusion.clone().unwrap_or_else(|| result.summary.clone())
}

/// Whether nothing was answered: no answer was written, nothing verified carries it, or its conclusion says so.
fn abstains(result: &ResearchResult) -> bool {
    let Some(conclusion) = &result.conclusion else { return true };
    result.outcome != Outcome::Answered
        || result.key_findings.iter().all(|finding| finding.level < Level::G2)
        || ABSTAINING.iter().any(|words| Question::occurs(words, conclusion))
}

fn quotes(findings: &[Finding]) -> Quotes {
    let mut quotes = Quotes::default();
    for finding in findings {
        let evidence = &finding.grounded.evidence;
        let dropped = finding.grounded.notes.iter().filter(|note| note.contains(DROPPED)).count();
        quotes.offered += evidence.len() + dropped;
        quotes.kept += evidence.len();
        quotes.found += evidence.iter().filter(|evidence| evidence.found != Found::Nowhere).count();
    }
    quotes
}

fn numbers(findings: &[Finding]) -> Numbers {
    let with_numbers = findings.iter().filter(|finding| finding.grounded.claim.chars().any(char::is_numeric));
    let mut numbers = Numbers::default();
    for finding in with_numbers {
        let missing = finding.grounded.notes.iter().any(|note| note.starts_with(FIGURE_MISSING));
        numbers.claims += 1;
        numbers.supported += usize::from(!missing && finding.grounded.level >= Level::G2);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use nightforge_domain::Millis;
    use nightforge_domain::contract::research::{Confidence, Quote, ReportedFinding};
    use nightforge_domain::research::{FindingId, Source, SourceId, SourceStatus, ground};

    use super::*;

    fn source() -> Source {
        Source {
            id: SourceId(1),
            url: "demo://a".into(),
            title: "Prices".into(),
            snippet: String::new(),
            text: Some("A single drop-in reformer class costs 38 dollars at the harbour.".into()),
            sha256: None,
            tool: "demo".into(),
            is_demo: true,
            status: SourceStatus::Read,
            note: None,
            published: None,
            at: Millis(0),
        }
    }

    /// As the worker grounds it: the wording of the notes is what the scores rest on.
    fn finding(claim: &str, quotes: &[(&str, &str)]) -> Finding {
        let quote = |(id, quote): &(&str, &str)| Quote { source_id: (*id).into(), quote: (*quote).into() };
        let reported = ReportedFinding {
            title: "Price".into(),
            claim: claim.into(),
            confidence: Confidence::High,
            evidence: quotes.iter().map(quote).collect(),
        };
        Finding {
            id: FindingId::new(1, 1),
            subtask: 1,
            grounded: ground(&reported, &[source()]),
            reviewed_in: None,
            verdict: None,
            verdict_note: None,
        }
    }

    #[test]
    fn quotes_are_counted_as_offered_kept_and_found() {
        let good = ("S1", "A single drop-in reformer class costs 38 dollars");
        let findings = [
            finding("A class costs 38 dollars.", &[good]),
            finding(
                "A class costs 38 dollars.",
                &[good, ("S9", "A single drop-in reformer class"), ("x", "y")],
            ),
            finding("Classes are free of charge.", &[("S1", "All of the classes are free of any charge")]),
        ];
        assert_eq!(quotes(&findings), Quotes { offered: 5, kept: 3, found: 2 });
    }

    #[test]
    fn numbers_are_supported_where_a_cited_passage_holds_them() {
        let good = ("S1", "A single drop-in reformer class costs 38 dollars");
        let findings = [
            finding("A class costs 38 dollars.", &[good]),
            finding("A class costs 99 dollars.", &[good]),
            finding("A class costs money.", &[good]),
        ];
        assert_eq!(numbers(&findings), Numbers { claims: 2, supported: 1 });
    }
}

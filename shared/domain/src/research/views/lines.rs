//! The parts that views share: findings, reviews, assignments and messages, each as a line or a few.

use serde::{Deserialize, Serialize};

use super::fit::{LINE, Shown};
use super::text::{forms, line};
use crate::Limits;
use crate::contract::research::{Assignment, Confidence, Issue, IssueKind, ReviewDecision, Severity};
use crate::research::{
    Finding, FindingId, Level, Message, MessageType, Party, RESERVED_CALLS, Research, Review, SourceId,
    Subtask, SubtaskStatus, title_key,
};

/// Of a title, in bytes: 160 Latin characters, 53 Japanese ones.
pub(super) const TITLE_BYTES: usize = 160;

/// A finding in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingLine {
    /// Its id.
    pub id: FindingId,
    /// How well its evidence was found.
    pub level: Level,
    /// What it may claim.
    pub confidence: Confidence,
    /// Where it stands with the Critic: `unreviewed`, `reviewed` or `reviewed: weak`.
    pub standing: String,
    /// A few words.
    pub title: String,
    /// The fact.
    pub claim: String,
}

impl FindingLine {
    pub(super) fn forms(finding: &Finding) -> Vec<Self> {
        let standing = match (finding.reviewed_in, finding.verdict) {
            (None, _) => "unreviewed".to_owned(),
            (Some(_), None) => "reviewed".to_owned(),
            (Some(_), Some(verdict)) => format!("reviewed: {}", verdict.as_str()),
        };
        forms(&[60, 200, 600], |size| Self {
            id: finding.id.clone(),
            level: finding.grounded.level,
            confidence: finding.grounded.confidence,
            standing: standing.clone(),
            title: line(&finding.grounded.title, size.min(TITLE_BYTES)),
            claim: line(&finding.grounded.claim, size),
        })
    }
}

impl Shown for FindingLine {
    fn bytes(&self) -> usize {
        self.id.0.len() + self.standing.len() + self.title.len() + self.claim.len() + LINE
    }
}

/// Words of a source that were found there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The source.
    pub source: SourceId,
    /// Its words.
    pub words: String,
}

impl Shown for Passage {
    fn bytes(&self) -> usize {
        self.words.len() + LINE
    }
}

/// What researchers left open, each question once however many of them ask it.
pub(super) fn left_open(research: &Research) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    let mut questions = Vec::new();
    for open in &research.uncertainties {
        let key = title_key(&open.text);
        if !known.contains(&key) {
            known.push(key);
            questions.push(open.text.clone());
        }
    }
    questions
}

/// The passages of a finding that were found, at most `count` of `max_bytes` each; one that says the same again is
/// left away.
pub(super) fn passages(finding: &Finding, count: usize, max_bytes: usize) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    for evidence in &finding.grounded.evidence {
        let Some(words) = evidence.sentences.as_ref().or(evidence.passage.as_ref()) else { continue };
        let passage = Passage { source: evidence.source, words: line(words, max_bytes) };
        if !found.contains(&passage) {
            found.push(passage);
        }
    }
    found.truncate(count);
    found
}

/// An assignment in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskLine {
    /// From 1.
    pub number: u32,
    /// Where it stands.
    pub status: SubtaskStatus,
    /// A few words.
    pub title: String,
    /// What came of it; empty where nothing has.
    pub outcome: String,
}

impl SubtaskLine {
    pub(super) fn forms(subtask: &Subtask) -> Vec<Self> {
        let outcome = subtask.outcome.as_deref().unwrap_or_default();
        forms(&[0, 120, 400], |size| Self {
            number: subtask.number,
            status: subtask.status,
            title: line(&subtask.title, if size == 0 { 80 } else { TITLE_BYTES }),
            outcome: line(outcome, size),
        })
    }
}

impl Shown for SubtaskLine {
    fn bytes(&self) -> usize {
        self.title.len() + self.outcome.len() + LINE + 8
    }
}

/// A review: what was decided, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewLines {
    /// The verdict on the whole.
    pub decision: ReviewDecision,
    /// In short.
    pub summary: String,
    /// What is wrong, worst first.
    pub issues: Vec<IssueLine>,
}

/// Something that the Critic objects to, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueLine {
    /// How much it matters.
    pub severity: Severity,
    /// What kind of fault it is.
    pub kind: IssueKind,
    /// One sentence.
    pub description: String,
}

impl IssueLine {
    pub(super) fn of(issue: &Issue, max_bytes: usize) -> Self {
        let Issue { kind, severity, description } = issue;
        Self { severity: *severity, kind: *kind, description: line(description, max_bytes) }
    }

    pub(super) fn forms(issue: &Issue) -> Vec<Self> {
        forms(&[100, 250, 600], |size| Self::of(issue, size))
    }
}

impl Shown for IssueLine {
    fn bytes(&self) -> usize {
        self.kind.as_str().len() + self.description.len() + LINE
    }
}

pub(super) fn summary_forms(review: &Review) -> Vec<String> {
    forms(&[100, 300, 1_000], |size| line(&review.summary, size))
}

/// The forms of an assignment that is asked for.
pub(super) fn assignment_forms(assignment: &Assignment) -> Vec<Assignment> {
    forms(&[100, 400, 1_200], |size| Assignment {
        title: line(&assignment.title, size.min(TITLE_BYTES)),
        description: line(&assignment.description, size),
    })
}

impl Shown for Assignment {
    fn bytes(&self) -> usize {
        self.title.len() + self.description.len() + LINE
    }
}

/// A message of the team in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageLine {
    /// Who speaks.
    pub from: Party,
    /// To whom.
    pub to: Party,
    /// What it is.
    pub kind: MessageType,
    /// What is said.
    pub content: String,
}

impl MessageLine {
    pub(super) fn forms(message: &Message) -> Vec<Self> {
        forms(&[80, 240], |size| Self {
            from: message.from,
            to: message.to,
            kind: message.kind,
            content: line(&message.content, size),
        })
    }
}

impl Shown for MessageLine {
    fn bytes(&self) -> usize {
        // The longest names are `researcher to researcher, NEEDS_MORE_WORK: `.
        self.content.len() + LINE + 32
    }
}

/// What the limits leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLeft {
    /// Decisions of the Manager, after this one.
    pub decisions: u32,
    /// Agent runs, after this one.
    pub agent_runs: u32,
    /// How many of them are kept for a review and the answer.
    pub kept: u32,
    /// Working time, in minutes.
    pub minutes: i64,
}

impl BudgetLeft {
    /// For an agent whose own run has been counted.
    pub(super) fn of(research: &Research, limits: &Limits) -> Self {
        let agent_runs = research.calls_left(limits);
        Self {
            decisions: research.iterations_left(limits),
            agent_runs,
            kept: RESERVED_CALLS.min(agent_runs),
            minutes: research.time_left_ms(limits) / 60_000,
        }
    }
}

/// The forms of the objective. The shortest is always shown.
pub(super) fn objective_forms(objective: &str) -> Vec<String> {
    // The longest objective that a task can have is 64 KiB, before its lines are indented.
    forms(&[400, 1_200, 4_000, 256 * 1_024], |size| super::text::block(objective, size))
}

/// The forms of an open question.
pub(super) fn question_forms(text: &str) -> Vec<String> {
    forms(&[80, 300], |size| line(text, size))
}

//! The records of a research task: assignments, findings, reviews, decisions, messages.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SourceId;
use crate::contract::research::{
    Assignment, Confidence, Issue, ManagerAction, ReportStatus, ReviewDecision, Verdict,
};

/// One assignment of one researcher; created by an accepted decision of the Manager, and by nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtask {
    /// From 1, in the order of creation.
    pub number: u32,
    /// Round of assignments that it belongs to, from 1.
    pub round: u32,
    /// At most 160 characters.
    pub title: String,
    /// At most 1,200 characters.
    pub description: String,
    /// Who caused it.
    pub origin: Origin,
    /// Where it stands.
    pub status: SubtaskStatus,
    /// What its researcher said in short, or why it was blocked or failed.
    pub outcome: Option<String>,
}

/// Who caused an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The Manager's own plan.
    Manager,
    /// A request of the Critic, which the Manager took up.
    Critic,
}

/// Where an assignment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SubtaskStatus {
    /// A researcher has it.
    Assigned,
    /// It gave findings.
    Completed,
    /// The sources do not answer it.
    Blocked,
    /// Its researcher failed.
    Failed,
}

/// How far a claim's quotes and numbers were found in its sources, by code alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// No valid source id.
    G0,
    /// A valid source id, but its words or numbers were not found there.
    G1,
    /// Found in the snippet that a search showed.
    G2,
    /// Quote and numbers found in the text of the page.
    G3,
}

/// Id of a finding: `F<subtask>.<place>`, the same in every run of the same work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FindingId(pub String);

impl FindingId {
    /// The id of the finding at `place`, from 1, of a subtask.
    pub fn new(subtask: u32, place: usize) -> Self {
        Self(format!("F{subtask}.{place}"))
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A finding after its evidence was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundedFinding {
    /// A few words.
    pub title: String,
    /// The fact.
    pub claim: String,
    /// After all that lowers it.
    pub confidence: Confidence,
    /// As the Researcher stated it.
    pub stated_confidence: Confidence,
    /// The best level of its evidence, with its numbers taken into account.
    pub level: Level,
    /// Evidence whose source exists.
    pub evidence: Vec<Evidence>,
    /// What was dropped or not found, one sentence each, for the Critic and the reader.
    pub notes: Vec<String>,
    /// Whether a source that it cites is invented for demonstrations.
    pub is_demo: bool,
}

/// A quote and what was found of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The cited source.
    pub source: SourceId,
    /// As the Researcher gave it.
    pub quote: String,
    /// Where it was found.
    pub found: Found,
    /// The words of the source that match it, where they were found.
    pub passage: Option<String>,
    /// The sentences of the source that they stand in, for whoever judges them: a condition or what "it" means is
    /// often just beside the quote.
    #[serde(default)]
    pub sentences: Option<String>,
}

/// Where a quote was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Nowhere in its source.
    Nowhere,
    /// In the snippet that a search showed.
    Snippet,
    /// In the text of the page.
    Page,
}

/// A finding in the shared workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its id.
    pub id: FindingId,
    /// The assignment that brought it.
    pub subtask: u32,
    /// What was found, and how well.
    #[serde(flatten)]
    pub grounded: GroundedFinding,
    /// The review that saw it last; `None` while it is unreviewed.
    pub reviewed_in: Option<u32>,
    /// The Critic's verdict there.
    pub verdict: Option<Verdict>,
    /// The Critic's word on it.
    pub verdict_note: Option<String>,
}

/// Something that a researcher could not settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncertainty {
    /// The assignment that left it open.
    pub subtask: u32,
    /// One sentence.
    pub text: String,
}

/// What a researcher's job gives: the report with its findings grounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundedReport {
    /// How it went.
    pub status: ReportStatus,
    /// In short.
    pub summary: String,
    /// The findings, checked.
    pub findings: Vec<GroundedFinding>,
    /// What stays open.
    pub uncertainties: Vec<String>,
    /// Why it is blocked.
    pub blocked_reason: Option<String>,
    /// Sources that this job was the first to find, placeholders not counted.
    pub new_sources: u32,
}

/// A review that the Critic gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// From 1.
    pub number: u32,
    /// The round of assignments that had ended then.
    pub round: u32,
    /// The verdict on the whole.
    pub decision: ReviewDecision,
    /// In short.
    pub summary: String,
    /// What is wrong.
    pub issues: Vec<Issue>,
    /// Research that it asks for.
    pub requests: Vec<Assignment>,
    /// The findings that it looked at.
    pub reviewed: Vec<FindingId>,
}

/// The final answer after its statements were checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundedSynthesis {
    /// The answer in a few sentences.
    pub summary: String,
    /// The statements, checked.
    pub key_findings: Vec<GroundedKeyFinding>,
    /// What remains open.
    pub uncertainties: Vec<String>,
    /// What to do.
    pub recommendations: Vec<String>,
    /// The answer.
    pub conclusion: String,
    /// Never above what the key findings carry.
    pub confidence: Confidence,
}

/// A statement of the final answer and how well it is carried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundedKeyFinding {
    /// The statement.
    pub statement: String,
    /// Valid sources only.
    pub sources: Vec<SourceId>,
    /// How well it is carried.
    pub level: Level,
    /// What it may claim.
    pub confidence: Confidence,
    /// What was dropped or not found; empty when nothing was.
    pub notes: Vec<String>,
}

/// A decision of the Manager, taken or refused; or one that the budget left no choice in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The Manager's iteration, from 1.
    pub iteration: u32,
    /// The manager, or the system where nothing was left to decide.
    pub by: Party,
    /// What was decided.
    pub action: ManagerAction,
    /// Why.
    pub reason: String,
    /// To the team.
    pub message: String,
    /// The assignments.
    pub tasks: Vec<Assignment>,
    /// For the Critic.
    pub review_focus: Option<String>,
    /// Why it was refused; `None` when it was taken.
    pub rejected: Option<String>,
}

/// Who takes part in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    /// Decides and delegates.
    Manager,
    /// Gathers evidence.
    Researcher,
    /// Challenges the work.
    Critic,
    /// The engine's own rules.
    System,
    /// Who asked.
    User,
    /// Everybody.
    Team,
}

impl Party {
    /// The name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Party::Manager => "manager",
            Party::Researcher => "researcher",
            Party::Critic => "critic",
            Party::System => "system",
            Party::User => "user",
            Party::Team => "team",
        }
    }
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names are the wire format; the conversation explains them")]
pub enum MessageType {
    Objective,
    Plan,
    Assignment,
    ResearchResult,
    Blocked,
    ReviewRequest,
    Approved,
    NeedsMoreWork,
    Decision,
    RejectedAction,
    AgentFailed,
    FinalResult,
}

/// One message of the agents' conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// From 1, without gaps.
    pub number: u32,
    /// Who speaks.
    pub from: Party,
    /// To whom.
    pub to: Party,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: MessageType,
    /// What is said.
    pub content: String,
    /// Why, where there is a reason.
    pub reason: Option<String>,
    /// Ids and lists that belong to it.
    pub metadata: Value,
}

/// A row that a transition writes beside the state; the rows of one task are its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// New, or with another status.
    Subtask(Subtask),
    /// New, or with a verdict.
    Finding(Finding),
    /// New.
    Uncertainty(Uncertainty),
    /// New.
    Decision(DecisionRecord),
    /// New.
    Message(Message),
}

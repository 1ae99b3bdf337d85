//! The contracts of the research team: Manager, Researcher, Critic and the final synthesis.
//!
//! Long texts are clipped where they are recorded, never refused here; what is refused is what would leave a gap:
//! an assignment without a task, a block without a reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Contract;
use crate::research::FindingId;

/// Assignments of one decision at most.
pub const MAX_ASSIGNMENTS: usize = 4;
/// Queries of one assignment at most.
pub const MAX_QUERIES: usize = 3;
/// Requests of one review at most.
pub const MAX_REQUESTS: usize = 3;

/// Manager: what happens next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManagerDecision {
    /// One or two sentences: what you saw and why this action follows.
    pub reason: String,
    /// Exactly one of the actions that MENU offers.
    pub action: ManagerAction,
    /// One or two sentences to the team.
    pub message: String,
    /// With ASSIGN_RESEARCH one to four assignments, otherwise empty.
    pub tasks: Vec<Assignment>,
    /// With REQUEST_REVIEW what the critic should look at first, otherwise null.
    pub review_focus: Option<String>,
}

/// What the Manager can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ManagerAction {
    /// Send researchers out.
    AssignResearch,
    /// Let the critic look at new findings.
    RequestReview,
    /// Write the final answer.
    Complete,
    /// Give up.
    Fail,
}

impl ManagerAction {
    /// The name as the model writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            ManagerAction::AssignResearch => "ASSIGN_RESEARCH",
            ManagerAction::RequestReview => "REQUEST_REVIEW",
            ManagerAction::Complete => "COMPLETE",
            ManagerAction::Fail => "FAIL",
        }
    }
}

/// One assignment for one researcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// Short name, at most 160 characters.
    pub title: String,
    /// What has to be found out, at most 1,200 characters.
    pub description: String,
}

impl Contract for ManagerDecision {
    const NAME: &'static str = "ManagerDecision";

    fn check(&self) -> Result<(), String> {
        let assigns = self.action == ManagerAction::AssignResearch;
        if assigns && self.tasks.is_empty() {
            return Err("ASSIGN_RESEARCH needs at least one task with a title and a description".to_owned());
        }
        if self.tasks.len() > MAX_ASSIGNMENTS {
            return Err(format!("tasks holds {}; give at most {MAX_ASSIGNMENTS}", self.tasks.len()));
        }
        check_assignments("task", &self.tasks)?;
        check_text("reason", &self.reason)
    }
}

/// Researcher, first call: what to search for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResearchQueries {
    /// One sentence: which facts would answer the assignment.
    pub thought: String,
    /// One to three search queries of a few words each.
    pub queries: Vec<String>,
}

impl Contract for ResearchQueries {
    const NAME: &'static str = "ResearchQueries";

    fn check(&self) -> Result<(), String> {
        match self.queries.len() {
            0 => Err("queries must hold at least one query".to_owned()),
            count if count > MAX_QUERIES => {
                Err(format!("queries holds {count}; give at most {MAX_QUERIES}, the best ones"))
            }
            _ if self.queries.iter().any(|query| query.trim().is_empty()) => {
                Err("a query is empty; write a few words to search for".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Researcher, second call: what the sources say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResearchReport {
    /// One to three sentences: what was found.
    pub summary: String,
    /// One entry for each fact that a source states; empty when BLOCKED.
    pub findings: Vec<ReportedFinding>,
    /// What the sources leave open, one sentence each.
    pub uncertainties: Vec<String>,
    /// COMPLETED when there is a finding, BLOCKED when the sources do not answer the assignment.
    pub status: ReportStatus,
    /// With BLOCKED the reason, otherwise null.
    pub blocked_reason: Option<String>,
}

/// How an assignment went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReportStatus {
    /// There is something to report.
    Completed,
    /// The sources do not answer it.
    Blocked,
}

/// A finding as the Researcher reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedFinding {
    /// A few words.
    pub title: String,
    /// One sentence with one fact, its numbers and dates as the source gives them.
    pub claim: String,
    /// Where it stands: one to three quotes.
    pub evidence: Vec<Quote>,
    /// How sure the sources make you.
    pub confidence: Confidence,
}

/// Words of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    /// The source's id, such as S1.
    pub source_id: String,
    /// 20 to 300 characters, copied word by word from that source, in its own language.
    pub quote: String,
}

/// How sure something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Weak or no support.
    Low,
    /// Some support.
    Medium,
    /// Good support.
    High,
}

impl Confidence {
    /// The name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

impl Contract for ResearchReport {
    const NAME: &'static str = "ResearchReport";

    fn check(&self) -> Result<(), String> {
        let reason = self.blocked_reason.as_deref().unwrap_or_default().trim();
        match self.status {
            ReportStatus::Completed if self.findings.is_empty() => Err(
                "COMPLETED needs at least one finding; when the sources do not answer the assignment, the status \
                 is BLOCKED with a blocked_reason"
                    .to_owned(),
            ),
            ReportStatus::Blocked if reason.is_empty() => {
                Err("BLOCKED needs a blocked_reason: say in a sentence what the sources lack".to_owned())
            }
            _ => self.findings.iter().try_for_each(|finding| {
                check_text("claim", &finding.claim)?;
                if finding.evidence.is_empty() {
                    return Err(format!(
                        "the finding `{}` has no evidence; give a source_id and a quote copied from that source",
                        finding.title
                    ));
                }
                Ok(())
            }),
        }
    }
}

/// Critic: what holds, what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriticReview {
    /// One to three sentences: how well the findings answer the objective.
    pub summary: String,
    /// One verdict for each finding under REVIEW THESE.
    pub verdicts: Vec<FindingVerdict>,
    /// What is wrong or missing, worst first; empty when nothing is.
    pub issues: Vec<Issue>,
    /// With NEEDS_MORE_WORK up to three assignments that would mend the high issues, otherwise empty.
    pub requested_research: Vec<Assignment>,
    /// NEEDS_MORE_WORK when there is a high issue, otherwise APPROVED.
    pub decision: ReviewDecision,
}

/// The Critic's verdict on one finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindingVerdict {
    /// The finding's id, such as F1.2.
    pub finding_id: String,
    /// One short sentence: why.
    pub note: String,
    /// How it stands.
    pub verdict: Verdict,
}

impl FindingVerdict {
    /// Whether it is about this finding, as models write ids: `F1.2`, `f1.2`, `[F1.2]`.
    pub fn is_of(&self, id: &FindingId) -> bool {
        self.finding_id.trim().trim_matches(['[', ']']).eq_ignore_ascii_case(&id.0)
    }
}

/// How a finding stands after a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// Its quotes carry the claim.
    Supported,
    /// They carry part of it.
    Weak,
    /// They do not carry it, or it is beside the objective.
    Rejected,
}

impl Verdict {
    /// The name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Supported => "supported",
            Verdict::Weak => "weak",
            Verdict::Rejected => "rejected",
        }
    }
}

/// Something that the Critic objects to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// What kind of fault it is.
    pub kind: IssueKind,
    /// One sentence.
    pub description: String,
    /// high when an answer would be wrong or empty without it.
    pub severity: Severity,
}

/// Kinds of issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IssueKind {
    /// Something is taken for granted.
    UnsupportedAssumption,
    /// A part of the objective has no finding.
    MissingInformation,
    /// Findings disagree.
    Contradiction,
    /// The sources are poor, old or too few.
    WeakEvidence,
}

impl IssueKind {
    /// The name as the model writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            IssueKind::UnsupportedAssumption => "UNSUPPORTED_ASSUMPTION",
            IssueKind::MissingInformation => "MISSING_INFORMATION",
            IssueKind::Contradiction => "CONTRADICTION",
            IssueKind::WeakEvidence => "WEAK_EVIDENCE",
        }
    }
}

/// How much an issue matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth a word.
    Low,
    /// The answer is weaker for it.
    Medium,
    /// No answer without it.
    High,
}

impl Severity {
    /// The name as the model writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }
}

/// The Critic's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReviewDecision {
    /// Enough for an answer.
    Approved,
    /// Not yet.
    NeedsMoreWork,
}

impl Contract for CriticReview {
    const NAME: &'static str = "CriticReview";

    fn check(&self) -> Result<(), String> {
        let high = self.issues.iter().find(|issue| issue.severity == Severity::High);
        if let (ReviewDecision::Approved, Some(issue)) = (self.decision, high) {
            return Err(format!(
                "APPROVED does not go with a high issue ({}); decide NEEDS_MORE_WORK, or give the issue the severity \
                 that it has",
                issue.description
            ));
        }
        if self.requested_research.len() > MAX_REQUESTS {
            let count = self.requested_research.len();
            return Err(format!("requested_research holds {count}; give at most {MAX_REQUESTS}"));
        }
        check_assignments("request", &self.requested_research)?;
        let says_nothing = self.issues.is_empty() && self.requested_research.is_empty();
        if self.decision == ReviewDecision::NeedsMoreWork && says_nothing {
            return Err(
                "NEEDS_MORE_WORK must say what is missing: give an issue or a requested_research".to_owned()
            );
        }
        Ok(())
    }
}

/// The final answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinalSynthesis {
    /// Two to five sentences that answer the objective.
    pub summary: String,
    /// Three to eight statements that carry the answer, each with its sources.
    pub key_findings: Vec<KeyFinding>,
    /// What remains open, one sentence each.
    pub uncertainties: Vec<String>,
    /// What to do, one sentence each.
    pub recommendations: Vec<String>,
    /// One or two sentences: the answer.
    pub conclusion: String,
    /// How sure the answer is.
    pub confidence: Confidence,
}

/// A statement of the final answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyFinding {
    /// One sentence, with numbers as the findings give them.
    pub statement: String,
    /// Ids of the sources that carry it, such as S1; never empty.
    pub source_ids: Vec<String>,
}

impl Contract for FinalSynthesis {
    const NAME: &'static str = "FinalSynthesis";

    fn check(&self) -> Result<(), String> {
        check_text("summary", &self.summary)?;
        check_text("conclusion", &self.conclusion)?;
        if self.key_findings.is_empty() {
            return Err("key_findings must hold at least one statement with its source_ids".to_owned());
        }
        self.key_findings.iter().try_for_each(|finding| {
            check_text("statement", &finding.statement)?;
            if finding.source_ids.is_empty() {
                let statement = &finding.statement;
                return Err(format!("the key finding `{statement}` names no source; give its source_ids"));
            }
            Ok(())
        })
    }
}

fn check_assignments(what: &str, assignments: &[Assignment]) -> Result<(), String> {
    let empty = |assignment: &Assignment| {
        assignment.title.trim().is_empty() || assignment.description.trim().is_empty()
    };
    if assignments.iter().any(empty) {
        return Err(format!("each {what} needs a title and a description"));
    }
    Ok(())
}

fn check_text(name: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err(format!("{name} must not be empty"));
    }
    Ok(())
}

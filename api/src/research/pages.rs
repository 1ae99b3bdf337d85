//! Pages of a research task's history, as the interface and a reader of the data folder both need them.

use jiff::Timestamp;
use nightforge_domain::research::{
    DecisionRecord, Finding, Message, Source, SourceId, SourceStatus, Subtask, Uncertainty,
};
use nightforge_domain::{Agent, JobNo, JobState, ModelName, TaskId, Usage};
use nightforge_store::{Run, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::views::moment;

/// A message of the agents' conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    /// Who said what to whom.
    #[serde(flatten)]
    pub message: Message,
    /// When it was recorded.
    pub at: Timestamp,
}

/// Messages, oldest first; fewer than asked for at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the only field says what it holds")]
pub struct MessagePage {
    pub messages: Vec<MessageView>,
}

/// A finding with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingView {
    /// What was found, how well, and the Critic's latest verdict.
    #[serde(flatten)]
    pub finding: Finding,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// Something that stays open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncertaintyView {
    /// `U<assignment>.<place>`.
    pub id: String,
    /// What it is.
    #[serde(flatten)]
    pub uncertainty: Uncertainty,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// Findings by assignment and place, and all that stays open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields say what they hold")]
pub struct FindingPage {
    pub findings: Vec<FindingView>,
    pub uncertainties: Vec<UncertaintyView>,
}

/// A source, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the one of the same name in the domain's `Source`")]
pub struct SourceView {
    pub id: SourceId,
    pub url: String,
    pub title: String,
    pub snippet: String,
    pub sha256: Option<String>,
    pub tool: String,
    pub is_demo: bool,
    pub status: SourceStatus,
    pub note: Option<String>,
    pub published: Option<String>,
    pub at: Timestamp,
}

/// Sources, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the only field says what it holds")]
pub struct SourcePage {
    pub sources: Vec<SourceView>,
}

/// A decision, taken or refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionView {
    /// What was decided.
    #[serde(flatten)]
    pub decision: DecisionRecord,
    /// When it was recorded.
    pub at: Timestamp,
}

/// Decisions, in the order of the iterations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the only field says what it holds")]
pub struct DecisionPage {
    pub decisions: Vec<DecisionView>,
}

/// An assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskView {
    /// What it is, and where it stands.
    #[serde(flatten)]
    pub subtask: Subtask,
    /// The job of its researcher.
    pub job: Option<JobNo>,
    /// When it was assigned.
    pub created_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
}

/// Assignments, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the only field says what it holds")]
pub struct SubtaskPage {
    pub subtasks: Vec<SubtaskView>,
}

/// One agent run: what it saw, what it gave, what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the one of the same name in the store's `Run`")]
pub struct RunView {
    pub job: JobNo,
    pub agent: Agent,
    pub subject: Value,
    pub state: JobState,
    pub model: ModelName,
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub error: Option<String>,
    pub claims: u32,
    pub reasks: u32,
    pub model_calls: u32,
    #[serde(flatten)]
    pub usage: Usage,
    pub duration_ms: i64,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

/// Agent runs, in the order of their jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the only field says what it holds")]
pub struct RunPage {
    pub runs: Vec<RunView>,
}

/// Messages after number `after`, at most `limit`.
///
/// # Errors
/// When the database fails.
pub async fn read_messages(
    store: &Store,
    task: &TaskId,
    after: u32,
    limit: u32,
) -> Result<MessagePage, StoreError> {
    let rows = store.messages(task, after, limit).await?;
    let view = |row: nightforge_store::MessageRow| MessageView { message: row.message, at: moment(row.at) };
    Ok(MessagePage { messages: rows.into_iter().map(view).collect() })
}

/// Every finding, and all that stays open.
///
/// # Errors
/// When the database fails.
pub async fn read_findings(store: &Store, task: &TaskId) -> Result<FindingPage, StoreError> {
    let findings = store.findings(task).await?.into_iter();
    let open = store.uncertainties(task).await?.into_iter();
    Ok(FindingPage {
        findings: findings
            .map(|row| FindingView { finding: row.finding, created_at: moment(row.created_at) })
            .collect(),
        uncertainties: open
            .map(|row| UncertaintyView {
                id: row.id,
                uncertainty: row.uncertainty,
                created_at: moment(row.created_at),
            })
            .collect(),
    })
}

/// Every source.
///
/// # Errors
/// When the database fails.
pub async fn read_sources(store: &Store, task: &TaskId) -> Result<SourcePage, StoreError> {
    Ok(SourcePage { sources: store.sources(task).await?.into_iter().map(source).collect() })
}

/// Every decision.
///
/// # Errors
/// When the database fails.
pub async fn read_decisions(store: &Store, task: &TaskId) -> Result<DecisionPage, StoreError> {
    let rows = store.decisions(task).await?;
    let view =
        |row: nightforge_store::DecisionRow| DecisionView { decision: row.decision, at: moment(row.at) };
    Ok(DecisionPage { decisions: rows.into_iter().map(view).collect() })
}

/// Every assignment.
///
/// # Errors
/// When the database fails.
pub async fn read_subtasks(store: &Store, task: &TaskId) -> Result<SubtaskPage, StoreError> {
    let rows = store.subtasks(task).await?;
    let view = |row: nightforge_store::SubtaskRow| SubtaskView {
        subtask: row.subtask,
        job: row.job,
        created_at: moment(row.created_at),
        updated_at: moment(row.updated_at),
    };
    Ok(SubtaskPage { subtasks: rows.into_iter().map(view).collect() })
}

/// Every agent run.
///
/// # Errors
/// When the database fails.
pub async fn read_runs(store: &Store, task: &TaskId) -> Result<RunPage, StoreError> {
    Ok(RunPage { runs: store.runs(task).await?.into_iter().map(run).collect() })
}

fn source(source: Source) -> SourceView {
    SourceView {
        id: source.id,
        url: source.url,
        title: source.title,
        snippet: source.snippet,
        sha256: source.sha256,
        tool: source.tool,
        is_demo: source.is_demo,
        status: source.status,
        note: source.note,
        published: source.published,
        at: moment(source.at),
    }
}

fn run(run: Run) -> RunView {
    RunView {
        job: run.job,
        agent: run.agent,
        subject: json!(run.subject),
        state: run.state,
        model: run.model,
        input: run.input,
        output: run.output,
        error: run.error,
        claims: run.claims,
        reasks: run.reasks,
        model_calls: run.model_calls,
        usage: run.usage,
        duration_ms: run.duration_ms,
        created_at: moment(run.created_at),
        finished_at: run.finished_at.map(moment),
    }
}

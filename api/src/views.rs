//! What tasks, events and models look like from outside. The CLI reads the same types.

use std::path::Path;

use jiff::Timestamp;
use nightforge_domain::state::Life;
use nightforge_domain::waiting::WaitReason;
use nightforge_domain::{AgentModels, Kind, Limits, Millis, ModelName, Priority, Status, TaskId};
use nightforge_store::{EventRow, Store, StoreError, TaskRow};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::waiting::Floor;
use crate::{ReportFiles, ResearchView, repository_path};

/// A task. Times are RFC 3339 in UTC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskView {
    /// 26 letters and digits; ids sort by age.
    pub id: TaskId,
    /// What it does with its objective.
    pub kind: Kind,
    /// What was asked for.
    pub objective: String,
    /// Whose it is.
    pub owner: String,
    /// Where it stands.
    pub state: Status,
    /// The kind's finer phase, such as `CODING F003`.
    pub phase: String,
    /// 9 runs first.
    pub priority: Priority,
    /// Nothing new is claimed while this is set.
    pub paused: bool,
    /// Who paused it, where that is known.
    pub paused_by: Option<String>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When anything last changed.
    pub updated_at: Timestamp,
    /// When it became final.
    pub finished_at: Option<Timestamp>,
    /// When work has to stop.
    pub deadline: Option<Timestamp>,
    /// The model of each agent.
    pub models: AgentModels,
    /// The limits that hold for it.
    pub limits: Limits,
    /// `build`: how many features are proven.
    pub features: FeatureCounts,
    /// `build`: coding sessions that were begun.
    pub sessions: u32,
    /// `research`: where the team stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub research: Option<ResearchView>,
    /// What its model calls used.
    pub spent: SpentView,
    /// Path of the git repository, once it holds a commit.
    pub repository: Option<String>,
    /// Path of the report, once the task is final.
    pub report: Option<String>,
    /// Why it stops or stopped early.
    pub reason: Option<String>,
    /// Why it does not go on now; empty when it does, or is over.
    #[serde(default)]
    pub waiting: Vec<WaitView>,
}

/// One reason for which a task does not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitView {
    /// A name that never changes its meaning, such as `no-worker`.
    pub reason: String,
    /// A few words.
    pub short: String,
    /// A sentence for people, with what to do.
    pub message: String,
}

impl From<WaitReason> for WaitView {
    fn from(reason: WaitReason) -> Self {
        Self { reason: reason.name().to_owned(), short: reason.short(), message: reason.to_string() }
    }
}

/// How many features there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FeatureCounts {
    /// Proven.
    pub passed: usize,
    /// Registered.
    pub total: usize,
}

/// What model calls used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SpentView {
    /// Calls, failed ones included.
    pub model_calls: u64,
    /// Tokens of prompts.
    pub prompt_tokens: u64,
    /// Tokens of answers.
    pub completion_tokens: u64,
    /// Milliseconds in model calls.
    pub model_ms: u64,
}

impl TaskView {
    /// Reads a task and what its model calls used.
    ///
    /// # Errors
    /// [`StoreError::NoTask`] when there is none.
    pub async fn load(store: &Store, data: &Path, task: &TaskId) -> Result<Self, StoreError> {
        let row = store.task(task).await?;
        let floor = Floor::look(store).await?;
        Self::of(store, data, &floor, row).await
    }

    /// The view of a row.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn of(
        store: &Store,
        data: &Path,
        floor: &Floor,
        row: TaskRow,
    ) -> Result<Self, StoreError> {
        let waiting = floor.why(store, &row).await?.into_iter().map(WaitView::from).collect();
        let spent = store.spent(&row.id).await?;
        let (passed, total) = row.state.build().map_or((0, 0), nightforge_domain::build::Build::progress);
        let research = ResearchView::of(store, &row).await?;
        let reason = match &row.state.life {
            Life::Stopping { reason, .. } => Some(reason.clone()),
            Life::Final { reason, .. } => reason.clone(),
            _ => None,
        };
        Ok(Self {
            repository: row.head.as_ref().map(|_| repository_path(data, &row.id).display().to_string()),
            report: ReportFiles::below(data).path_of(&row).await.map(|path| path.display().to_string()),
            sessions: row.state.build().map_or(0, |build| build.sessions),
            features: FeatureCounts { passed, total },
            spent: SpentView {
                model_calls: spent.model_calls,
                prompt_tokens: spent.prompt_tokens,
                completion_tokens: spent.completion_tokens,
                model_ms: spent.model_ms,
            },
            research,
            reason,
            waiting,
            models: row.models.for_kind(row.kind),
            id: row.id,
            kind: row.kind,
            objective: row.objective,
            owner: row.owner,
            state: row.status,
            phase: row.phase,
            priority: row.priority,
            // A task that ended while it was paused keeps the flag for a retry, and is held back by nothing now.
            paused: row.paused && !row.status.is_final(),
            paused_by: row.paused_by.filter(|_| !row.status.is_final()),
            created_at: moment(row.created_at),
            updated_at: moment(row.updated_at),
            finished_at: row.finished_at.map(moment),
            deadline: row.deadline.map(moment),
            limits: row.limits,
        })
    }
}

/// A moment of the database as RFC 3339. One that no calendar holds becomes the nearest that it does.
pub(crate) fn moment(at: Millis) -> Timestamp {
    let nearest = if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(at.0).unwrap_or(nearest)
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// Send this as `before` for the next page; null on the last one.
    pub next: Option<TaskId>,
}

/// An entry of a task's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    /// From 1, without gaps.
    pub seq: i64,
    /// What happened.
    #[serde(rename = "type")]
    pub type_name: String,
    /// When it was committed.
    pub at: Timestamp,
    /// The details.
    pub data: Value,
}

impl From<EventRow> for EventView {
    fn from(row: EventRow) -> Self {
        Self { seq: row.seq, type_name: row.type_name, at: moment(row.at), data: row.data }
    }
}

/// A page of a task's log, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventPage {
    /// The entries; fewer than asked for at the log's end.
    pub events: Vec<EventView>,
}

/// A model that can be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelView {
    /// As named in the configuration.
    pub name: ModelName,
    /// As its server names it.
    pub server_name: String,
    /// The URLs of its endpoints.
    pub endpoints: Vec<String>,
    /// Jobs waiting for it.
    pub ready: u64,
    /// Jobs running on it.
    pub running: u64,
}

/// Every model, and who calls which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPage {
    /// The models.
    pub models: Vec<ModelView>,
    /// The model of each agent, unless a task names another one; null where it is not configured.
    pub agents: Option<AgentModels>,
}

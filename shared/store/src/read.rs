//! Reading: tasks, events, jobs.

use nightforge_domain::state::TaskState;
use nightforge_domain::{
    AgentModels, CommitId, Fence, JobNo, JobSpec, JobState, Kind, Limits, Millis, Priority, Status, TaskId,
};
use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::rows::{TASK_COLUMNS, event_row, job_row, parsed, task_row};
use crate::{Store, StoreError, TaskSecret};

/// A task as it stands in the database.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the column of the same name; the migration documents them")]
pub struct TaskRow {
    pub id: TaskId,
    pub kind: Kind,
    pub objective: String,
    pub owner: String,
    pub priority: Priority,
    pub models: AgentModels,
    pub limits: Limits,
    pub state: TaskState,
    pub status: Status,
    pub phase: String,
    pub seq: i64,
    pub stopping: bool,
    pub paused: bool,
    pub paused_by: Option<String>,
    pub deadline: Option<Millis>,
    pub head: Option<CommitId>,
    pub report: Option<String>,
    pub language: Option<String>,
    pub previous: Option<TaskId>,
    pub secret: Option<TaskSecret>,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub finished_at: Option<Millis>,
}

/// An entry of a task's log.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// From 1, without gaps.
    pub seq: i64,
    /// What happened.
    pub type_name: String,
    /// When it was committed.
    pub at: Millis,
    /// The details.
    pub data: Value,
}

/// A job as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the column of the same name; the migration documents them")]
pub struct JobRow {
    pub no: JobNo,
    pub spec: JobSpec,
    pub model: String,
    pub state: JobState,
    pub run_after: Millis,
    pub fence: Fence,
    pub boot: Option<String>,
    pub lease_until: Option<Millis>,
    pub steps: u32,
    pub faults: u32,
    pub deaths: u32,
    pub infra_failures: u32,
    pub last_error: Option<String>,
    pub created_at: Millis,
    pub claimed_at: Option<Millis>,
    pub finished_at: Option<Millis>,
}

/// Which tasks to list, newest first.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only this status.
    pub status: Option<Status>,
    /// Only tasks older than this one: the last of the page before.
    pub before: Option<TaskId>,
    /// Only ids that start with this.
    pub id_prefix: Option<String>,
    /// At most so many; 0 means 50.
    pub limit: u32,
}

impl Store {
    /// One task.
    ///
    /// # Errors
    /// [`StoreError::NoTask`] when there is none.
    pub async fn task(&self, task: &TaskId) -> Result<TaskRow, StoreError> {
        task_row(&self.stored_task(task).await?)
    }

    /// One task's row, not parsed yet: parsing a long feature list takes longer than reading it.
    pub(crate) async fn stored_task(&self, task: &TaskId) -> Result<AnyRow, StoreError> {
        let sql = AssertSqlSafe(format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id = $1"));
        sqlx::query(sql)
            .bind(task.as_str())
            .fetch_optional(&self.read)
            .await?
            .ok_or_else(|| StoreError::NoTask(task.clone()))
    }

    /// Tasks, newest first.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn tasks(&self, filter: &TaskFilter) -> Result<Vec<TaskRow>, StoreError> {
        let sql = AssertSqlSafe(format!(
            "SELECT {TASK_COLUMNS} FROM tasks
             WHERE ($1 = '' OR status = $1) AND ($2 = '' OR id < $2) AND ($3 = '' OR substr(id, 1, $4) = $3)
             ORDER BY id DESC LIMIT $5"
        ));
        let prefix = filter.id_prefix.clone().unwrap_or_default();
        let rows = sqlx::query(sql)
            .bind(filter.status.map_or("", Status::as_str))
            .bind(filter.before.as_ref().map_or("", TaskId::as_str))
            .bind(&prefix)
            .bind(i32::try_from(prefix.chars().count()).unwrap_or(i32::MAX))
            .bind(if filter.limit == 0 { 50 } else { i64::from(filter.limit) })
            .fetch_all(&self.read)
            .await?;
        rows.iter().map(task_row).collect()
    }

    /// Events of a task after number `after`, in order.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn events(&self, task: &TaskId, after: i64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT number, type, at, data FROM events WHERE task_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        )
        .bind(task.as_str())
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(event_row).collect()
    }

    /// Jobs of a task, in order.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn jobs(&self, task: &TaskId) -> Result<Vec<JobRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT number, spec, model, state, run_after, fence, boot_id, lease_until, steps, faults, deaths,
                infra_failures, last_error, created_at, claimed_at, finished_at
             FROM jobs WHERE task_id = $1 ORDER BY number",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(job_row).collect()
    }

    /// Tasks that changed since `since`, with the commit that their branch has to point at.
    ///
    /// A transaction takes its time at its start, so one that commits later can carry an earlier one: ask again
    /// with a few seconds of overlap.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn heads_since(&self, since: Millis) -> Result<Vec<(TaskId, CommitId, Millis)>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, head, updated_at FROM tasks WHERE head IS NOT NULL AND updated_at >= $1 ORDER BY updated_at",
        )
        .bind(since.0)
        .fetch_all(&self.read)
        .await?;
        rows.iter()
            .map(|row| Ok((parsed(row, "id")?, parsed(row, "head")?, Millis(row.try_get("updated_at")?))))
            .collect()
    }

    /// Tasks that became final at or after `since`, in the order of their ends.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn finished_since(
        &self,
        since: Millis,
        limit: u32,
    ) -> Result<Vec<(TaskId, Millis)>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, finished_at FROM tasks WHERE finished_at >= $1 ORDER BY finished_at, id LIMIT $2",
        )
        .bind(since.0)
        .bind(i64::from(limit))
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(|row| Ok((parsed(row, "id")?, Millis(row.try_get("finished_at")?)))).collect()
    }

    /// The database's clock.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn now(&self) -> Result<Millis, StoreError> {
        let now: i64 = sqlx::query_scalar(self.sql("SELECT {now}")).fetch_one(&self.read).await?;
        Ok(Millis(now))
    }
}

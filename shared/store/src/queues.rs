//! How deep the queues are.

use nightforge_domain::{JobNo, JobState, Kind, Millis, ModelName, TaskId};
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::pauses::queue_paused;
use crate::rows::{number, parsed};
use crate::{Store, StoreError};

/// The unfinished jobs of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelQueue {
    /// The model.
    pub model: String,
    /// How many there are.
    pub depth: QueueDepth,
}

/// How many unfinished jobs there are, each counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueDepth {
    /// Could be claimed now, but for a pause of the model itself.
    pub ready: u64,
    /// Claimed.
    pub running: u64,
    /// Wait for their time.
    pub delayed: u64,
    /// Held back: their task, or its kind, is paused.
    pub held: u64,
    /// Since when the oldest of the ready ones could be claimed.
    pub oldest_ready_at: Option<Millis>,
}

/// A job that is ready or running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenJob {
    /// Its number in its task.
    pub no: JobNo,
    /// The model that it asks for.
    pub model: ModelName,
    /// Ready or running.
    pub state: JobState,
    /// It is not claimed before.
    pub run_after: Millis,
    /// Why it was handed back last, if it was.
    pub last_error: Option<String>,
}

impl Store {
    /// Unfinished jobs per model, by the model's name.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn queues(&self) -> Result<Vec<ModelQueue>, StoreError> {
        // No model has the empty name, so only a pause of the kind is found.
        let rows = sqlx::query(self.sql(concat!(
            "SELECT model, CAST(sum(CASE WHEN what = 'ready' THEN 1 ELSE 0 END) AS BIGINT) AS ready,
                CAST(sum(CASE WHEN what = 'running' THEN 1 ELSE 0 END) AS BIGINT) AS running,
                CAST(sum(CASE WHEN what = 'delayed' THEN 1 ELSE 0 END) AS BIGINT) AS delayed,
                CAST(sum(CASE WHEN what = 'held' THEN 1 ELSE 0 END) AS BIGINT) AS held,
                min(CASE WHEN what = 'ready' THEN run_after END) AS oldest
             FROM (SELECT j.model, j.run_after, CASE WHEN j.state = 'running' THEN 'running'
                    WHEN t.paused = 1 OR ",
            queue_paused!("''", "t.kind"),
            " THEN 'held' WHEN j.run_after > {now} THEN 'delayed' ELSE 'ready' END AS what
                FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.state IN ('ready', 'running')) AS unfinished
             GROUP BY model ORDER BY model",
        )))
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(|row| Ok(ModelQueue { model: row.try_get("model")?, depth: depth(row)? })).collect()
    }

    /// The ready and running jobs of a task, in order.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn open_jobs(&self, task: &TaskId) -> Result<Vec<OpenJob>, StoreError> {
        let rows = sqlx::query(
            "SELECT number, model, state, run_after, last_error FROM jobs
             WHERE task_id = $1 AND state IN ('ready', 'running') ORDER BY number",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(OpenJob {
                    no: JobNo(number(row, "number")?),
                    model: parsed(row, "model")?,
                    state: parsed(row, "state")?,
                    run_after: Millis(row.try_get("run_after")?),
                    last_error: row.try_get("last_error")?,
                })
            })
            .collect()
    }

    /// Tasks of a kind that wait for admission, and that are at work.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn tasks_of_kind(&self, kind: Kind) -> Result<(u64, u64), StoreError> {
        let row = sqlx::query(
            "SELECT CAST(COALESCE(sum(CASE WHEN status = 'queued' THEN 1 ELSE 0 END), 0) AS BIGINT) AS queued,
                CAST(COALESCE(sum(CASE WHEN status = 'running' THEN 1 ELSE 0 END), 0) AS BIGINT) AS running
             FROM tasks WHERE kind = $1 AND status IN ('queued', 'running')",
        )
        .bind(kind.as_str())
        .fetch_one(&self.read)
        .await?;
        Ok((number(&row, "queued")?, number(&row, "running")?))
    }
}

fn depth(row: &AnyRow) -> Result<QueueDepth, StoreError> {
    Ok(QueueDepth {
        ready: number(row, "ready")?,
        running: number(row, "running")?,
        delayed: number(row, "delayed")?,
        held: number(row, "held")?,
        oldest_ready_at: row.try_get::<Option<i64>, _>("oldest")?.map(Millis),
    })
}

//! Dead letters: jobs that no further claim can help, until a person looks at them.

use nightforge_domain::{Event, JobId, JobNo, JobSpec, JobState, Kind, Millis, Status, TaskId};
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::rows::{json, number, parsed};
use crate::{Store, StoreError};

/// A job that died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Which one.
    pub job: JobId,
    /// Its kind, such as `code`.
    pub kind: String,
    /// Who executed it; unknown where this program can't read what was to be done.
    pub agent: Option<String>,
    /// The model that it asked for.
    pub model: String,
    /// Why no further claim can help.
    pub reason: String,
    /// When it died.
    pub died_at: Millis,
    /// What its task does.
    pub task_kind: Kind,
    /// Where its task stands.
    pub task_status: Status,
    /// Who dismissed it, if somebody did.
    pub dropped_by: Option<String>,
}

/// Which dead letters to list, latest first.
#[derive(Debug, Clone, Default)]
pub struct DeadFilter {
    /// Only of this task.
    pub task: Option<TaskId>,
    /// Only of this model.
    pub model: Option<String>,
    /// Those that were dismissed as well.
    pub dropped: bool,
    /// At most so many.
    pub limit: u32,
}

/// Why a dead letter can't be dismissed.
#[derive(Debug, thiserror::Error)]
pub enum DropError {
    /// The store failed, or there is no such task.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The task has no such job.
    #[error("there is no job {0}")]
    NoJob(JobId),
    /// The job has not died.
    #[error("job {0} is {1}, not a dead letter")]
    NotDead(JobId, JobState),
}

impl Store {
    /// Dead letters, latest first.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn dead_letters(&self, filter: &DeadFilter) -> Result<Vec<DeadLetter>, StoreError> {
        let rows = sqlx::query(
            "SELECT j.task_id, j.number, j.kind, j.spec, j.model, j.finished_at, j.created_at, j.dropped_by,
                COALESCE(j.last_error, '') AS last_error, t.kind AS task_kind, t.status AS task_status
             FROM jobs j JOIN tasks t ON t.id = j.task_id
             WHERE j.state = 'dead' AND ($1 = '' OR j.task_id = $1) AND ($2 = '' OR j.model = $2)
                AND ($3 = 1 OR j.dropped_at IS NULL)
             ORDER BY j.finished_at DESC, j.task_id DESC, j.number DESC LIMIT $4",
        )
        .bind(filter.task.as_ref().map_or("", TaskId::as_str))
        .bind(filter.model.as_deref().unwrap_or_default())
        .bind(i64::from(filter.dropped))
        .bind(i64::from(filter.limit))
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(dead_letter).collect()
    }

    /// Dismisses a dead letter: it stays in its task's history, and is no longer listed. False when it was dismissed
    /// before. A retry of the task brings it back.
    ///
    /// # Errors
    /// [`DropError::NotDead`] when the job has not died.
    pub async fn drop_dead_letter(&self, job: &JobId, by: &str) -> Result<bool, DropError> {
        let mut tx = self.lock(&job.task).await?;
        let row = sqlx::query("SELECT state, dropped_at FROM jobs WHERE task_id = $1 AND number = $2")
            .bind(job.task.as_str())
            .bind(i64::from(job.no.0))
            .fetch_optional(&mut *tx.tx)
            .await
            .map_err(StoreError::from)?;
        let Some(row) = row else {
            tx.roll_back().await?;
            return Err(DropError::NoJob(job.clone()));
        };
        let state: JobState = parsed(&row, "state")?;
        let dropped = row.try_get::<Option<i64>, _>("dropped_at").map_err(StoreError::from)?.is_some();
        if state != JobState::Dead || dropped {
            tx.roll_back().await?;
            return if dropped { Ok(false) } else { Err(DropError::NotDead(job.clone(), state)) };
        }
        // The task's row is locked, so the job is still dead.
        sqlx::query("UPDATE jobs SET dropped_by = $3, dropped_at = $4 WHERE task_id = $1 AND number = $2")
            .bind(job.task.as_str())
            .bind(i64::from(job.no.0))
            .bind(by)
            .bind(tx.now.0)
            .execute(&mut *tx.tx)
            .await
            .map_err(StoreError::from)?;
        tx.event(&Event::DeadLetterDropped { job: job.no, by: by.to_owned() }).await?;
        tx.commit().await?;
        Ok(true)
    }
}

fn dead_letter(row: &AnyRow) -> Result<DeadLetter, StoreError> {
    let at: Option<i64> = row.try_get("finished_at")?;
    Ok(DeadLetter {
        job: JobId { task: parsed(row, "task_id")?, no: JobNo(number(row, "number")?) },
        kind: row.try_get("kind")?,
        // A job that can't be read is a dead letter because of that.
        agent: json::<JobSpec>(row, "spec").ok().map(|spec| spec.agent().to_string()),
        model: row.try_get("model")?,
        reason: row.try_get("last_error")?,
        died_at: Millis(at.map_or_else(|| row.try_get("created_at"), Ok)?),
        task_kind: parsed(row, "task_kind")?,
        task_status: parsed(row, "task_status")?,
        dropped_by: row.try_get("dropped_by")?,
    })
}

//! Advancing: read a task and its oldest input, then commit what the pure machine answered.

use nightforge_domain::state::Transition;
use nightforge_domain::{Event, Input, JobNo, ModelName, TaskId};
use sqlx::Row;

use crate::rows::{json, number, parsed, task_row, without_nul};
use crate::task_tx::TaskTx;
use crate::{Store, StoreError, TaskRow, records};

/// A task and the oldest input that it has not consumed.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Read before the input, so a lost swap is noticed.
    pub task: TaskRow,
    /// The input's number.
    pub number: i64,
    /// The input.
    pub input: Input,
}

/// A committed transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The task's `seq` after it.
    pub seq: i64,
    /// Models that have new ready jobs.
    pub ring: Vec<ModelName>,
}

impl Store {
    /// The task, then its oldest unconsumed input; `None` when there is none.
    ///
    /// # Errors
    /// When there is no such task, or a row can't be read.
    pub async fn pending(&self, task: &TaskId) -> Result<Option<Pending>, StoreError> {
        let row = self.stored_task(task).await?;
        let found = sqlx::query(
            "SELECT number, body FROM inputs WHERE task_id = $1 AND consumed_seq IS NULL ORDER BY number LIMIT 1",
        )
        .bind(task.as_str())
        .fetch_optional(&self.read)
        .await?;
        let Some(found) = found else { return Ok(None) };
        Ok(Some(Pending {
            task: task_row(&row)?,
            number: found.try_get("number")?,
            input: json(&found, "body")?,
        }))
    }

    /// Commits the transition that `pending` led to. `None` when another scheduler was faster: nothing was
    /// written, and the caller looks again.
    ///
    /// # Errors
    /// When the database fails; then nothing was written, or the commit's answer was lost and the next look
    /// shows it.
    pub async fn commit(
        &self,
        pending: &Pending,
        transition: &Transition,
    ) -> Result<Option<Committed>, StoreError> {
        let mut tx = self.lock(&pending.task.id).await?;
        if tx.seq != pending.task.seq {
            tx.roll_back().await?;
            return Ok(None);
        }
        let seq = tx.seq + 1;
        let consumed = sqlx::query(
            "UPDATE inputs SET consumed_seq = $3 WHERE task_id = $1 AND number = $2 AND consumed_seq IS NULL",
        )
        .bind(tx.task.as_str())
        .bind(pending.number)
        .bind(seq)
        .execute(&mut *tx.tx)
        .await?
        .rows_affected();
        if consumed != 1 {
            tx.roll_back().await?;
            return Ok(None);
        }
        write_state(&mut tx, seq, &pending.task, transition).await?;
        for event in &transition.events {
            tx.event(event).await?;
        }
        let mut ring = Vec::new();
        for job in &transition.jobs {
            let agent = job.agent();
            let model = pending.task.models.of(agent).cloned();
            let model =
                model.ok_or_else(|| StoreError::corrupt("models", format!("none for the {agent}")))?;
            insert_job(&mut tx, &pending.task, job, &model).await?;
            ring.push(model);
        }
        records::write(&mut tx, transition).await?;
        for job in &transition.revive {
            ring.push(revive(&mut tx, *job).await?);
        }
        if transition.stop_jobs {
            end_ready_jobs(&mut tx).await?;
        }
        tx.commit().await?;
        ring.sort();
        ring.dedup();
        Ok(Some(Committed { seq, ring }))
    }
}

async fn write_state(
    tx: &mut TaskTx<'_>,
    seq: i64,
    before: &TaskRow,
    transition: &Transition,
) -> Result<(), StoreError> {
    let state = &transition.state;
    let status = state.status();
    // A late input that a finished task consumes does not finish it again.
    let result = transition.report.as_ref().and_then(|report| report.result.as_ref());
    let result = result.map(|result| without_nul(&result.to_string()));
    let finished = status.is_final().then(|| before.finished_at.unwrap_or(tx.now).0);
    sqlx::query(
        "UPDATE tasks SET seq = $2, state = $3, status = $4, phase = $5, stopping = $6, head = $7,
            report = COALESCE($8, report), result = COALESCE($9, result), finished_at = $10
         WHERE id = $1",
    )
    .bind(tx.task.as_str())
    .bind(seq)
    .bind(serde_json::to_string(state).map_err(|e| StoreError::corrupt("state", e))?)
    .bind(status.as_str())
    .bind(state.phase())
    .bind(i64::from(state.is_stopping()))
    .bind(state.head().map(|head| head.as_str().to_owned()))
    .bind(transition.report.as_ref().map(|report| without_nul(&report.markdown)))
    .bind(result)
    .bind(finished)
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

async fn insert_job(
    tx: &mut TaskTx<'_>,
    task: &TaskRow,
    job: &nightforge_domain::state::NewJob,
    model: &ModelName,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO jobs (task_id, number, kind, spec, model, owner, priority, state, run_after, fence, steps,
            progress, faults, deaths, infra_failures, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'ready', $8, 0, 0, 0, 0, 0, 0, $8)",
    )
    .bind(tx.task.as_str())
    .bind(i64::from(job.no.0))
    .bind(job.spec.kind())
    .bind(serde_json::json!(job.spec).to_string())
    .bind(model.as_str())
    .bind(&task.owner)
    .bind(i64::from(task.priority.get()))
    .bind(tx.now.0)
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

/// Makes a dead, failed or cancelled job ready again. Its journal stays; its fence only grows.
async fn revive(tx: &mut TaskTx<'_>, job: JobNo) -> Result<ModelName, StoreError> {
    let row = sqlx::query(
        "UPDATE jobs SET state = 'ready', run_after = $3, fence = fence + 1, boot_id = NULL, lease_until = NULL,
            progress = 0, faults = 0, deaths = 0, infra_failures = 0, failed_at = NULL, finished_at = NULL,
            dropped_by = NULL, dropped_at = NULL
         WHERE task_id = $1 AND number = $2 AND state IN ('dead', 'failed', 'cancelled')
         RETURNING model",
    )
    .bind(tx.task.as_str())
    .bind(i64::from(job.0))
    .bind(tx.now.0)
    .fetch_optional(&mut *tx.tx)
    .await?
    // The task would wait for it for ever.
    .ok_or_else(|| StoreError::corrupt("jobs.state", format!("job {job} can't be made ready again")))?;
    parsed(&row, "model")
}

/// Ends every ready job of a task that is stopping; running ones see the flag on the task.
async fn end_ready_jobs(tx: &mut TaskTx<'_>) -> Result<(), StoreError> {
    let rows = sqlx::query(
        "UPDATE jobs SET state = 'cancelled', finished_at = $2 WHERE task_id = $1 AND state = 'ready'
         RETURNING number",
    )
    .bind(tx.task.as_str())
    .bind(tx.now.0)
    .fetch_all(&mut *tx.tx)
    .await?;
    for row in rows {
        let job = JobNo(number(&row, "number")?);
        tx.event(&Event::JobCancelled { job }).await?;
        tx.input(&Input::JobCancelled { job }).await?;
    }
    Ok(())
}

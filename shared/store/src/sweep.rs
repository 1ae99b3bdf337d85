//! What the leader puts right: expired leases, inputs that nobody looked at, deadlines. Bounded batches, one task
//! per transaction, and every write repeats the condition that it was found by.

use nightforge_domain::{Event, Fence, Input, JobId, JobNo, ModelName, Status, TaskId};
use sqlx::Row;

use crate::fenced::{MAX_DEATHS, cancel, died};
use crate::pauses::queue_paused;
use crate::rows::{number, parsed};
use crate::{Ended, Store, StoreError};

/// A claim whose lease is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredLease {
    /// The job.
    pub job: JobId,
    /// The claim's fence.
    pub fence: Fence,
}

/// What sweeping one lease did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The job's model, to be rung.
    pub model: ModelName,
    /// What became of the job.
    pub ended: Ended,
}

impl Store {
    /// Claims whose lease is over, or whose process is known to be gone.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn expired_leases(&self, limit: i64) -> Result<Vec<ExpiredLease>, StoreError> {
        let rows = sqlx::query(self.sql(
            "SELECT task_id, number, fence FROM jobs
             WHERE state = 'running' AND (lease_until < {now}
                OR boot_id IN (SELECT boot_id FROM processes WHERE gone = 1))
             ORDER BY lease_until LIMIT $1",
        ))
        .bind(limit)
        .fetch_all(&self.read)
        .await?;
        rows.iter()
            .map(|row| {
                let job = JobId { task: parsed(row, "task_id")?, no: JobNo(number(row, "number")?) };
                Ok(ExpiredLease { job, fence: Fence(row.try_get("fence")?) })
            })
            .collect()
    }

    /// Takes a job from a claim whose lease is over; `None` when it was renewed, finished or swept meanwhile.
    ///
    /// It is a death only if the owner's process is known to be gone: a slow but live worker is infrastructure.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn sweep_lease(&self, lease: &ExpiredLease) -> Result<Option<Swept>, StoreError> {
        let ExpiredLease { job, fence } = lease;
        let mut tx = self.lock(&job.task).await?;
        let row = sqlx::query(tx.sql(
            "UPDATE jobs SET lease_until = NULL
             WHERE task_id = $1 AND number = $2 AND fence = $3 AND state = 'running'
                AND (lease_until < {now} OR boot_id IN (SELECT boot_id FROM processes WHERE gone = 1))
             RETURNING model, progress, deaths,
                (SELECT count(*) FROM processes p WHERE p.boot_id = jobs.boot_id AND p.gone = 1) AS gone",
        ))
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .bind(fence.0)
        .fetch_optional(&mut *tx.tx)
        .await?;
        let Some(row) = row else {
            tx.roll_back().await?;
            return Ok(None);
        };
        let model = parsed(&row, "model")?;
        let worker_gone = row.try_get::<i64, _>("gone")? > 0;
        let without_progress = row.try_get::<i64, _>("progress")? == 0;
        let deaths = row.try_get::<i64, _>("deaths")? + i64::from(worker_gone && without_progress);
        tx.event(&Event::LeaseExpired { job: job.no, fence: *fence, worker_gone }).await?;
        let ended = if tx.stopping {
            cancel(&mut tx, job, *fence, "its worker was lost while the task was stopping").await?;
            Ended::Cancelled
        } else {
            let dead = deaths >= MAX_DEATHS;
            let reason = format!("its worker died {MAX_DEATHS} times in a row without a new step");
            sqlx::query(
                "UPDATE jobs SET state = $4, run_after = $5, boot_id = NULL, deaths = $6,
                    finished_at = CASE WHEN $4 = 'dead' THEN $5 ELSE NULL END,
                    last_error = CASE WHEN $4 = 'dead' THEN $7 ELSE last_error END
                 WHERE task_id = $1 AND number = $2 AND fence = $3 AND state = 'running'",
            )
            .bind(job.task.as_str())
            .bind(i64::from(job.no.0))
            .bind(fence.0)
            .bind(if dead { "dead" } else { "ready" })
            .bind(tx.now.0)
            .bind(deaths)
            .bind(&reason)
            .execute(&mut *tx.tx)
            .await?;
            if dead {
                died(&mut tx, job, &reason).await?;
                Ended::Dead
            } else {
                Ended::Ready
            }
        };
        tx.commit().await?;
        Ok(Some(Swept { model, ended }))
    }

    /// Tasks with an input older than `age_ms`: their bell was lost.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn tasks_with_stale_inputs(&self, age_ms: i64, limit: i64) -> Result<Vec<TaskId>, StoreError> {
        let rows = sqlx::query(self.sql(
            "SELECT task_id, min(created_at) AS oldest FROM inputs
             WHERE consumed_seq IS NULL AND created_at <= {now} - $1
                AND NOT EXISTS (SELECT 1 FROM tasks t
                    WHERE t.id = inputs.task_id AND t.status = 'queued' AND t.next_input = 2)
             GROUP BY task_id ORDER BY oldest LIMIT $2",
        ))
        .bind(age_ms)
        .bind(limit)
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(|row| parsed(row, "task_id")).collect()
    }

    /// Models with jobs that could be claimed now.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn models_with_ready_jobs(&self) -> Result<Vec<ModelName>, StoreError> {
        let rows = sqlx::query(self.sql(concat!(
            "SELECT DISTINCT j.model FROM jobs j JOIN tasks t ON t.id = j.task_id
             WHERE j.state = 'ready' AND j.run_after <= {now} AND t.stopping = 0 AND t.paused = 0
                AND NOT ",
            queue_paused!("j.model", "t.kind"),
        )))
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(|row| parsed(row, "model")).collect()
    }

    /// Writes the input of deadlines that have passed, once each; returns the tasks to ring. A task that is over
    /// gets none.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn pass_deadlines(&self, limit: i64) -> Result<Vec<TaskId>, StoreError> {
        let rows = sqlx::query(
            self.sql("SELECT id, due_at FROM tasks WHERE due_at <= {now} ORDER BY due_at LIMIT $1"),
        )
        .bind(limit)
        .fetch_all(&self.read)
        .await?;
        let mut rung = Vec::new();
        for row in rows {
            let task: TaskId = parsed(&row, "id")?;
            let due: i64 = row.try_get("due_at")?;
            let mut tx = self.lock(&task).await?;
            let passed = sqlx::query(
                "UPDATE tasks SET due_at = NULL WHERE id = $1 AND due_at = $2 AND due_at <= $3 RETURNING status",
            )
            .bind(task.as_str())
            .bind(due)
            .bind(tx.now.0)
            .fetch_optional(&mut *tx.tx)
            .await?;
            let Some(passed) = passed else {
                tx.roll_back().await?;
                continue;
            };
            let over = parsed::<Status>(&passed, "status")?.is_final();
            if !over {
                tx.input(&Input::DeadlinePassed).await?;
                rung.push(task);
            }
            tx.commit().await?;
        }
        Ok(rung)
    }
}

//! Writes that a claim makes. Each starts by locking the task row and then takes one row with the claim's fence;
//! a claim whose fence is old changes nothing.

use nightforge_domain::fault::FaultClass;
use nightforge_domain::{Event, Fence, Input, JobId, JobResult, Millis, Step};
use sqlx::Row;

use crate::rows::{json, number, without_nul};
use crate::task_tx::TaskTx;
use crate::{Store, StoreError};

/// Deaths in a row without a new step before a job is a dead letter.
pub(crate) const MAX_DEATHS: i64 = 3;

/// The claim is over: somebody else may hold the job. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the claim is over")]
pub struct Lost;

/// The result of a fenced write; the outer error is the database's.
pub type Fenced<T> = Result<Result<T, Lost>, StoreError>;

/// Why a job is handed back, uncounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandBack {
    /// For the log.
    pub reason: String,
    /// Until it is ready again.
    pub delay_ms: i64,
    /// Whether the same step failed on infrastructure, for the back-off and the poison check.
    pub infrastructure: bool,
}

/// What became of a job that its claim ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Ready again, now or later.
    Ready,
    /// Its faults are used up.
    Failed,
    /// A dead letter.
    Dead,
    /// Its task is stopping.
    Cancelled,
}

/// How an ending job is left.
pub(crate) struct End {
    pub(crate) state: &'static str,
    pub(crate) run_after: Millis,
    pub(crate) faults: i64,
    pub(crate) infra_failures: i64,
    pub(crate) error: String,
}

impl Store {
    /// Journals one step, whose ordinal must be the number of steps so far, and appends `events` to the task's log in
    /// the same transaction. It ends the count of deaths and of infrastructure failures in a row. A step that this
    /// claim has recorded already, because the answer to its commit was lost, is fine; its events are there, too.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over, or the journal has another length.
    pub async fn record_step(&self, job: &JobId, fence: Fence, step: &Step, events: &[Event]) -> Fenced<()> {
        let mut tx = self.lock(&job.task).await?;
        let changed = sqlx::query(
            "UPDATE jobs SET steps = steps + 1, progress = 1, deaths = 0, infra_failures = 0, failed_at = NULL
             WHERE task_id = $1 AND number = $2 AND fence = $3 AND state = 'running' AND steps = $4",
        )
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .bind(fence.0)
        .bind(i64::from(step.ordinal))
        .execute(&mut *tx.tx)
        .await?
        .rows_affected();
        if changed != 1 {
            let recorded = has_recorded(&mut tx, job, fence, step).await?;
            tx.roll_back().await?;
            return Ok(if recorded { Ok(()) } else { Err(Lost) });
        }
        sqlx::query(
            "INSERT INTO steps (task_id, job, ordinal, name, input_hash, output, duration_ms, fence, at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .bind(i64::from(step.ordinal))
        .bind(without_nul(&step.name))
        .bind(&step.input_hash)
        .bind(step.output.to_string())
        .bind(step.duration_ms)
        .bind(fence.0)
        .bind(tx.now.0)
        .execute(&mut *tx.tx)
        .await?;
        for event in events {
            tx.event(event).await?;
        }
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// The job's journal, in order.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn journal(&self, job: &JobId) -> Result<Vec<Step>, StoreError> {
        let rows = sqlx::query(
            "SELECT ordinal, name, input_hash, output, duration_ms, at FROM steps
             WHERE task_id = $1 AND job = $2 ORDER BY ordinal",
        )
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .fetch_all(&self.read)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(Step {
                    ordinal: number(row, "ordinal")?,
                    name: row.try_get("name")?,
                    input_hash: row.try_get("input_hash")?,
                    output: json(row, "output")?,
                    duration_ms: row.try_get("duration_ms")?,
                    at: Millis(row.try_get("at")?),
                })
            })
            .collect()
    }

    /// Drops the journal from `from` on: the program or a prompt changed, and what follows no longer fits.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over, or the journal is shorter than `from`.
    pub async fn cut_journal(&self, job: &JobId, fence: Fence, from: u32, reason: &str) -> Fenced<()> {
        let mut tx = self.lock(&job.task).await?;
        let changed = sqlx::query(
            "UPDATE jobs SET steps = $4
             WHERE task_id = $1 AND number = $2 AND fence = $3 AND state = 'running' AND steps >= $4",
        )
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .bind(fence.0)
        .bind(i64::from(from))
        .execute(&mut *tx.tx)
        .await?
        .rows_affected();
        if changed != 1 {
            tx.roll_back().await?;
            return Ok(Err(Lost));
        }
        sqlx::query("DELETE FROM steps WHERE task_id = $1 AND job = $2 AND ordinal >= $3")
            .bind(job.task.as_str())
            .bind(i64::from(job.no.0))
            .bind(i64::from(from))
            .execute(&mut *tx.tx)
            .await?;
        tx.event(&Event::JournalCut { job: job.no, from_step: from, reason: reason.to_owned() }).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Ends the job with its result, which is also left as the task's input.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over.
    pub async fn finish(&self, job: &JobId, fence: Fence, result: &JobResult) -> Fenced<()> {
        let mut tx = self.lock(&job.task).await?;
        let end =
            End { state: "done", run_after: tx.now, faults: 0, infra_failures: 0, error: String::new() };
        if !leave(&mut tx, job, fence, &end).await? {
            tx.roll_back().await?;
            return Ok(Err(Lost));
        }
        tx.event(&Event::JobDone { job: job.no }).await?;
        tx.input(&Input::JobDone { job: job.no, result: result.clone() }).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Hands the job back: nothing is counted. While its task is stopping it becomes cancelled instead.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over.
    pub async fn hand_back(&self, job: &JobId, fence: Fence, why: &HandBack) -> Fenced<Ended> {
        let mut tx = self.lock(&job.task).await?;
        let Some((faults, infra)) = held(&mut tx, job, fence).await? else {
            tx.roll_back().await?;
            return Ok(Err(Lost));
        };
        let ended = if tx.stopping {
            cancel(&mut tx, job, fence, &why.reason).await?;
            Ended::Cancelled
        } else {
            let end = End {
                state: "ready",
                run_after: Millis(tx.now.0 + why.delay_ms),
                faults,
                infra_failures: if why.infrastructure { infra + 1 } else { infra },
                error: why.reason.clone(),
            };
            leave(&mut tx, job, fence, &end).await?;
            tx.event(&Event::JobHandedBack { job: job.no, fence, reason: why.reason.clone() }).await?;
            Ended::Ready
        };
        tx.commit().await?;
        Ok(Ok(ended))
    }

    /// Counts a fault of the job's own doing: ready again, or failed when `1 + max_retries` are used up.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over.
    pub async fn fault(
        &self,
        job: &JobId,
        fence: Fence,
        class: FaultClass,
        reason: &str,
        max_retries: u32,
    ) -> Fenced<Ended> {
        let mut tx = self.lock(&job.task).await?;
        let Some((faults, _)) = held(&mut tx, job, fence).await? else {
            tx.roll_back().await?;
            return Ok(Err(Lost));
        };
        let faults = faults + 1;
        let ended = if tx.stopping {
            cancel(&mut tx, job, fence, reason).await?;
            Ended::Cancelled
        } else {
            let used_up = faults > i64::from(max_retries);
            let state = if used_up { "failed" } else { "ready" };
            let end = End { state, run_after: tx.now, faults, infra_failures: 0, error: reason.to_owned() };
            leave(&mut tx, job, fence, &end).await?;
            let reason = reason.to_owned();
            let event = Event::JobFault { job: job.no, class, faults: faults as u32, reason: reason.clone() };
            tx.event(&event).await?;
            if used_up {
                tx.event(&Event::JobFailed { job: job.no, class, reason: reason.clone() }).await?;
                let model_ms = model_ms(&mut tx, job).await?;
                tx.input(&Input::JobFailed { job: job.no, class, reason, model_ms }).await?;
                Ended::Failed
            } else {
                Ended::Ready
            }
        };
        tx.commit().await?;
        Ok(Ok(ended))
    }

    /// Makes the job a dead letter: no further claim can help.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over.
    pub async fn bury(&self, job: &JobId, fence: Fence, reason: &str) -> Fenced<Ended> {
        let mut tx = self.lock(&job.task).await?;
        let Some((faults, infra_failures)) = held(&mut tx, job, fence).await? else {
            tx.roll_back().await?;
            return Ok(Err(Lost));
        };
        let ended = if tx.stopping {
            cancel(&mut tx, job, fence, reason).await?;
            Ended::Cancelled
        } else {
            let end =
                End { state: "dead", run_after: tx.now, faults, infra_failures, error: reason.to_owned() };
            leave(&mut tx, job, fence, &end).await?;
            died(&mut tx, job, reason).await?;
            Ended::Dead
        };
        tx.commit().await?;
        Ok(Ok(ended))
    }

    /// Ends a running job whose task is stopping.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over, or when the task is not stopping: then the job goes on under its next
    /// claim.
    pub async fn end_cancelled(&self, job: &JobId, fence: Fence) -> Fenced<()> {
        let mut tx = self.lock(&job.task).await?;
        if !tx.stopping || held(&mut tx, job, fence).await?.is_none() {
            tx.roll_back().await?;
            return Ok(Err(Lost));
        }
        cancel(&mut tx, job, fence, "the task is stopping").await?;
        tx.commit().await?;
        Ok(Ok(()))
    }
}

/// Whether this claim, which still holds the job, has recorded exactly this step as its last.
async fn has_recorded(
    tx: &mut TaskTx<'_>,
    job: &JobId,
    fence: Fence,
    step: &Step,
) -> Result<bool, StoreError> {
    let found: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM steps s JOIN jobs j ON j.task_id = s.task_id AND j.number = s.job
         WHERE s.task_id = $1 AND s.job = $2 AND s.fence = $3 AND s.ordinal = $4 AND s.input_hash = $5
            AND j.fence = $3 AND j.state = 'running' AND j.steps = s.ordinal + 1",
    )
    .bind(job.task.as_str())
    .bind(i64::from(job.no.0))
    .bind(fence.0)
    .bind(i64::from(step.ordinal))
    .bind(&step.input_hash)
    .fetch_one(&mut *tx.tx)
    .await?;
    Ok(found == 1)
}

/// Faults and infrastructure failures so far, if the claim holds the job.
pub(crate) async fn held(
    tx: &mut TaskTx<'_>,
    job: &JobId,
    fence: Fence,
) -> Result<Option<(i64, i64)>, StoreError> {
    let row = sqlx::query(
        "UPDATE jobs SET fence = fence WHERE task_id = $1 AND number = $2 AND fence = $3 AND state = 'running'
         RETURNING faults, infra_failures",
    )
    .bind(job.task.as_str())
    .bind(i64::from(job.no.0))
    .bind(fence.0)
    .fetch_optional(&mut *tx.tx)
    .await?;
    row.map(|row| Ok((row.try_get("faults")?, row.try_get("infra_failures")?))).transpose()
}

/// Takes the job out of `running`; false when the claim is over.
pub(crate) async fn leave(
    tx: &mut TaskTx<'_>,
    job: &JobId,
    fence: Fence,
    end: &End,
) -> Result<bool, StoreError> {
    let finished = (end.state != "ready").then_some(tx.now.0);
    let changed = sqlx::query(
        "UPDATE jobs SET state = $4, run_after = $5, boot_id = NULL, lease_until = NULL, faults = $6,
            failed_at = CASE WHEN $7 = 0 THEN NULL WHEN $7 > infra_failures THEN $10 ELSE failed_at END,
            infra_failures = $7, last_error = $8, finished_at = $9
         WHERE task_id = $1 AND number = $2 AND fence = $3 AND state = 'running'",
    )
    .bind(job.task.as_str())
    .bind(i64::from(job.no.0))
    .bind(fence.0)
    .bind(end.state)
    .bind(end.run_after.0)
    .bind(end.faults)
    .bind(end.infra_failures)
    .bind((!end.error.is_empty()).then(|| without_nul(&end.error)))
    .bind(finished)
    .bind(tx.now.0)
    .execute(&mut *tx.tx)
    .await?
    .rows_affected();
    Ok(changed == 1)
}

/// How long a job's model calls took so far, those of earlier claims included.
async fn model_ms(tx: &mut TaskTx<'_>, job: &JobId) -> Result<i64, StoreError> {
    // sum() over BIGINT is NUMERIC on PostgreSQL.
    let sum = sqlx::query_scalar(
        "SELECT CAST(COALESCE(sum(duration_ms), 0) AS BIGINT) FROM ledger WHERE task_id = $1 AND job = $2",
    );
    Ok(sum.bind(job.task.as_str()).bind(i64::from(job.no.0)).fetch_one(&mut *tx.tx).await?)
}

/// The one input of a job that ends because its task is stopping.
pub(crate) async fn cancel(
    tx: &mut TaskTx<'_>,
    job: &JobId,
    fence: Fence,
    reason: &str,
) -> Result<(), StoreError> {
    let end =
        End { state: "cancelled", run_after: tx.now, faults: 0, infra_failures: 0, error: reason.to_owned() };
    leave(tx, job, fence, &end).await?;
    tx.event(&Event::JobCancelled { job: job.no }).await?;
    tx.input(&Input::JobCancelled { job: job.no }).await
}

/// The one input of a job that became a dead letter.
pub(crate) async fn died(tx: &mut TaskTx<'_>, job: &JobId, reason: &str) -> Result<(), StoreError> {
    tx.event(&Event::JobDied { job: job.no, reason: reason.to_owned() }).await?;
    tx.input(&Input::JobDied { job: job.no, reason: reason.to_owned() }).await
}

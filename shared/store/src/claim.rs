//! Claims: one execution of a job by one worker, under a fence and a lease.

use nightforge_domain::{BootId, Event, Fence, JobId, JobNo, JobSpec, Millis, ModelName};
use sqlx::Row;

use crate::fenced::{End, died, leave};
use crate::pauses::queue_paused;
use crate::rows::{json, number, parsed};
use crate::task_tx::TaskTx;
use crate::{Store, StoreError, TaskRow};

/// Candidates that a claim looks at before it gives up for this time.
const CANDIDATES: i64 = 8;

/// A job that this process executes now.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The job.
    pub job: JobId,
    /// Every write carries it; a later claim makes it worthless.
    pub fence: Fence,
    /// What is to be done.
    pub spec: JobSpec,
    /// The model that the job asks for.
    pub model: ModelName,
    /// The task as it was when the claim committed.
    pub task: TaskRow,
    /// Steps that earlier claims journaled.
    pub steps: u32,
    /// Infrastructure failures in a row at the step that comes next.
    pub infra_failures: u32,
    /// When it was claimed.
    pub claimed_at: Millis,
}

/// What renewing found for one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// The lease runs on.
    Held,
    /// The lease runs on, and the job should end: its task is stopping.
    Stop,
    /// The lease runs on, and the job should be handed back after its step: its task or queue is paused.
    Pause,
    /// The claim is over; its execution must end without writing.
    Lost,
}

impl Store {
    /// Claims the best ready job for `model`: highest priority, then the owner whose turn is longest ago, then
    /// the oldest. `None` when nothing is ready, or while `boot` is taken for gone: its claims would be swept at
    /// once. Its next heartbeat ends that.
    ///
    /// A job that this program can't read is made a dead letter and passed over.
    ///
    /// # Errors
    /// When the database fails, or when nothing could be claimed because a task's row can't be read.
    pub async fn claim(
        &self,
        model: &ModelName,
        boot: &BootId,
        worker: &str,
        lease_ms: i64,
    ) -> Result<Option<Claim>, StoreError> {
        let candidates = sqlx::query(self.sql(concat!(
            "SELECT j.task_id, j.number FROM jobs j
             JOIN tasks t ON t.id = j.task_id
             LEFT JOIN turns o ON o.model = j.model AND o.owner = j.owner
             WHERE j.model = $1 AND j.state = 'ready' AND j.run_after <= {now} AND t.stopping = 0 AND t.paused = 0
                AND NOT ",
            queue_paused!("j.model", "t.kind"),
            " ORDER BY j.priority DESC, COALESCE(o.last_at, 0), j.created_at, j.task_id, j.number
             LIMIT $2",
        )))
        .bind(model.as_str())
        .bind(CANDIDATES)
        .fetch_all(&self.read)
        .await?;
        let mut unreadable = None;
        for row in candidates {
            let job = JobId { task: parsed(&row, "task_id")?, no: JobNo(number(&row, "number")?) };
            match self.claim_this(job.clone(), model, boot, worker, lease_ms).await {
                Ok(Some(claim)) => return Ok(Some(claim)),
                Ok(None) => {}
                Err(error @ StoreError::Corrupt { .. }) => {
                    // It must not hold up the jobs behind it.
                    tracing::error!(job.id = %job, %error, "passed over");
                    unreadable = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        unreadable.map_or(Ok(None), Err)
    }

    async fn claim_this(
        &self,
        job: JobId,
        model: &ModelName,
        boot: &BootId,
        worker: &str,
        lease_ms: i64,
    ) -> Result<Option<Claim>, StoreError> {
        let mut tx = self.lock(&job.task).await?;
        if tx.stopping || tx.paused {
            tx.roll_back().await?;
            return Ok(None);
        }
        let row = sqlx::query(concat!(
            "UPDATE jobs SET state = 'running', fence = fence + 1, boot_id = $3, lease_until = $4, progress = 0,
                claimed_at = $5
             WHERE task_id = $1 AND number = $2 AND state = 'ready' AND run_after <= $5
                AND NOT EXISTS (SELECT 1 FROM processes p WHERE p.boot_id = $3 AND p.gone = 1)
                AND NOT ",
            queue_paused!("jobs.model", "(SELECT t.kind FROM tasks t WHERE t.id = jobs.task_id)"),
            " RETURNING fence, spec, steps, infra_failures, owner",
        ))
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .bind(boot.as_str())
        .bind(tx.now.0 + lease_ms)
        .bind(tx.now.0)
        .fetch_optional(&mut *tx.tx)
        .await?;
        let Some(row) = row else {
            tx.roll_back().await?;
            return Ok(None);
        };
        let fence = Fence(row.try_get("fence")?);
        let spec = match json(&row, "spec") {
            Ok(spec) => spec,
            Err(error) => {
                tracing::error!(job.id = %job, %error, "dead letter");
                bury_unreadable(&mut tx, &job, fence, &error).await?;
                tx.commit().await?;
                return Ok(None);
            }
        };
        let claim = Claim {
            job,
            fence,
            spec,
            model: model.clone(),
            task: tx.row().await?,
            steps: number(&row, "steps")?,
            infra_failures: number(&row, "infra_failures")?,
            claimed_at: tx.now,
        };
        tx.event(&Event::JobClaimed { job: claim.job.no, fence, worker: worker.to_owned() }).await?;
        sqlx::query(
            "INSERT INTO turns (model, owner, last_at)
             SELECT $1, $2, CASE WHEN COALESCE(max(last_at), 0) < $3 THEN $3 ELSE max(last_at) + 1 END
             FROM turns WHERE model = $1
             ON CONFLICT (model, owner) DO UPDATE SET last_at = excluded.last_at",
        )
        .bind(model.as_str())
        .bind(row.try_get::<String, _>("owner")?)
        .bind(tx.now.0)
        .execute(&mut *tx.tx)
        .await?;
        tx.commit().await?;
        Ok(Some(claim))
    }

    /// Renews the leases of exactly these claims, each under its own condition, for `lease_ms` from now; the
    /// answers are in the order of `claims`. A lease that is over can still be renewed until it is swept.
    ///
    /// # Errors
    /// When the database fails; claims that were not reached keep their old lease.
    pub async fn renew(
        &self,
        boot: &BootId,
        claims: &[(JobId, Fence)],
        lease_ms: i64,
    ) -> Result<Vec<Renewal>, StoreError> {
        let mut found = Vec::with_capacity(claims.len());
        for (job, fence) in claims {
            let mut tx = self.lock(&job.task).await?;
            let renewed = sqlx::query(concat!(
                "UPDATE jobs SET lease_until = $5
                 WHERE task_id = $1 AND number = $2 AND fence = $3 AND boot_id = $4 AND state = 'running'
                 RETURNING CAST(CASE WHEN ",
                queue_paused!("jobs.model", "(SELECT t.kind FROM tasks t WHERE t.id = jobs.task_id)"),
                " THEN 1 ELSE 0 END AS BIGINT) AS queue_paused",
            ))
            .bind(job.task.as_str())
            .bind(i64::from(job.no.0))
            .bind(fence.0)
            .bind(boot.as_str())
            .bind(tx.now.0 + lease_ms)
            .fetch_optional(&mut *tx.tx)
            .await?;
            let Some(renewed) = renewed else {
                tx.roll_back().await?;
                found.push(Renewal::Lost);
                continue;
            };
            let queue_paused = renewed.try_get::<i64, _>("queue_paused")? != 0;
            found.push(match (tx.stopping, tx.paused || queue_paused) {
                (true, _) => Renewal::Stop,
                (false, true) => Renewal::Pause,
                (false, false) => Renewal::Held,
            });
            tx.commit().await?;
        }
        Ok(found)
    }
}

/// No claim of this program can help a job that it can't read.
async fn bury_unreadable(
    tx: &mut TaskTx<'_>,
    job: &JobId,
    fence: Fence,
    error: &StoreError,
) -> Result<(), StoreError> {
    let reason = error.to_string();
    let end = End { state: "dead", run_after: tx.now, faults: 0, infra_failures: 0, error: reason.clone() };
    leave(tx, job, fence, &end).await?;
    died(tx, job, &reason).await
}

//! Claims: one execution of a job by one worker, under a fence and a lease.

use nightforge_domain::{BootId, Event, Fence, JobId, JobNo, JobSpec, Millis, ModelName, TaskId};
use sqlx::Row;

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
    /// the oldest. `None` when nothing is ready.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn claim(
        &self,
        model: &ModelName,
        boot: &BootId,
        worker: &str,
        lease_ms: i64,
    ) -> Result<Option<Claim>, StoreError> {
        let candidates = sqlx::query(self.sql(
            "SELECT j.task_id, j.number FROM jobs j
             JOIN tasks t ON t.id = j.task_id
             LEFT JOIN turns o ON o.model = j.model AND o.owner = j.owner
             WHERE j.model = $1 AND j.state = 'ready' AND j.run_after <= {now} AND t.stopping = 0 AND t.paused = 0
             ORDER BY j.priority DESC, COALESCE(o.last_at, 0), j.created_at, j.task_id, j.number
             LIMIT $2",
        ))
        .bind(model.as_str())
        .bind(CANDIDATES)
        .fetch_all(&self.read)
        .await?;
        for row in candidates {
            let task = row.try_get::<String, _>("task_id")?;
            let task: TaskId = task.parse().map_err(|e| StoreError::corrupt("task id", e))?;
            let no = JobNo(row.try_get::<i64, _>("number")? as u32);
            if let Some(claim) = self.claim_this(JobId { task, no }, model, boot, worker, lease_ms).await? {
                return Ok(Some(claim));
            }
        }
        Ok(None)
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
        let row = sqlx::query(
            "UPDATE jobs SET state = 'running', fence = fence + 1, boot_id = $3, lease_until = $4, progress = 0,
                claimed_at = $5
             WHERE task_id = $1 AND number = $2 AND state = 'ready' AND run_after <= $5
             RETURNING fence, spec, steps, infra_failures, owner",
        )
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
        let spec: String = row.try_get("spec")?;
        let spec = serde_json::from_str(&spec).map_err(|e| StoreError::corrupt("job spec", e))?;
        tx.event(&Event::JobClaimed { job: job.no, fence, worker: worker.to_owned() }).await?;
        sqlx::query(
            "INSERT INTO turns (model, owner, last_at) VALUES ($1, $2, $3)
             ON CONFLICT (model, owner) DO UPDATE SET last_at = excluded.last_at",
        )
        .bind(model.as_str())
        .bind(row.try_get::<String, _>("owner")?)
        .bind(tx.now.0)
        .execute(&mut *tx.tx)
        .await?;
        let claimed_at = tx.now;
        tx.commit().await?;
        let task = self.task(&job.task).await?;
        Ok(Some(Claim {
            job,
            fence,
            spec,
            model: model.clone(),
            task,
            steps: row.try_get::<i64, _>("steps")? as u32,
            infra_failures: row.try_get::<i64, _>("infra_failures")? as u32,
            claimed_at,
        }))
    }

    /// Renews the leases of exactly these claims, each under its own condition.
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
            let renewed = sqlx::query(
                "UPDATE jobs SET lease_until = $5
                 WHERE task_id = $1 AND number = $2 AND fence = $3 AND boot_id = $4 AND state = 'running'",
            )
            .bind(job.task.as_str())
            .bind(i64::from(job.no.0))
            .bind(fence.0)
            .bind(boot.as_str())
            .bind(tx.now.0 + lease_ms)
            .execute(&mut *tx.tx)
            .await?
            .rows_affected();
            found.push(match (renewed, tx.stopping, tx.paused) {
                (0, ..) => Renewal::Lost,
                (_, true, _) => Renewal::Stop,
                (_, _, true) => Renewal::Pause,
                _ => Renewal::Held,
            });
            tx.commit().await?;
        }
        Ok(found)
    }
}

//! Telling a request that hurts its server from a server that is down for everybody.

use nightforge_domain::JobId;

use crate::{Store, StoreError};

impl Store {
    /// Whether the endpoint answered other jobs since this job last journaled a step.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn endpoint_served_others(&self, job: &JobId, endpoint: &str) -> Result<bool, StoreError> {
        let served: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM ledger
             WHERE endpoint = $1 AND outcome = 'ok' AND NOT (task_id = $2 AND job = $3)
                AND at > COALESCE((SELECT max(at) FROM steps WHERE task_id = $2 AND job = $3),
                    (SELECT created_at FROM jobs WHERE task_id = $2 AND number = $3))",
        )
        .bind(endpoint)
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .fetch_one(&self.read)
        .await?;
        Ok(served > 0)
    }
}

//! Telling a request that hurts its server from a server that is down for everybody.

use nightforge_domain::JobId;

use crate::{Store, StoreError};

impl Store {
    /// Whether the endpoint answered other jobs between this job's latest failure and now. Older answers say nothing:
    /// the server may have gone down for everybody since.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn endpoint_served_others(&self, job: &JobId, endpoint: &str) -> Result<bool, StoreError> {
        let served: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM ledger
             WHERE endpoint = $1 AND outcome = 'ok' AND NOT (task_id = $2 AND job = $3)
                AND at > (SELECT failed_at FROM jobs WHERE task_id = $2 AND number = $3)",
        )
        .bind(endpoint)
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .fetch_one(&self.read)
        .await?;
        Ok(served > 0)
    }
}

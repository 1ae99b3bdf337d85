//! The token ledger: one row per model call, also when it failed, was cut or lost its lease.

use nightforge_domain::build::Spent;
use nightforge_domain::{Fence, JobId, TaskId, Usage};
use sqlx::Row;

use crate::{Store, StoreError};

/// One model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Fresh for each call, see [`fresh_call_id`](crate::fresh_call_id): booked twice, it counts once.
    pub id: String,
    /// The job that made it.
    pub job: JobId,
    /// The claim that made it, which may be over.
    pub fence: Fence,
    /// The agent that asked.
    pub agent: String,
    /// The model as configured.
    pub model: String,
    /// The endpoint's URL, without credentials.
    pub endpoint: String,
    /// `ok`, or the class of the fault.
    pub outcome: String,
    /// Tokens as the server counted them.
    pub usage: Usage,
    /// From request to the last byte.
    pub duration_ms: i64,
}

impl Store {
    /// Books a model call, once however often it is tried. Not fenced: the tokens were used, whoever holds the job now.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn book(&self, entry: &LedgerEntry) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let tokens = |count: Option<u64>| count.map(|count| count as i64);
        sqlx::query(self.sql(
            "INSERT INTO ledger (id, task_id, job, fence, agent, model, endpoint, outcome, prompt_tokens,
                completion_tokens, cached_tokens, duration_ms, at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, {now})
             ON CONFLICT (id) DO NOTHING",
        ))
        .bind(&entry.id)
        .bind(entry.job.task.as_str())
        .bind(i64::from(entry.job.no.0))
        .bind(entry.fence.0)
        .bind(&entry.agent)
        .bind(&entry.model)
        .bind(&entry.endpoint)
        .bind(&entry.outcome)
        .bind(tokens(entry.usage.prompt_tokens))
        .bind(tokens(entry.usage.completion_tokens))
        .bind(tokens(entry.usage.cached_tokens))
        .bind(entry.duration_ms)
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    /// What a task's model calls used so far.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn spent(&self, task: &TaskId) -> Result<Spent, StoreError> {
        // sum() over BIGINT is NUMERIC on PostgreSQL.
        let row = sqlx::query(
            "SELECT count(*) AS calls, CAST(COALESCE(sum(prompt_tokens), 0) AS BIGINT) AS prompt,
                CAST(COALESCE(sum(completion_tokens), 0) AS BIGINT) AS completion,
                CAST(COALESCE(sum(duration_ms), 0) AS BIGINT) AS ms
             FROM ledger WHERE task_id = $1",
        )
        .bind(task.as_str())
        .fetch_one(&self.read)
        .await?;
        let number = |name: &str| row.try_get::<i64, _>(name).map(|n| n.max(0) as u64);
        Ok(Spent {
            model_calls: number("calls")?,
            prompt_tokens: number("prompt")?,
            completion_tokens: number("completion")?,
            model_ms: number("ms")?,
        })
    }
}

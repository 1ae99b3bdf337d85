//! What deciding on admission needs to know: how much is active, how much can be, who is next.

use nightforge_domain::{Kind, Priority, TaskId};

use crate::rows::parsed;
use crate::{Store, StoreError};

impl Store {
    /// Active tasks of a kind with at least this priority. Tasks that are paused, wait for a person or are over are
    /// not active.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn active_tasks(&self, kind: Kind, at_least: Priority) -> Result<i64, StoreError> {
        let count = sqlx::query_scalar(
            "SELECT count(*) FROM tasks WHERE status = 'running' AND paused = 0 AND kind = $1 AND priority >= $2",
        );
        Ok(count.bind(kind.as_str()).bind(i64::from(at_least.get())).fetch_one(&self.read).await?)
    }

    /// Queued tasks of the same kind whose turn comes before this one's.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn queued_before(
        &self,
        task: &TaskId,
        kind: Kind,
        priority: Priority,
    ) -> Result<i64, StoreError> {
        let count = sqlx::query_scalar(
            "SELECT count(*) FROM tasks WHERE status = 'queued' AND paused = 0 AND kind = $1
                AND (priority > $2 OR (priority = $2 AND id < $3))",
        );
        let count = count.bind(kind.as_str()).bind(i64::from(priority.get())).bind(task.as_str());
        Ok(count.fetch_one(&self.read).await?)
    }

    /// Model calls that the processes which are not known to be gone can make at a time.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn live_slots(&self) -> Result<i64, StoreError> {
        // sum() over BIGINT is NUMERIC on PostgreSQL.
        let sum = "SELECT CAST(COALESCE(sum(slots), 0) AS BIGINT) FROM processes WHERE gone = 0";
        Ok(sqlx::query_scalar(sum).fetch_one(&self.read).await?)
    }

    /// Tasks that wait for admission and nothing else, in the order of their turn.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn queued_tasks(&self, limit: i64) -> Result<Vec<TaskId>, StoreError> {
        let rows = sqlx::query(
            "SELECT id FROM tasks WHERE status = 'queued' AND paused = 0 ORDER BY priority DESC, id LIMIT $1",
        )
        .bind(limit)
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(|row| parsed(row, "id")).collect()
    }

    /// Whether a task has more inputs than its submission: a cancel or a deadline, which need no admission.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn has_further_inputs(&self, task: &TaskId) -> Result<bool, StoreError> {
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM inputs WHERE task_id = $1 AND number > 1")
            .bind(task.as_str())
            .fetch_one(&self.read)
            .await?;
        Ok(count > 0)
    }
}

//! Queues that people hold back: a model, or a kind of task. Nothing new is claimed of a paused one; a running job
//! finishes its step and is handed back.

use nightforge_domain::{Kind, Millis, ModelName};
use sqlx::Row;

use crate::rows::parsed;
use crate::{Store, StoreError};

/// An SQL condition: the queue of a job with this model, and of a task of this kind, is paused.
macro_rules! queue_paused {
    ($model:literal, $kind:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM pauses p WHERE (p.scope = 'model' AND p.name = ",
            $model,
            ") OR (p.scope = 'kind' AND p.name = ",
            $kind,
            "))"
        )
    };
}
pub(crate) use queue_paused;

/// What can be paused beside a single task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queue {
    /// Every job that asks for this model.
    Model(ModelName),
    /// Every job of a task of this kind.
    Kind(Kind),
}

impl Queue {
    fn columns(&self) -> (&'static str, &str) {
        match self {
            Queue::Model(name) => ("model", name.as_str()),
            Queue::Kind(kind) => ("kind", kind.as_str()),
        }
    }
}

/// A paused queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Which one.
    pub queue: Queue,
    /// Who paused it.
    pub by: String,
    /// Since when.
    pub at: Millis,
}

impl Store {
    /// Pauses a queue; false when it was paused already, which keeps the name of whoever did it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn pause_queue(&self, queue: &Queue, by: &str) -> Result<bool, StoreError> {
        let (scope, name) = queue.columns();
        let mut tx = self.begin().await?;
        let paused = sqlx::query(self.sql(
            "INSERT INTO pauses (scope, name, by_whom, at) VALUES ($1, $2, $3, {now})
             ON CONFLICT (scope, name) DO NOTHING",
        ))
        .bind(scope)
        .bind(name)
        .bind(by)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        tx.commit().await?;
        Ok(paused == 1)
    }

    /// Lets a queue go on; false when it was not paused.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn resume_queue(&self, queue: &Queue) -> Result<bool, StoreError> {
        let (scope, name) = queue.columns();
        let mut tx = self.begin().await?;
        let resumed = sqlx::query("DELETE FROM pauses WHERE scope = $1 AND name = $2")
            .bind(scope)
            .bind(name)
            .execute(&mut *tx)
            .await?
            .rows_affected();
        tx.commit().await?;
        Ok(resumed == 1)
    }

    /// Every paused queue, models first.
    ///
    /// # Errors
    /// When the database fails, or a row can't be read.
    pub async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        let rows = sqlx::query("SELECT scope, name, by_whom, at FROM pauses ORDER BY scope DESC, name")
            .fetch_all(&self.read)
            .await?;
        rows.iter()
            .map(|row| {
                let queue = match row.try_get::<String, _>("scope")?.as_str() {
                    "model" => Queue::Model(parsed(row, "name")?),
                    "kind" => Queue::Kind(parsed(row, "name")?),
                    other => return Err(StoreError::corrupt("scope", other)),
                };
                Ok(Pause { queue, by: row.try_get("by_whom")?, at: Millis(row.try_get("at")?) })
            })
            .collect()
    }
}

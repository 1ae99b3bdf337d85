//! What people ask of a task: each is only an input, except the pause flag. The next transition answers it.

use nightforge_domain::{Event, Input, TaskId};

use crate::{Store, StoreError};

/// A request that can't be taken as things stand.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The store failed, or there is no such task.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The task is over.
    #[error("the task is {0} already")]
    Over(String),
}

impl Store {
    /// Asks for the task's end. A result that came before still counts first.
    ///
    /// # Errors
    /// [`AskError::Over`] when the task is final.
    pub async fn ask_cancel(&self, task: &TaskId, by: &str) -> Result<(), AskError> {
        let row = self.task(task).await?;
        if row.status.is_final() {
            return Err(AskError::Over(row.status.to_string()));
        }
        self.leave_input(task, &Input::Cancel { by: by.to_owned() }).await.map_err(AskError::Store)
    }

    /// Asks for a stopped task to go on.
    ///
    /// # Errors
    /// When the database fails or there is no such task.
    pub async fn ask_retry(&self, task: &TaskId, by: &str) -> Result<(), StoreError> {
        self.leave_input(task, &Input::Retry { by: by.to_owned() }).await
    }

    /// Sets or clears the pause flag; true when it changed. Nothing new is claimed while it is set.
    ///
    /// # Errors
    /// When the database fails or there is no such task.
    pub async fn set_paused(&self, task: &TaskId, paused: bool, by: &str) -> Result<bool, StoreError> {
        let mut tx = self.lock(task).await?;
        if tx.paused == paused {
            tx.roll_back().await?;
            return Ok(false);
        }
        sqlx::query("UPDATE tasks SET paused = $2 WHERE id = $1")
            .bind(task.as_str())
            .bind(i64::from(paused))
            .execute(&mut *tx.tx)
            .await?;
        tx.event(&Event::PauseChanged { paused, by: by.to_owned() }).await?;
        tx.commit().await?;
        Ok(true)
    }

    pub(crate) async fn leave_input(&self, task: &TaskId, input: &Input) -> Result<(), StoreError> {
        let mut tx = self.lock(task).await?;
        tx.input(input).await?;
        tx.commit().await
    }
}

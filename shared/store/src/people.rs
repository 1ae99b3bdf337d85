//! What people ask of a task: each is only an input, except the pause flag. The next transition answers it.

use nightforge_domain::state::RetryRefusal;
use nightforge_domain::{Event, Input, JobNo, Status, TaskId};

use crate::rows::parsed;
use crate::task_tx::TaskTx;
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
    /// A retry would change nothing.
    #[error(transparent)]
    Retry(#[from] RetryRefusal),
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

    /// Asks for a stopped task to go on, paused or not: with every job that ended without a result, or with `from` and later ones.
    ///
    /// # Errors
    /// [`AskError::Retry`] when the machine would ignore it as things stand.
    pub async fn ask_retry(&self, task: &TaskId, from: Option<JobNo>, by: &str) -> Result<(), AskError> {
        let mut tx = self.lock(task).await?;
        if let Err(refusal) = tx.row().await?.state.may_retry(from) {
            tx.roll_back().await?;
            return Err(refusal.into());
        }
        if tx.paused {
            // Whoever asks that it goes on does not mean that it then stands still.
            set_flag(&mut tx, false, by).await?;
        }
        tx.input(&Input::Retry { by: by.to_owned(), from }).await?;
        Ok(tx.commit().await?)
    }

    /// Sets or clears the pause flag; true when it changed. Nothing new is claimed while it is set.
    ///
    /// # Errors
    /// [`AskError::Over`] when the task is final.
    pub async fn set_paused(&self, task: &TaskId, paused: bool, by: &str) -> Result<bool, AskError> {
        let mut tx = self.lock(task).await?;
        let row = sqlx::query("SELECT status FROM tasks WHERE id = $1").bind(task.as_str());
        let row = row.fetch_one(&mut *tx.tx).await.map_err(StoreError::from)?;
        let status: Status = parsed(&row, "status")?;
        if status.is_final() || tx.paused == paused {
            tx.roll_back().await?;
            return if status.is_final() { Err(AskError::Over(status.to_string())) } else { Ok(false) };
        }
        set_flag(&mut tx, paused, by).await?;
        tx.commit().await?;
        Ok(true)
    }

    pub(crate) async fn leave_input(&self, task: &TaskId, input: &Input) -> Result<(), StoreError> {
        let mut tx = self.lock(task).await?;
        tx.input(input).await?;
        tx.commit().await
    }
}

async fn set_flag(tx: &mut TaskTx<'_>, paused: bool, by: &str) -> Result<(), StoreError> {
    sqlx::query("UPDATE tasks SET paused = $2, paused_by = $3, paused_at = $4 WHERE id = $1")
        .bind(tx.task.as_str())
        .bind(i64::from(paused))
        .bind(paused.then_some(by))
        .bind(paused.then_some(tx.now.0))
        .execute(&mut *tx.tx)
        .await?;
    tx.event(&Event::PauseChanged { paused, by: by.to_owned() }).await
}

//! A transaction that holds a task's row lock: the first write of every transaction that touches a job.

use nightforge_domain::{Event, Input, Millis, TaskId};
use sqlx::Row;

use crate::connection::Write;
use crate::rows::{TASK_COLUMNS, task_row};
use crate::{Store, StoreError, TaskRow};

/// An open transaction on one task. Numbers of events and inputs come from the locked row, so they have no gap
/// and "oldest" means "first committed".
pub(crate) struct TaskTx<'s> {
    store: &'s Store,
    pub(crate) tx: Write,
    pub(crate) task: TaskId,
    pub(crate) now: Millis,
    pub(crate) seq: i64,
    pub(crate) stopping: bool,
    pub(crate) paused: bool,
    next_event: i64,
    next_input: i64,
}

impl Store {
    /// Begins a transaction and locks the task's row.
    pub(crate) async fn lock(&self, task: &TaskId) -> Result<TaskTx<'_>, StoreError> {
        let mut tx = self.begin().await?;
        let row = sqlx::query(self.sql(
            "UPDATE tasks SET updated_at = {now} WHERE id = $1
             RETURNING updated_at, seq, stopping, paused, next_event, next_input",
        ))
        .bind(task.as_str())
        .fetch_optional(&mut *tx)
        .await?
        .ok_or_else(|| StoreError::NoTask(task.clone()))?;
        Ok(TaskTx {
            store: self,
            tx,
            task: task.clone(),
            now: Millis(row.try_get("updated_at")?),
            seq: row.try_get("seq")?,
            stopping: row.try_get::<i64, _>("stopping")? != 0,
            paused: row.try_get::<i64, _>("paused")? != 0,
            next_event: row.try_get("next_event")?,
            next_input: row.try_get("next_input")?,
        })
    }
}

impl TaskTx<'_> {
    pub(crate) fn sql(&self, text: &'static str) -> sqlx::AssertSqlSafe<String> {
        self.store.sql(text)
    }

    /// Appends an entry to the task's log.
    pub(crate) async fn event(&mut self, event: &Event) -> Result<(), StoreError> {
        let (type_name, data) = event.parts();
        sqlx::query("INSERT INTO events (task_id, number, type, at, data) VALUES ($1, $2, $3, $4, $5)")
            .bind(self.task.as_str())
            .bind(self.next_event)
            .bind(type_name)
            .bind(self.now.0)
            .bind(data.to_string())
            .execute(&mut *self.tx)
            .await?;
        self.next_event += 1;
        Ok(())
    }

    /// Leaves an input for the task's state machine.
    pub(crate) async fn input(&mut self, input: &Input) -> Result<(), StoreError> {
        let body = serde_json::to_string(input).map_err(|e| StoreError::corrupt("body", e))?;
        sqlx::query("INSERT INTO inputs (task_id, number, body, created_at) VALUES ($1, $2, $3, $4)")
            .bind(self.task.as_str())
            .bind(self.next_input)
            .bind(body)
            .bind(self.now.0)
            .execute(&mut *self.tx)
            .await?;
        self.next_input += 1;
        Ok(())
    }

    /// The task as this transaction sees it.
    pub(crate) async fn row(&mut self) -> Result<TaskRow, StoreError> {
        let sql = sqlx::AssertSqlSafe(format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id = $1"));
        let row = sqlx::query(sql).bind(self.task.as_str()).fetch_one(&mut *self.tx).await?;
        task_row(&row)
    }

    pub(crate) async fn commit(mut self) -> Result<(), StoreError> {
        sqlx::query("UPDATE tasks SET next_event = $2, next_input = $3 WHERE id = $1")
            .bind(self.task.as_str())
            .bind(self.next_event)
            .bind(self.next_input)
            .execute(&mut *self.tx)
            .await?;
        Ok(self.tx.commit().await?)
    }

    pub(crate) async fn roll_back(self) -> Result<(), StoreError> {
        Ok(self.tx.rollback().await?)
    }
}

//! Accepting an objective: task row, first event and first input in one transaction.

use nightforge_domain::state::TaskState;
use nightforge_domain::{Event, Input, Kind, NewTask, TaskId};
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::connection::Write;
use crate::error::NoComparison;
use crate::fresh::fresh_secret;
use crate::rows::{json, number, parsed};
use crate::{Store, StoreError, fresh_id};

/// The answer to a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The task.
    pub task: TaskId,
    /// False when the same request with the same idempotency key had made it before.
    pub created: bool,
}

impl Store {
    /// Accepts an objective. Once this has returned, the task reaches a final state or waits for a person.
    ///
    /// # Errors
    /// [`StoreError::IdempotencyConflict`] when the key came with another request before;
    /// [`StoreError::Previous`] when the earlier task that it names can't be compared with.
    pub async fn submit(&self, new: &NewTask) -> Result<Submitted, StoreError> {
        let mut tx = self.begin().await?;
        let task = fresh_id();
        let state = TaskState::new(new.kind, new.approve);
        let inserted = sqlx::query(self.sql(
            "INSERT INTO tasks (id, kind, objective, owner, priority, models, limits, state, status, phase, seq,
                next_event, next_input, stopping, paused, deadline, due_at, idempotency_key, approve, language,
                previous_task, secret, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 2, 2, 0, 0, $11, $11, $12, $13, $14, $15,
                $16, {now}, {now})
             ON CONFLICT (owner, idempotency_key) DO NOTHING",
        ))
        .bind(task.as_str())
        .bind(new.kind.as_str())
        .bind(new.objective.as_str())
        .bind(&new.owner)
        .bind(i64::from(new.priority.get()))
        .bind(json!(new.models).to_string())
        .bind(json!(new.limits).to_string())
        .bind(json!(state).to_string())
        .bind(state.status().as_str())
        .bind(state.phase())
        .bind(new.deadline.map(|at| at.0))
        .bind(&new.idempotency_key)
        .bind(i64::from(new.approve))
        .bind(&new.language)
        .bind(new.previous.as_ref().map(|task| task.as_str().to_owned()))
        .bind(fresh_secret().reveal())
        .execute(&mut *tx)
        .await?
        .rows_affected();
        if inserted == 0 {
            tx.rollback().await?;
            return self.submitted_before(new).await;
        }
        if let Some(previous) = &new.previous
            && let Some(why) = why_not_comparable(&mut tx, previous).await?
        {
            tx.rollback().await?;
            return Err(StoreError::Previous { task: previous.clone(), why });
        }
        let (type_name, data) = Event::TaskSubmitted { kind: new.kind }.parts();
        sqlx::query(
            self.sql("INSERT INTO events (task_id, number, type, at, data) VALUES ($1, 1, $2, {now}, $3)"),
        )
        .bind(task.as_str())
        .bind(type_name)
        .bind(data.to_string())
        .execute(&mut *tx)
        .await?;
        sqlx::query(
            self.sql("INSERT INTO inputs (task_id, number, body, created_at) VALUES ($1, 1, $2, {now})"),
        )
        .bind(task.as_str())
        .bind(json!(Input::Submitted).to_string())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(Submitted { task, created: true })
    }

    /// The task that this owner's idempotency key has made, if it has.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn task_by_key(&self, owner: &str, key: &str) -> Result<Option<TaskId>, StoreError> {
        let row = sqlx::query("SELECT id FROM tasks WHERE owner = $1 AND idempotency_key = $2")
            .bind(owner)
            .bind(key)
            .fetch_optional(&self.read)
            .await?;
        row.map(|row| parsed(&row, "id")).transpose()
    }

    async fn submitted_before(&self, new: &NewTask) -> Result<Submitted, StoreError> {
        let row = sqlx::query(
            "SELECT id, kind, objective, priority, models, limits, deadline, approve, language, previous_task
             FROM tasks WHERE owner = $1 AND idempotency_key = $2",
        )
        .bind(&new.owner)
        .bind(&new.idempotency_key)
        .fetch_one(&self.read)
        .await?;
        let task: TaskId = parsed(&row, "id")?;
        if is_same_request(&row, new)? {
            Ok(Submitted { task, created: false })
        } else {
            Err(StoreError::IdempotencyConflict(task))
        }
    }
}

/// Why a result can't say what changed since this task; `None` when it can.
async fn why_not_comparable(tx: &mut Write, previous: &TaskId) -> Result<Option<NoComparison>, StoreError> {
    let found = sqlx::query(
        "SELECT kind, CAST(CASE WHEN result IS NULL THEN 0 ELSE 1 END AS BIGINT) AS ended FROM tasks WHERE id = $1",
    )
    .bind(previous.as_str())
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = found else { return Ok(Some(NoComparison::Unknown)) };
    Ok(if parsed::<Kind>(&row, "kind")? != Kind::Research {
        Some(NoComparison::OtherKind)
    } else if number::<u8>(&row, "ended")? == 0 {
        Some(NoComparison::NoResult)
    } else {
        None
    })
}

/// Two requests are the same when everything that decides the work is. Limits and agents that the earlier program
/// did not know, it could not have been told of.
fn is_same_request(row: &AnyRow, new: &NewTask) -> Result<bool, StoreError> {
    let previous = new.previous.as_ref().map(|task| task.as_str().to_owned());
    Ok(row.try_get::<String, _>("kind")? == new.kind.as_str()
        && row.try_get::<String, _>("objective")? == new.objective.as_str()
        && row.try_get::<i64, _>("priority")? == i64::from(new.priority.get())
        && row.try_get::<Option<i64>, _>("deadline")? == new.deadline.map(|at| at.0)
        && row.try_get::<i64, _>("approve")? == i64::from(new.approve)
        && row.try_get::<Option<String>, _>("language")? == new.language
        && row.try_get::<Option<String>, _>("previous_task")? == previous
        && says_the_same(&json::<Fields>(row, "models")?, &json!(new.models))
        && says_the_same(&json::<Fields>(row, "limits")?, &json!(new.limits)))
}

type Fields = serde_json::Map<String, Value>;

fn says_the_same(stored: &Fields, asked: &Value) -> bool {
    stored.iter().all(|(name, value)| asked.get(name) == Some(value))
}

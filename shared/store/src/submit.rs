//! Accepting an objective: task row, first event and first input in one transaction.

use nightforge_domain::state::TaskState;
use nightforge_domain::{Event, Input, NewTask, TaskId};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::Row;

use crate::rows::parsed;
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
    /// [`StoreError::IdempotencyConflict`] when the key came with another request before.
    pub async fn submit(&self, new: &NewTask) -> Result<Submitted, StoreError> {
        let hash = request_hash(new);
        let mut tx = self.begin().await?;
        let task = fresh_id();
        let state = TaskState::new(new.kind, new.approve);
        let inserted = sqlx::query(self.sql(
            "INSERT INTO tasks (id, kind, objective, owner, priority, models, limits, state, status, phase, seq,
                next_event, next_input, stopping, paused, deadline, due_at, idempotency_key, request_hash,
                created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 2, 2, 0, 0, $11, $11, $12, $13, {now}, {now})
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
        .bind(&hash)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        if inserted == 0 {
            tx.rollback().await?;
            return self.submitted_before(new, &hash).await;
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

    async fn submitted_before(&self, new: &NewTask, hash: &str) -> Result<Submitted, StoreError> {
        let row = sqlx::query("SELECT id, request_hash FROM tasks WHERE owner = $1 AND idempotency_key = $2")
            .bind(&new.owner)
            .bind(&new.idempotency_key)
            .fetch_one(&self.read)
            .await?;
        let task: TaskId = parsed(&row, "id")?;
        if row.try_get::<String, _>("request_hash")? == hash {
            Ok(Submitted { task, created: false })
        } else {
            Err(StoreError::IdempotencyConflict(task))
        }
    }
}

/// Two requests are the same when everything that decides the work is.
fn request_hash(new: &NewTask) -> String {
    let request =
        json!([new.kind, new.objective, new.priority, new.models, new.limits, new.approve, new.deadline]);
    let digest = Sha256::digest(request.to_string().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

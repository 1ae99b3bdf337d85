//! Many finished tasks: one task is played to its end through the store, then its rows are copied inside the database.

use anyhow::{Context, ensure};
use nightforge_domain::Usage;
use nightforge_store::{LedgerEntry, fresh_call_id};
use sqlx::{AssertSqlSafe, Column, Row};

use super::side::Side;
use crate::load;

/// Of the task that is copied.
const FEATURES: u32 = 10;

/// Model calls of each of its jobs.
const CALLS: u32 = 10;

/// Each table with the column that names the task.
const TABLES: [(&str, &str); 5] = [
    ("tasks", "id"),
    ("inputs", "task_id"),
    ("events", "task_id"),
    ("jobs", "task_id"),
    ("ledger", "task_id"),
];

/// Adds finished tasks.
///
/// # Errors
/// When the database fails.
pub(super) async fn add(side: &Side, tasks: u32) -> anyhow::Result<()> {
    let task = play_to_the_end(side).await?;
    let mut tx = side.raw.begin().await?;
    for (table, task_column) in TABLES {
        let read = format!("SELECT * FROM {table} WHERE {task_column} = $1 LIMIT 1");
        let row = sqlx::query(AssertSqlSafe(read)).bind(&task).fetch_one(&mut *tx).await?;
        let columns: Vec<&str> = row.columns().iter().map(Column::name).collect();
        let values: Vec<String> = columns.iter().map(|column| value(table, task_column, column)).collect();
        // An id has 26 characters; the last eight count.
        let copy = format!(
            "INSERT INTO {table} ({}) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})
             SELECT {} FROM {table} t CROSS JOIN n WHERE t.{task_column} = $1",
            columns.join(", "),
            tasks - 1,
            values.join(", ")
        );
        sqlx::query(AssertSqlSafe(copy)).bind(&task).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    // PostgreSQL does this by itself, a little later; SQLite is left as the product leaves it.
    if side.store.engine() == nightforge_store::Engine::Postgres {
        sqlx::query("ANALYZE").execute(&side.raw).await?;
    }
    Ok(())
}

fn value(table: &str, task_column: &str, column: &str) -> String {
    match (table, column) {
        (_, column) if column == task_column => {
            "substr(t.".to_owned() + column + ", 1, 18) || CAST(10000000 + n.i AS TEXT)"
        }
        ("ledger", "id") => "t.id || '-' || CAST(n.i AS TEXT)".to_owned(),
        (_, column) => format!("t.{column}"),
    }
}

/// Returns the task's id.
async fn play_to_the_end(side: &Side) -> anyhow::Result<String> {
    let tasks = side.submit(1, FEATURES).await?;
    let task = tasks.first().context("one task")?;
    side.advance(&tasks).await?;
    // The initializer, the sessions, the verification.
    for _ in 0..FEATURES + 2 {
        let job = side.store.jobs(task).await?.last().context("a job waits")?.no;
        for _ in 0..CALLS {
            let entry = LedgerEntry {
                id: fresh_call_id(),
                job: nightforge_domain::JobId { task: task.clone(), no: job },
                fence: nightforge_domain::Fence(1),
                agent: "coder".to_owned(),
                model: load::MODEL.to_owned(),
                endpoint: "http://127.0.0.1:1234/v1".to_owned(),
                outcome: "ok".to_owned(),
                usage: Usage {
                    prompt_tokens: Some(9_000),
                    completion_tokens: Some(300),
                    cached_tokens: None,
                },
                duration_ms: 12_000,
            };
            side.store.book(&entry).await?;
        }
        side.leave_results(1).await?;
        side.advance(&tasks).await?;
    }
    let row = side.store.task(task).await?;
    ensure!(row.status.is_final(), "{task} should be over and is in {}", row.phase);
    Ok(task.to_string())
}

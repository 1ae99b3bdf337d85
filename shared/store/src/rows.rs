//! Rows as records.

use nightforge_domain::{CommitId, Millis, TaskId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::{EventRow, JobRow, StoreError, TaskRow, TaskSecret};

/// The columns that [`task_row`] reads.
pub(crate) const TASK_COLUMNS: &str =
    "id, kind, objective, owner, priority, models, limits, state, status, phase,
    seq, stopping, paused, paused_by, deadline, head, report, language, previous_task, secret, created_at, updated_at, finished_at";

pub(crate) fn task_row(row: &AnyRow) -> Result<TaskRow, StoreError> {
    Ok(TaskRow {
        id: parsed(row, "id")?,
        kind: parsed(row, "kind")?,
        objective: row.try_get("objective")?,
        owner: row.try_get("owner")?,
        priority: number::<u8>(row, "priority")?
            .try_into()
            .map_err(|e: String| StoreError::corrupt("priority", e))?,
        models: json(row, "models")?,
        limits: json(row, "limits")?,
        state: json(row, "state")?,
        status: parsed(row, "status")?,
        phase: row.try_get("phase")?,
        seq: row.try_get("seq")?,
        stopping: row.try_get::<i64, _>("stopping")? != 0,
        paused: row.try_get::<i64, _>("paused")? != 0,
        paused_by: row.try_get("paused_by")?,
        deadline: row.try_get::<Option<i64>, _>("deadline")?.map(Millis),
        head: row
            .try_get::<Option<String>, _>("head")?
            .map(|head| head.parse::<CommitId>())
            .transpose()
            .map_err(|e| StoreError::corrupt("head", e))?,
        report: row.try_get("report")?,
        language: row.try_get("language")?,
        previous: row
            .try_get::<Option<String>, _>("previous_task")?
            .map(|task| task.parse::<TaskId>())
            .transpose()
            .map_err(|e| StoreError::corrupt("previous_task", e))?,
        secret: row.try_get::<Option<String>, _>("secret")?.map(TaskSecret::new),
        created_at: Millis(row.try_get("created_at")?),
        updated_at: Millis(row.try_get("updated_at")?),
        finished_at: row.try_get::<Option<i64>, _>("finished_at")?.map(Millis),
    })
}

pub(crate) fn event_row(row: &AnyRow) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        seq: row.try_get("number")?,
        type_name: row.try_get("type")?,
        at: Millis(row.try_get("at")?),
        data: json(row, "data")?,
    })
}

pub(crate) fn job_row(row: &AnyRow) -> Result<JobRow, StoreError> {
    let count = |column| number::<u32>(row, column);
    Ok(JobRow {
        no: nightforge_domain::JobNo(count("number")?),
        spec: json(row, "spec")?,
        model: row.try_get("model")?,
        state: parsed(row, "state")?,
        run_after: Millis(row.try_get("run_after")?),
        fence: nightforge_domain::Fence(row.try_get("fence")?),
        boot: row.try_get("boot_id")?,
        lease_until: row.try_get::<Option<i64>, _>("lease_until")?.map(Millis),
        steps: count("steps")?,
        faults: count("faults")?,
        deaths: count("deaths")?,
        infra_failures: count("infra_failures")?,
        last_error: row.try_get("last_error")?,
        created_at: Millis(row.try_get("created_at")?),
        claimed_at: row.try_get::<Option<i64>, _>("claimed_at")?.map(Millis),
        finished_at: row.try_get::<Option<i64>, _>("finished_at")?.map(Millis),
    })
}

/// A column that must parse as what it should be.
pub(crate) fn parsed<T>(row: &AnyRow, column: &'static str) -> Result<T, StoreError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let text: String = row.try_get(column)?;
    text.parse().map_err(|e: T::Err| StoreError::corrupt(column, e))
}

/// A column that holds JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &AnyRow, column: &'static str) -> Result<T, StoreError> {
    let text: String = row.try_get(column)?;
    serde_json::from_str(&text).map_err(|e| StoreError::corrupt(column, e))
}

/// The name of a value that is one word in JSON, as a column holds it.
pub(crate) fn name(column: &'static str, value: &impl Serialize) -> Result<String, StoreError> {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => Ok(name),
        Ok(other) => Err(StoreError::corrupt(column, format!("{other} is no name"))),
        Err(error) => Err(StoreError::corrupt(column, error)),
    }
}

/// A column that holds the name of such a value.
pub(crate) fn named<T: DeserializeOwned>(row: &AnyRow, column: &'static str) -> Result<T, StoreError> {
    let name: String = row.try_get(column)?;
    serde_json::from_value(Value::String(name)).map_err(|e| StoreError::corrupt(column, e))
}

/// A whole number that fits what it is read as, of a column that may be null.
pub(crate) fn number_if_there<T>(row: &AnyRow, column: &'static str) -> Result<Option<T>, StoreError>
where
    T: TryFrom<i64>,
    T::Error: std::fmt::Display,
{
    let number: Option<i64> = row.try_get(column)?;
    number
        .map(|number| T::try_from(number).map_err(|e| StoreError::corrupt(column, format!("{number}: {e}"))))
        .transpose()
}

/// The text as every database takes it: PostgreSQL refuses NUL, which outputs of programs may hold.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A whole number that fits what it is read as.
pub(crate) fn number<T>(row: &AnyRow, column: &'static str) -> Result<T, StoreError>
where
    T: TryFrom<i64>,
    T::Error: std::fmt::Display,
{
    let number: i64 = row.try_get(column)?;
    T::try_from(number).map_err(|e| StoreError::corrupt(column, format!("{number}: {e}")))
}

//! Live processes, what they see of their endpoints, and what they are at.

use nightforge_domain::{BootId, JobId, JobNo, Millis, ModelName};
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::rows::{number, parsed};
use crate::{Store, StoreError};

/// A process without a heartbeat for this long is not shown as living, also where no leader judges it: six heartbeats
/// at the slowest.
const LIVE_WITHIN_MS: i64 = 60_000;

/// A live process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerInfo {
    /// Its boot id.
    pub boot: BootId,
    /// Identity of its data folder.
    pub host: String,
    /// What it does.
    pub role: String,
    /// Program version.
    pub version: String,
    /// The model that it said it serves; a process of several models names none.
    pub model: Option<String>,
    /// Model calls at a time.
    pub slots: u32,
    /// When it announced itself.
    pub started_at: Millis,
    /// Milliseconds since its last heartbeat.
    pub heartbeat_age_ms: i64,
    /// What it last saw of its endpoints, by model and URL.
    pub endpoints: Vec<EndpointInfo>,
    /// The jobs that it runs, oldest claim first.
    pub running: Vec<RunningJob>,
}

/// What a process last saw of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointInfo {
    /// As tasks ask for it.
    pub model: ModelName,
    /// Without credentials.
    pub url: String,
    /// The GPU that it is pinned to.
    pub gpu: Option<String>,
    /// Model calls at a time.
    pub slots: u32,
    /// Which program answers there, where it is known.
    pub server: Option<String>,
    /// In the words of the design; see [`crate::serves`].
    pub state: String,
    /// For a person.
    pub message: Option<String>,
    /// The length of its context, where it is known.
    pub context_tokens: Option<u64>,
    /// When the state was first seen.
    pub since: Millis,
    /// When it was last looked at.
    pub seen_at: Millis,
}

/// A job under a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningJob {
    /// Which one.
    pub job: JobId,
    /// Its kind, such as `code`.
    pub kind: String,
    /// The model that it asks for.
    pub model: String,
    /// When it was claimed.
    pub claimed_at: Option<Millis>,
}

impl Store {
    /// Processes that live, in the order of their starts.
    ///
    /// # Errors
    /// When the database fails, or a row can't be read.
    pub async fn workers(&self) -> Result<Vec<WorkerInfo>, StoreError> {
        let rows = sqlx::query(self.sql(
            "SELECT boot_id, host, role, version, model, slots, started_at, {now} - heartbeat_at AS age
             FROM processes WHERE gone = 0 AND heartbeat_at >= {now} - $1 ORDER BY started_at, boot_id",
        ))
        .bind(LIVE_WITHIN_MS)
        .fetch_all(&self.read)
        .await?;
        let mut workers: Vec<WorkerInfo> = rows.iter().map(worker).collect::<Result<_, _>>()?;
        let endpoints = sqlx::query(
            "SELECT boot_id, model, url, gpu, slots, server, state, message, context_tokens, since, seen_at
             FROM endpoints ORDER BY model, url",
        );
        for row in endpoints.fetch_all(&self.read).await? {
            if let Some(worker) = of_boot(&mut workers, &row)? {
                worker.endpoints.push(endpoint(&row)?);
            }
        }
        let running = sqlx::query(
            "SELECT boot_id, task_id, number, kind, model, claimed_at FROM jobs WHERE state = 'running'
             ORDER BY claimed_at, task_id, number",
        );
        for row in running.fetch_all(&self.read).await? {
            if let Some(worker) = of_boot(&mut workers, &row)? {
                worker.running.push(running_job(&row)?);
            }
        }
        Ok(workers)
    }

    /// Forgets processes that are gone and have been silent for `age_ms`, with what they saw; at most `limit` of them.
    /// One that still holds a job is kept until that is swept.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn forget_gone(&self, age_ms: i64, limit: i64) -> Result<u64, StoreError> {
        let old = self.sql(
            "SELECT boot_id FROM processes p WHERE gone = 1 AND heartbeat_at < {now} - $1
                AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.boot_id = p.boot_id AND j.state = 'running')
             ORDER BY heartbeat_at LIMIT $2",
        );
        let old = sqlx::query(old).bind(age_ms).bind(limit).fetch_all(&self.read).await?;
        let mut forgotten = 0;
        for row in old {
            let boot: String = row.try_get("boot_id")?;
            let mut tx = self.begin().await?;
            // A heartbeat may have come meanwhile. The row is locked before the endpoints that refer to it.
            let still = sqlx::query(self.sql(
                "UPDATE processes SET gone = 1 WHERE boot_id = $1 AND gone = 1 AND heartbeat_at < {now} - $2",
            ));
            if still.bind(&boot).bind(age_ms).execute(&mut *tx).await?.rows_affected() == 0 {
                tx.rollback().await?;
                continue;
            }
            sqlx::query("DELETE FROM endpoints WHERE boot_id = $1").bind(&boot).execute(&mut *tx).await?;
            sqlx::query("DELETE FROM processes WHERE boot_id = $1").bind(&boot).execute(&mut *tx).await?;
            tx.commit().await?;
            forgotten += 1;
        }
        Ok(forgotten)
    }
}

fn of_boot<'w>(
    workers: &'w mut [WorkerInfo],
    row: &AnyRow,
) -> Result<Option<&'w mut WorkerInfo>, StoreError> {
    let boot: Option<String> = row.try_get("boot_id")?;
    Ok(workers.iter_mut().find(|worker| Some(worker.boot.as_str()) == boot.as_deref()))
}

fn worker(row: &AnyRow) -> Result<WorkerInfo, StoreError> {
    Ok(WorkerInfo {
        boot: parsed(row, "boot_id")?,
        host: row.try_get("host")?,
        role: row.try_get("role")?,
        version: row.try_get("version")?,
        model: row.try_get("model")?,
        slots: number(row, "slots")?,
        started_at: Millis(row.try_get("started_at")?),
        heartbeat_age_ms: row.try_get::<i64, _>("age")?.max(0),
        endpoints: Vec::new(),
        running: Vec::new(),
    })
}

fn endpoint(row: &AnyRow) -> Result<EndpointInfo, StoreError> {
    let context: Option<i64> = row.try_get("context_tokens")?;
    let context = context.map(u64::try_from).transpose();
    Ok(EndpointInfo {
        model: parsed(row, "model")?,
        url: row.try_get("url")?,
        gpu: row.try_get("gpu")?,
        slots: number(row, "slots")?,
        server: row.try_get("server")?,
        state: row.try_get("state")?,
        message: row.try_get("message")?,
        context_tokens: context.map_err(|error| StoreError::corrupt("context_tokens", error))?,
        since: Millis(row.try_get("since")?),
        seen_at: Millis(row.try_get("seen_at")?),
    })
}

fn running_job(row: &AnyRow) -> Result<RunningJob, StoreError> {
    Ok(RunningJob {
        job: JobId { task: parsed(row, "task_id")?, no: JobNo(number(row, "number")?) },
        kind: row.try_get("kind")?,
        model: row.try_get("model")?,
        claimed_at: row.try_get::<Option<i64>, _>("claimed_at")?.map(Millis),
    })
}

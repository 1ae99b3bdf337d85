//! Processes and the leader's lease.

use nightforge_domain::{BootId, Millis};
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::rows::parsed;
use crate::{Store, StoreError};

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything in one process.
    Embedded,
    /// HTTP only.
    Api,
    /// Advances and sweeps.
    Scheduler,
    /// Executes jobs.
    Worker,
}

impl Role {
    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Embedded => "embedded",
            Role::Api => "api",
            Role::Scheduler => "scheduler",
            Role::Worker => "worker",
        }
    }
}

/// What a process says of itself at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Fresh at every start.
    pub boot: BootId,
    /// Identity of the machine's data folder, for file locks.
    pub host: String,
    /// What it does.
    pub role: Role,
    /// Program version.
    pub version: String,
    /// Workers: the model that it serves.
    pub model: Option<String>,
    /// Workers: the endpoint that it is pinned to.
    pub endpoint: Option<String>,
    /// Workers: the GPU that it is pinned to.
    pub gpu: Option<String>,
    /// Workers: model calls at a time.
    pub slots: u32,
}

/// A process as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its boot id.
    pub boot: BootId,
    /// Identity of its data folder.
    pub host: String,
    /// What it does.
    pub role: String,
    /// Last heartbeat.
    pub heartbeat_at: Millis,
}

/// The leader's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leadership {
    /// Grows with every change of leader.
    pub epoch: i64,
}

impl Store {
    /// Announces this process.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn announce(&self, process: &Process) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(self.sql(
            "INSERT INTO processes (boot_id, host, role, version, model, endpoint, gpu, slots, started_at,
                heartbeat_at, gone)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, {now}, {now}, 0)
             ON CONFLICT (boot_id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at, gone = 0",
        ))
        .bind(process.boot.as_str())
        .bind(&process.host)
        .bind(process.role.as_str())
        .bind(&process.version)
        .bind(&process.model)
        .bind(&process.endpoint)
        .bind(&process.gpu)
        .bind(i64::from(process.slots))
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    /// Says that this process lives, also when it was taken for gone: a machine that slept comes back, and its
    /// later claims must not be judged by that.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn heartbeat(&self, boot: &BootId) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(self.sql("UPDATE processes SET heartbeat_at = {now}, gone = 0 WHERE boot_id = $1"))
            .bind(boot.as_str())
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Records that a process is known to have ended; its leases end at once.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn mark_gone(&self, boot: &BootId) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query("UPDATE processes SET gone = 1 WHERE boot_id = $1 AND gone = 0")
            .bind(boot.as_str())
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Records as gone every process without a heartbeat for `age_ms`.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn mark_silent_gone(&self, age_ms: i64) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        let gone = sqlx::query(
            self.sql("UPDATE processes SET gone = 1 WHERE gone = 0 AND heartbeat_at < {now} - $1"),
        )
        .bind(age_ms)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        tx.commit().await?;
        Ok(gone)
    }

    /// Processes that are not known to be gone.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn live_processes(&self) -> Result<Vec<ProcessInfo>, StoreError> {
        let rows = sqlx::query(
            "SELECT boot_id, host, role, heartbeat_at FROM processes WHERE gone = 0 ORDER BY started_at",
        )
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(process_info).collect()
    }

    /// Takes or renews the leader's lease for `ttl_ms`; `None` while somebody else holds it and is not known to be
    /// gone.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn lead(&self, boot: &BootId, ttl_ms: i64) -> Result<Option<Leadership>, StoreError> {
        let mut tx = self.begin().await?;
        let row = sqlx::query(self.sql(
            "INSERT INTO leases (name, owner, epoch, until) VALUES ('leader', $1, 1, {now} + $2)
             ON CONFLICT (name) DO UPDATE SET
                epoch = leases.epoch + CASE WHEN leases.owner = excluded.owner THEN 0 ELSE 1 END,
                owner = excluded.owner, until = excluded.until
             WHERE leases.owner = excluded.owner OR leases.until < {now}
                OR leases.owner IN (SELECT boot_id FROM processes WHERE gone = 1)
             RETURNING epoch",
        ))
        .bind(boot.as_str())
        .bind(ttl_ms)
        .fetch_optional(&mut *tx)
        .await?;
        tx.commit().await?;
        row.map(|row| Ok(Leadership { epoch: row.try_get("epoch")? })).transpose()
    }
}

fn process_info(row: &AnyRow) -> Result<ProcessInfo, StoreError> {
    Ok(ProcessInfo {
        boot: parsed(row, "boot_id")?,
        host: row.try_get("host")?,
        role: row.try_get("role")?,
        heartbeat_at: Millis(row.try_get("heartbeat_at")?),
    })
}

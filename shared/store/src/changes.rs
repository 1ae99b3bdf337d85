//! Noticing that somebody else has written, for processes that no bell of the others reaches.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Any, Executor};

use crate::{Engine, Store, StoreError};

/// SQLite is asked so often whether another connection has committed: it costs some 50 µs, and nothing is read.
const SQLITE_LOOKS_EVERY: Duration = Duration::from_millis(25);

/// PostgreSQL has no such question; whoever waits looks again after this time.
const POSTGRES_LOOKS_EVERY: Duration = Duration::from_millis(100);

/// Commits of others, as they come. Writes of this process count, too.
pub struct Changes {
    store: Store,
    /// `PRAGMA data_version` means something only within one connection.
    connection: Option<PoolConnection<Any>>,
    seen: Option<i64>,
}

impl Store {
    /// Watches for commits, from now on.
    pub fn changes(&self) -> Changes {
        Changes { store: self.clone(), connection: None, seen: None }
    }
}

impl Changes {
    /// Returns when something may have been written since the last return; at once at the first call.
    ///
    /// # Errors
    /// When the database fails. The next call begins anew.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        if self.store.engine() == Engine::Postgres {
            if self.seen.replace(0).is_some() {
                tokio::time::sleep(POSTGRES_LOOKS_EVERY).await;
            }
            return Ok(());
        }
        loop {
            let version = self.version().await;
            if version.is_err() {
                (self.connection, self.seen) = (None, None);
            }
            let version = version?;
            if self.seen.replace(version) != Some(version) {
                return Ok(());
            }
            tokio::time::sleep(SQLITE_LOOKS_EVERY).await;
        }
    }

    /// SQLite's counter of commits by other connections: <https://sqlite.org/pragma.html#pragma_data_version>.
    async fn version(&mut self) -> Result<i64, StoreError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                self.seen = None;
                self.connection.insert(self.store.read.acquire().await?)
            }
        };
        let row = connection.fetch_one("PRAGMA data_version").await?;
        Ok(sqlx::Row::try_get(&row, 0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DbClock;

    #[tokio::test]
    async fn a_write_of_another_process_is_noticed_and_silence_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("night.db").display());
        let here = Store::open(&url, DbClock::Database).await.unwrap();
        let elsewhere = Store::open(&url, DbClock::Database).await.unwrap();
        let mut changes = here.changes();
        changes.next().await.unwrap();
        let quiet = tokio::time::timeout(SQLITE_LOOKS_EVERY * 8, changes.next()).await;
        assert!(quiet.is_err(), "nothing was written");
        elsewhere.heartbeat(&crate::fresh_boot_id()).await.unwrap();
        let quiet = tokio::time::timeout(SQLITE_LOOKS_EVERY * 8, changes.next()).await;
        assert!(quiet.is_err(), "an update that changes no row is no change");
        elsewhere.lead(&crate::fresh_boot_id(), 1_000).await.unwrap();
        tokio::time::timeout(Duration::from_secs(10), changes.next()).await.expect("noticed").unwrap();
    }
}

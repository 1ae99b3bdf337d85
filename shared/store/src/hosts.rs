//! Turns at hosts that pages are read from, over all workers.

use nightforge_domain::Millis;
use sqlx::Row;

use crate::{Store, StoreError};

/// How long a host is remembered after its last turn.
const REMEMBERED_MS: i64 = 24 * 60 * 60 * 1_000;

impl Store {
    /// Hands out the next free turn at `host` and returns how long to wait for it; turns begin `interval_ms` apart,
    /// by the database's clock and whoever takes them. A turn that nobody uses is lost, not given to another.
    ///
    /// # Errors
    /// When the database fails; then a turn may be lost.
    pub async fn host_turn(&self, host: &str, interval_ms: i64) -> Result<Millis, StoreError> {
        self.forget_one_host().await?;
        let mut tx = self.begin().await?;
        let row = sqlx::query(self.sql(
            "INSERT INTO hosts (host, next_at) VALUES ($1, {now} + $2)
             ON CONFLICT (host) DO UPDATE SET
                next_at = CASE WHEN hosts.next_at > {now} THEN hosts.next_at ELSE {now} END + $2
             RETURNING next_at, {now} AS now",
        ))
        .bind(host)
        .bind(interval_ms)
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        let begins = row.try_get::<i64, _>("next_at")? - interval_ms;
        Ok(Millis((begins - row.try_get::<i64, _>("now")?).max(0)))
    }

    /// Each turn brings one row at most and removes one at most, so there are no more than the hosts of a day, and a
    /// transaction never holds two of them.
    async fn forget_one_host(&self) -> Result<(), StoreError> {
        let old = sqlx::query_scalar::<_, String>(
            self.sql("SELECT host FROM hosts WHERE next_at < {now} - $1 ORDER BY next_at LIMIT 1"),
        )
        .bind(REMEMBERED_MS)
        .fetch_optional(&self.read)
        .await?;
        let Some(old) = old else { return Ok(()) };
        let mut tx = self.begin().await?;
        sqlx::query(self.sql("DELETE FROM hosts WHERE host = $1 AND next_at < {now} - $2"))
            .bind(old)
            .bind(REMEMBERED_MS)
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }
}

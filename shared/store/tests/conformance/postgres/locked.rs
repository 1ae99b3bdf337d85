//! Waiting for another process that migrates.

use nightforge_store::{Migrated, Store};
use sqlx::migrate::Migrate;

use crate::bed::on_every_empty_database;

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_waits_for_the_one_that_is_under_way() {
    on_every_empty_database(async |url, pool| {
        if url.starts_with("sqlite:") {
            return;
        }
        // What a migrating process holds.
        let mut other = pool.acquire().await.unwrap();
        other.lock().await.unwrap();
        let waiting = tokio::spawn({
            let url = url.to_owned();
            async move { Store::migrate(&url).await }
        });
        let waits = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                     WHERE l.locktype = 'advisory' AND NOT l.granted AND a.application_name = 'nightforge'";
        loop {
            let waiting_now: i64 = sqlx::query_scalar(waits).fetch_one(pool).await.unwrap();
            if waiting_now > 0 {
                break;
            }
            assert!(!waiting.is_finished(), "it did not wait");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        other.unlock().await.unwrap();
        let migrated = waiting.await.unwrap().unwrap();
        assert_eq!(migrated, Migrated { from: 0, to: Store::schema_version() });
    })
    .await;
}

//! Bringing the schema up to date: once, whoever else tries, and wholly or not at all.

use nightforge_store::{DbClock, Migrated, Migrations, Store, StoreError};
use sqlx::migrate::Migrator;
use sqlx::{AnyPool, AssertSqlSafe};

use crate::bed::{on_every_database, on_every_empty_database};
use crate::work::new_task;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

const AT_ONCE: usize = 8;

fn versions() -> Vec<i64> {
    MIGRATIONS.iter().map(|migration| migration.version).collect()
}

async fn recorded(pool: &AnyPool) -> Vec<i64> {
    let sql = "SELECT version FROM _sqlx_migrations ORDER BY version";
    sqlx::query_scalar(sql).fetch_all(pool).await.unwrap()
}

async fn execute(pool: &AnyPool, sql: &str) {
    sqlx::query(AssertSqlSafe(sql.to_owned())).execute(pool).await.unwrap();
}

/// How many tables have this name.
async fn tables(pool: &AnyPool, url: &str, name: &str) -> i64 {
    let catalogue = if url.starts_with("sqlite:") {
        format!("SELECT count(*) FROM sqlite_master WHERE name = '{name}'")
    } else {
        format!("SELECT count(*) FROM pg_tables WHERE tablename = '{name}' AND schemaname = current_schema()")
    };
    sqlx::query_scalar(AssertSqlSafe(catalogue)).fetch_one(pool).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_migrate_an_empty_database_at_once_one_does() {
    many_at_once(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_migrate_an_older_database_at_once_one_does() {
    many_at_once(Store::schema_version() - 1).await;
}

async fn many_at_once(from: i64) {
    on_every_empty_database(async |url, pool| {
        if from > 0 {
            MIGRATIONS.run_to(from, pool).await.unwrap();
        }
        let migrating = (0..AT_ONCE).map(|_| {
            let url = url.to_owned();
            tokio::spawn(async move { Store::migrate(&url).await })
        });
        let to = Store::schema_version();
        let mut moved = 0;
        for migrated in migrating.collect::<Vec<_>>() {
            let migrated = migrated.await.unwrap().unwrap();
            assert_eq!(migrated.to, to);
            assert!([from, to].contains(&migrated.from), "{migrated:?}");
            moved += usize::from(migrated.from == from);
        }
        assert_eq!(moved, 1, "one did it, the others found it done");
        assert_eq!(recorded(pool).await, versions());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_open_at_once_all_work() {
    on_every_empty_database(async |url, _| {
        let opening = (0..AT_ONCE).map(|_| {
            let url = url.to_owned();
            tokio::spawn(async move {
                let store = Store::open(&url, DbClock::Database).await?;
                let submitted = store.submit(&new_task()).await;
                store.close().await;
                submitted
            })
        });
        for opened in opening.collect::<Vec<_>>() {
            assert!(opened.await.unwrap().unwrap().created);
        }
    })
    .await;
}

#[tokio::test]
async fn a_migration_is_told_without_doing_it_and_done_once() {
    on_every_empty_database(async |url, pool| {
        let (all, newest) = (versions(), Store::schema_version());
        let found = Store::migrations(url).await.unwrap();
        assert_eq!(found, Migrations { applied: vec![], pending: all.clone() });
        assert_eq!(tables(pool, url, "_sqlx_migrations").await, 0, "nothing was made");
        assert_eq!(Store::migrate(url).await.unwrap(), Migrated { from: 0, to: newest });
        assert_eq!(Store::migrate(url).await.unwrap(), Migrated { from: newest, to: newest });
        let found = Store::migrations(url).await.unwrap();
        assert_eq!((found.current(), found), (newest, Migrations { applied: all, pending: vec![] }));
    })
    .await;
}

#[tokio::test]
async fn a_migration_that_fails_changes_nothing_and_is_done_later() {
    on_every_empty_database(async |url, pool| {
        MIGRATIONS.run_to(1, pool).await.unwrap();
        // In the way of the second one's last tables.
        execute(pool, "CREATE TABLE endpoints (x BIGINT)").await;
        let error = Store::migrate(url).await.unwrap_err();
        assert!(matches!(error, StoreError::Migrate(_)), "{error}");
        assert!(error.to_string().contains("endpoints"), "{error}");
        assert_eq!(recorded(pool).await, [1]);
        assert_eq!(tables(pool, url, "pauses").await, 0, "what it had made before it failed is gone");
        execute(pool, "DROP TABLE endpoints").await;
        assert_eq!(Store::migrate(url).await.unwrap(), Migrated { from: 1, to: Store::schema_version() });
    })
    .await;
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_was_applied_is_refused() {
    on_every_empty_database(async |url, pool| {
        Store::migrate(url).await.unwrap();
        let other = if url.starts_with("sqlite:") { "x'00'" } else { "'\\x00'" };
        execute(pool, &format!("UPDATE _sqlx_migrations SET checksum = {other} WHERE version = 1")).await;
        let error = Store::migrate(url).await.unwrap_err();
        assert!(matches!(error, StoreError::Migrate(_)) && error.to_string().contains('1'), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_newer_database_is_refused_with_both_versions() {
    on_every_database(async |bed| {
        let known = Store::schema_version();
        let newer = known + 1;
        bed.execute(&format!("UPDATE _sqlx_migrations SET version = {newer} WHERE version = {known}")).await;
        for error in
            [Store::migrate(&bed.url).await.unwrap_err(), Store::migrations(&bed.url).await.unwrap_err()]
        {
            let text = error.to_string();
            assert!(text.contains(&newer.to_string()) && text.contains(&known.to_string()), "{text}");
        }
    })
    .await;
}

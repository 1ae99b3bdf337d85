//! Opening a database: what is refused, and that refusing changes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use nightforge_store::{DbClock, Engine, Store, StoreError};

use crate::bed::on_every_empty_database;
use crate::bed::{Bed, on_every_database};
use crate::work::new_task;

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

async fn open_error(url: &str) -> StoreError {
    Store::open(url, DbClock::Database).await.map(|_| ()).unwrap_err()
}

async fn open_existing_error(url: &str) -> StoreError {
    Store::open_existing(url).await.map(|_| ()).unwrap_err()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

#[tokio::test]
async fn what_was_written_is_there_after_opening_again() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        let again = Store::open(&bed.url, DbClock::Database).await.unwrap();
        assert_eq!(again.task(&task).await.unwrap().seq, 1);
        again.ping().await.unwrap();
        again.close().await;
        let existing = Store::open_existing(&bed.url).await.unwrap();
        assert_eq!(existing.task(&task).await.unwrap().seq, 1);
        let clock = existing.now().await.unwrap();
        assert!(clock.0 > 1_600_000_000_000, "{clock:?} is the database's own clock, in milliseconds");
        existing.close().await;
    })
    .await;
}

async fn bump_version(bed: &Bed) {
    let newer = Store::schema_version() + 1;
    bed.execute(&format!("UPDATE _sqlx_migrations SET version = {newer} WHERE version = {}", newer - 1))
        .await;
}

#[tokio::test]
async fn a_newer_database_is_refused() {
    on_every_database(async |bed| {
        let (found, known) = (Store::schema_version() + 1, Store::schema_version());
        bump_version(bed).await;
        let before = bed.everything().await;
        for error in [open_error(&bed.url).await, open_existing_error(&bed.url).await] {
            let refused = matches!(error, StoreError::NewerDatabase { found: f, known: k, .. } if (f, k) == (found, known));
            assert!(refused, "{error}");
        }
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn a_newer_file_is_left_as_it_is_byte_for_byte() {
    let bed = Bed::sqlite().await;
    bed.started(&new_task()).await;
    bump_version(&bed).await;
    let folder = bed.close_and_keep().await;
    let before = files(folder.path());
    assert_eq!(before.keys().collect::<Vec<_>>(), ["night.db"], "the log was written back");
    let url = url(&folder.path().join("night.db"));
    assert!(matches!(open_error(&url).await, StoreError::NewerDatabase { .. }));
    assert!(matches!(open_existing_error(&url).await, StoreError::NewerDatabase { .. }));
    assert!(files(folder.path()) == before, "a file has changed");
}

#[tokio::test]
async fn an_older_database_is_brought_up_to_date_but_not_by_a_reader() {
    on_every_database(async |bed| {
        bed.execute("DELETE FROM _sqlx_migrations").await;
        let error = open_existing_error(&bed.url).await;
        assert!(matches!(error, StoreError::OlderDatabase { found: 0, .. }), "{error}");
        assert_eq!(bed.rows("SELECT count(*) FROM _sqlx_migrations").await, ["0"]);
    })
    .await;
}

#[tokio::test]
async fn an_empty_file_is_no_database_for_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.db");
    std::fs::write(&path, "").unwrap();
    let error = open_existing_error(&url(&path)).await;
    assert!(matches!(error, StoreError::OlderDatabase { found: 0, .. }), "{error}");
}

#[tokio::test]
async fn a_reader_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.db");
    let error = open_existing_error(&url(&path)).await;
    assert!(matches!(error, StoreError::Open { .. }), "{error}");
    assert!(error.to_string().contains("night.db") && error.to_string().contains("data folder"), "{error}");
    assert!(files(folder.path()).is_empty());
}

#[tokio::test]
async fn paths_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a-folder")).unwrap();
    std::fs::write(folder.path().join("a-text"), "x".repeat(4_096)).unwrap();
    for (path, part) in [("missing/night.db", "missing"), ("a-folder", "a-folder"), ("a-text", "a-text")] {
        let error = open_error(&url(&folder.path().join(path))).await;
        assert!(matches!(error, StoreError::Open { .. }), "{path}: {error}");
        assert!(error.to_string().contains(part) && !error.to_string().contains("timed out"), "{error}");
    }
    // A file that nobody may write to: the mode does not stop root, a folder that does not exist stops everybody.
    let error = open_error("sqlite:/proc/night.db").await;
    assert!(matches!(error, StoreError::Open { .. }), "{error}");
}

#[tokio::test]
async fn paths_are_taken_letter_by_letter() {
    let folder = tempfile::tempdir().unwrap();
    let name = "Ada's night 50%20 #1 é.db";
    let store = Store::open(&url(&folder.path().join(name)), DbClock::Database).await.unwrap();
    assert_eq!(store.engine(), Engine::Sqlite);
    store.close().await;
    assert_eq!(files(folder.path()).into_keys().collect::<Vec<_>>(), [name]);
}

#[tokio::test]
async fn other_urls_are_refused_without_their_password() {
    for url in ["mysql://ada:secret@db/night", "night.db", "sqlite:", "sqlite:night.db?mode=memory"] {
        let error = open_error(url).await;
        assert!(matches!(error, StoreError::Url(_)), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    for scheme in ["postgres", "postgresql"] {
        let error = open_error(&format!("{scheme}://ada:secret@127.0.0.1:1/night")).await;
        assert!(matches!(error, StoreError::Open { .. }), "{error}");
        let text = error.to_string();
        assert!(
            !text.contains("secret") && text.contains("127.0.0.1:1") && text.contains("refused"),
            "{text}"
        );
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
    let error = open_error("postgres://db/night?passwd=secret").await;
    assert!(error.to_string().contains("passwd") && !error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn tables_of_other_programs_are_named() {
    on_every_empty_database(async |url, pool| {
        assert!(Store::first_tables(url).await.unwrap().is_empty());
        for table in ["orders", "invoices"] {
            sqlx::query(sqlx::AssertSqlSafe(format!("CREATE TABLE {table} (id BIGINT)")))
                .execute(pool)
                .await
                .unwrap();
        }
        assert_eq!(Store::first_tables(url).await.unwrap(), ["invoices", "orders"]);
    })
    .await;
}

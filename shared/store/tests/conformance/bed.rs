//! A test bed: a store on an empty database of its own, with a clock that the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use nightforge_domain::{BootId, TaskId};
use nightforge_store::{DbClock, Process, Role, Store, fresh_boot_id};
use sqlx::any::AnyPoolOptions;
use sqlx::{AnyPool, AssertSqlSafe, Column, Row};
use tempfile::TempDir;

/// The address of a PostgreSQL server whose user may create schemas.
const POSTGRES: &str = "NIGHTFORGE_TEST_POSTGRES_URL";

/// Set to `1`, it leaves PostgreSQL out.
const WITHOUT_POSTGRES: &str = "NIGHTFORGE_TEST_WITHOUT_POSTGRES";

/// When the story begins, in milliseconds.
const START: i64 = 1_000_000;

const TABLES: [&str; 19] = [
    "installation",
    "tasks",
    "inputs",
    "events",
    "jobs",
    "steps",
    "ledger",
    "turns",
    "processes",
    "leases",
    "pauses",
    "endpoints",
    "subtasks",
    "messages",
    "findings",
    "evidence",
    "sources",
    "decisions",
    "hosts",
];

/// A store on an empty database of its own.
pub(crate) struct Bed {
    pub(crate) store: Store,
    pub(crate) url: String,
    clock: Arc<AtomicI64>,
    raw: AnyPool,
    folder: Option<TempDir>,
    schema: Option<Schema>,
}

struct Schema {
    name: String,
    /// Of this schema alone.
    url: String,
    server: AnyPool,
}

/// Runs the test on SQLite and on PostgreSQL.
pub(crate) async fn on_every_database(test: impl AsyncFn(&Bed)) {
    let bed = Bed::sqlite().await;
    test(&bed).await;
    bed.end().await;
    if with_postgres() {
        let bed = Bed::postgres().await;
        test(&bed).await;
        bed.end().await;
    }
}

/// Runs the test on an SQLite file and on a PostgreSQL schema that nothing was ever in; the test gets the store's
/// address of it, and a pool of plain connections.
pub(crate) async fn on_every_empty_database(test: impl AsyncFn(&str, &AnyPool)) {
    sqlx::any::install_default_drivers();
    let plain = AnyPoolOptions::new().max_connections(2);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/night.db", folder.path().display());
    let pool = plain.clone().connect(&format!("{url}?mode=rwc")).await.unwrap();
    test(&url, &pool).await;
    pool.close().await;
    if with_postgres() {
        let schema = Schema::make(&postgres_url()).await;
        let pool = plain.connect(&schema.url).await.unwrap();
        test(&schema.url, &pool).await;
        pool.close().await;
        schema.end().await;
    }
}

fn with_postgres() -> bool {
    std::env::var(WITHOUT_POSTGRES).map_or(true, |value| value != "1")
}

fn postgres_url() -> String {
    std::env::var(POSTGRES).unwrap_or_else(|_| {
        panic!(
            "{POSTGRES} is not set: run `./test`, or `cargo run -p nightforge-services -- --postgres -- cargo \
             nextest run -p nightforge-store`; {WITHOUT_POSTGRES}=1 leaves PostgreSQL out"
        )
    })
}

impl Schema {
    async fn make(server_url: &str) -> Self {
        sqlx::any::install_default_drivers();
        let one = AnyPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(5));
        let connected = one.connect(server_url).await;
        let server = connected.unwrap_or_else(|error| panic!("the PostgreSQL server fails: {error}"));
        let name = format!("test_{}", fresh_boot_id()).to_lowercase();
        sqlx::query(AssertSqlSafe(format!("CREATE SCHEMA {name}"))).execute(&server).await.unwrap();
        let mark = if server_url.contains('?') { '&' } else { '?' };
        Self { url: format!("{server_url}{mark}options[search_path]={name}"), name, server }
    }

    async fn end(self) {
        let drop = format!("DROP SCHEMA {} CASCADE", self.name);
        sqlx::query(AssertSqlSafe(drop)).execute(&self.server).await.unwrap();
        self.server.close().await;
    }
}

impl Bed {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/night.db", folder.path().display());
        let raw = format!("sqlite:{}/night.db?mode=rw", folder.path().display());
        Self::open(url, &raw, Some(folder), None).await
    }

    /// In a schema of its own on the server that all tests share.
    pub(crate) async fn postgres() -> Self {
        Self::postgres_at(&postgres_url()).await
    }

    /// In a schema of its own on this server.
    pub(crate) async fn postgres_at(server_url: &str) -> Self {
        let schema = Schema::make(server_url).await;
        let url = schema.url.clone();
        Self::open(url.clone(), &url, None, Some(schema)).await
    }

    async fn open(url: String, raw: &str, folder: Option<TempDir>, schema: Option<Schema>) -> Self {
        let clock = Arc::new(AtomicI64::new(START));
        let store = Store::open(&url, DbClock::Manual(Arc::clone(&clock))).await.unwrap();
        let raw = AnyPoolOptions::new().max_connections(2).connect(raw).await.unwrap();
        Self { store, url, clock, raw, folder, schema }
    }

    pub(crate) async fn end(self) {
        self.store.close().await;
        self.raw.close().await;
        drop(self.folder);
        if let Some(schema) = self.schema {
            schema.end().await;
        }
    }

    /// Closes every connection to an SQLite file; it lives as long as the folder that is returned.
    pub(crate) async fn close_and_keep(self) -> TempDir {
        self.store.close().await;
        self.raw.close().await;
        self.folder.unwrap()
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }

    /// The clock itself, for those that outlive a borrow.
    pub(crate) fn clock(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.clock)
    }

    pub(crate) fn now(&self) -> i64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// A process that has announced itself.
    pub(crate) async fn process(&self) -> BootId {
        let boot = fresh_boot_id();
        self.store.announce(&process(&boot)).await.unwrap();
        boot
    }

    /// Changes rows behind the store's back.
    pub(crate) async fn execute(&self, sql: &str) {
        sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&self.raw).await.unwrap();
    }

    /// Starts to change rows behind the store's back; the rows are locked until the end of the transaction.
    pub(crate) async fn begin(&self, sql: &str) -> sqlx::Transaction<'static, sqlx::Any> {
        let mut transaction = self.raw.begin().await.unwrap();
        sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut *transaction).await.unwrap();
        transaction
    }

    /// Rows of a query, columns joined by ` | `.
    pub(crate) async fn rows(&self, sql: &str) -> Vec<String> {
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&self.raw).await.unwrap();
        let text = |row: &sqlx::any::AnyRow, column: usize| match row.try_get::<Option<i64>, _>(column) {
            Ok(number) => number.map_or("-".to_owned(), |number| number.to_string()),
            Err(_) => row.try_get::<Option<String>, _>(column).unwrap().unwrap_or("-".to_owned()),
        };
        let line = |row: &sqlx::any::AnyRow| {
            row.columns().iter().map(|column| text(row, column.ordinal())).collect::<Vec<_>>().join(" | ")
        };
        rows.iter().map(line).collect()
    }

    /// Every row of every table: two of them are equal when nothing was written in between.
    pub(crate) async fn everything(&self) -> Vec<String> {
        let mut everything = Vec::new();
        for table in TABLES {
            let mut rows = self.rows(&format!("SELECT * FROM {table}")).await;
            rows.sort();
            everything.extend(rows.into_iter().map(|row| format!("{table}: {row}")));
        }
        everything
    }

    /// A task's inputs: number, kind, and the transition that consumed it.
    pub(crate) async fn inputs(&self, task: &TaskId) -> Vec<String> {
        let rows = self
            .rows(&format!(
                "SELECT number, body, consumed_seq FROM inputs WHERE task_id = '{task}' ORDER BY number"
            ))
            .await;
        let short = |row: String| {
            let (number, rest) = row.split_once(" | ").unwrap();
            let (body, consumed) = rest.rsplit_once(" | ").unwrap();
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            let job = body.get("job").map(|job| format!(" {job}")).unwrap_or_default();
            format!("{number} {}{job}: {consumed}", body["input"].as_str().unwrap())
        };
        rows.into_iter().map(short).collect()
    }

    /// The types of a task's events; fails when their numbers have a gap.
    pub(crate) async fn events(&self, task: &TaskId) -> Vec<String> {
        let events = self.store.events(task, 0, 10_000).await.unwrap();
        let numbers: Vec<i64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (1..=events.len() as i64).collect::<Vec<_>>(), "numbers of events have no gap");
        events.into_iter().map(|event| event.type_name).collect()
    }
}

/// What a process of the tests says of itself.
pub(crate) fn process(boot: &BootId) -> Process {
    Process {
        boot: boot.clone(),
        host: "bench".to_owned(),
        role: Role::Worker,
        version: "0".to_owned(),
        model: Some("m".to_owned()),
        endpoint: None,
        gpu: None,
        slots: 1,
    }
}

//! Opening a database: engine, pools, settings of every connection.

use std::str::FromStr;
use std::time::Duration;

use nightforge_domain::masked_url;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool, AssertSqlSafe, Connection, Executor};

use crate::connection::{Reads, Write};
use crate::migrate::{Migrated, bring_up_to_date, versions};
use crate::{DbClock, StoreError, error, url};

/// How long SQLite waits for another process's write lock before it gives up.
const BUSY_TIMEOUT_MS: u32 = 5_000;

/// How long the first connection may take to be made, and one of a pool to become free on SQLite.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a connection to PostgreSQL may take, to be made or to become free.
const POSTGRES_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a PostgreSQL connection that lay idle may take to show that it is still one.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// How long PostgreSQL may take for an answer before this side gives up. Longer than the server's own limits, so
/// that a server that is well says itself what was wrong.
const ANSWER_WITHIN: Duration = Duration::from_secs(12);

/// Settings of every PostgreSQL connection. A process that was stopped within a transaction gives up its row locks
/// before those who wait for them do. Reading twice must not fail, and what was committed must survive the server's
/// machine, whatever the server's defaults are.
const POSTGRES_SETTINGS: &str = "SET idle_in_transaction_session_timeout = '5s';
     SET lock_timeout = '8s';
     SET statement_timeout = '10s';
     SET default_transaction_isolation = 'read committed';
     SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// Connections of a store that a thread of its own uses.
const REOPENED_CONNECTIONS: u32 = 2;

/// Which database holds the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// A file; one machine.
    Sqlite,
    /// A server; any number of machines.
    Postgres,
}

/// The state of record. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) engine: Engine,
    pub(crate) clock: DbClock,
    write: AnyPool,
    pub(crate) read: Reads,
    url: String,
}

impl Store {
    /// Opens the database at `url` (`sqlite:PATH`, `postgres://…` or `postgresql://…`) and brings its schema up to
    /// date, alone: others that open it at the same time wait.
    ///
    /// # Errors
    /// When it can't be opened, when its schema is newer than this program, or when a migration fails.
    pub async fn open(url: &str, clock: DbClock) -> Result<Self, StoreError> {
        Ok(Self::open_migrating(url, clock).await?.0)
    }

    /// Opens an existing database for reading only, as it is: nothing is created or migrated.
    ///
    /// # Errors
    /// When it can't be opened, or its schema is not the one of this program.
    pub async fn open_existing(url: &str) -> Result<Self, StoreError> {
        let (mut connection, engine) = Self::first_connection(url, false).await?;
        let found = versions(&mut connection, engine).await;
        // Properly, so that no file of this program's stays beside a database that is refused.
        let closed = connection.close().await;
        let (found, known) = (found?, Self::schema_version());
        closed?;
        if !found.pending.is_empty() {
            return Err(StoreError::OlderDatabase { found: found.current(), known });
        }
        Self::connect(url, DbClock::Database, None).await
    }

    pub(crate) async fn open_migrating(url: &str, clock: DbClock) -> Result<(Self, Migrated), StoreError> {
        let (mut connection, engine) = Self::first_connection(url, true).await?;
        let migrated = bring_up_to_date(&mut connection, engine).await;
        let closed = connection.close().await;
        let migrated = migrated?;
        closed?;
        Ok((Self::connect(url, clock, None).await?, migrated))
    }

    /// Connects once, with no pool, which would hide what is wrong: it tries again and again, and then says that it
    /// timed out.
    pub(crate) async fn first_connection(
        url: &str,
        create: bool,
    ) -> Result<(AnyConnection, Engine), StoreError> {
        let (engine, options) = options(url, create)?;
        let connection = first_connection(&options, engine).await;
        Ok((connection.map_err(|source| open_error(url, engine, source))?, engine))
    }

    async fn connect(url: &str, clock: DbClock, at_most: Option<u32>) -> Result<Self, StoreError> {
        let (engine, options) = options(url, false)?;
        // SQLite has one writer at a time anyway; queueing for it here is fair and never busy.
        let (writers, readers) = match engine {
            Engine::Sqlite => (1, 4),
            Engine::Postgres => (at_most.unwrap_or(10), 0),
        };
        let write = pool(engine, writers)
            .connect_with(options.clone())
            .await
            .map_err(|source| open_error(url, engine, source))?;
        let read = match engine {
            Engine::Sqlite => Reads { pool: pool(engine, readers).connect_lazy_with(options), limit: None },
            Engine::Postgres => Reads { pool: write.clone(), limit: Some(ANSWER_WITHIN) },
        };
        Ok(Self { engine, clock, write, read, url: url.to_owned() })
    }

    /// A second store on the same database with connections of its own, for a thread with its own runtime.
    ///
    /// # Errors
    /// When the database can't be opened; it is not made anew if it has vanished.
    pub async fn reopen(&self) -> Result<Self, StoreError> {
        let (connection, _) = Self::first_connection(&self.url, false).await?;
        connection.close().await?;
        Self::connect(&self.url, self.clock.clone(), Some(REOPENED_CONNECTIONS)).await
    }

    /// Which database holds the state.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Closes every connection; writes that were committed are safe without it.
    pub async fn close(&self) {
        self.write.close().await;
        self.read.pool.close().await;
    }

    /// An SQL text with `{now}` replaced by the clock. Texts are constants of this crate, never input.
    pub(crate) fn sql(&self, text: &'static str) -> AssertSqlSafe<String> {
        AssertSqlSafe(text.replace("{now}", &self.clock.sql(self.engine)))
    }

    /// Begins a transaction that is going to write.
    pub(crate) async fn begin(&self) -> Result<Write, StoreError> {
        // Without IMMEDIATE a transaction that reads first and writes then fails at once with BUSY_SNAPSHOT.
        let statement = match self.engine {
            Engine::Sqlite => "BEGIN IMMEDIATE",
            Engine::Postgres => "BEGIN",
        };
        Ok(Write::begin(&self.write, self.read.limit, statement).await?)
    }

    /// Whether the database can be read and written: a write that changes nothing is committed.
    ///
    /// # Errors
    /// When it can't.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1").execute(&self.read).await?;
        let mut tx = self.begin().await?;
        sqlx::query("UPDATE leases SET epoch = epoch WHERE name = 'leader'").execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}

fn options(url: &str, create: bool) -> Result<(Engine, AnyConnectOptions), StoreError> {
    sqlx::any::install_default_drivers();
    let (engine, for_driver) = url::for_driver(url, create)?;
    let options = AnyConnectOptions::from_str(&for_driver);
    Ok((engine, options.map_err(|source| open_error(url, engine, source))?))
}

async fn first_connection(options: &AnyConnectOptions, engine: Engine) -> Result<AnyConnection, sqlx::Error> {
    let connecting = async {
        if engine == Engine::Postgres {
            loop {
                match AnyConnection::connect_with(options).await {
                    Err(error) if is_starting(&error) => tokio::time::sleep(Duration::from_millis(100)).await,
                    connected => return connected,
                }
            }
        }
        let mut connection = AnyConnection::connect_with(options).await?;
        while let Err(error) = set_pragmas(&mut connection).await {
            // The change to WAL does not wait for its turn by itself.
            if !is_busy(&error) {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(connection)
    };
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

/// PostgreSQL's `cannot_connect_now`: it is starting, or going on after a crash.
fn is_starting(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.as_deref() == Some("57P03")
}

/// `SQLITE_BUSY` or `SQLITE_LOCKED`, whatever their extension.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.and_then(|code| code.parse::<u32>().ok()).is_some_and(|code| matches!(code & 0xff, 5 | 6))
}

fn pool(engine: Engine, connections: u32) -> AnyPoolOptions {
    let options = AnyPoolOptions::new().max_connections(connections);
    match engine {
        Engine::Sqlite => options
            .acquire_timeout(CONNECT_TIMEOUT)
            .after_connect(|connection, _| Box::pin(set_pragmas(connection))),
        Engine::Postgres => options
            .acquire_timeout(POSTGRES_CONNECT_TIMEOUT)
            .after_connect(|connection, _| {
                Box::pin(async { connection.execute(POSTGRES_SETTINGS).await.map(drop) })
            })
            // In place of the pool's own test, which has no time limit.
            .test_before_acquire(false)
            .before_acquire(|connection, _| {
                Box::pin(async {
                    let pinged = tokio::time::timeout(PING_TIMEOUT, connection.ping()).await;
                    Ok(matches!(pinged, Ok(Ok(()))))
                })
            }),
    }
}

async fn set_pragmas(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    for pragma in [
        format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}"),
        "PRAGMA journal_mode = WAL".to_owned(),
        "PRAGMA synchronous = FULL".to_owned(),
        "PRAGMA foreign_keys = ON".to_owned(),
    ] {
        sqlx::query(AssertSqlSafe(pragma)).execute(&mut *connection).await?;
    }
    Ok(())
}

fn open_error(url: &str, engine: Engine, source: sqlx::Error) -> StoreError {
    let remedy = match engine {
        Engine::Sqlite if error::is_damage(&source) => error::DAMAGED,
        Engine::Sqlite => "Check that the data folder exists, can be written to and has room.",
        Engine::Postgres => {
            "Check that PostgreSQL runs, that the URL is right and that the user may connect."
        }
    };
    StoreError::Open { url: masked_url(url), source, remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use sqlx::any::AnyRow;
    use sqlx::pool::PoolConnection;
    use sqlx::{Any, Row};

    use super::*;

    async fn pragma(connection: &mut PoolConnection<Any>, name: &'static str) -> AnyRow {
        sqlx::query(AssertSqlSafe(format!("PRAGMA {name}"))).fetch_one(&mut **connection).await.unwrap()
    }

    #[tokio::test]
    async fn every_connection_writes_ahead_and_syncs_fully() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/night.db", folder.path().display());
        let store = Store::open(&url, DbClock::Database).await.unwrap();
        let reopened = store.reopen().await.unwrap();
        for store in [store, reopened] {
            // All of a pool's connections at once, so that each is another one.
            let mut connections = vec![store.write.acquire().await.unwrap()];
            for _ in 0..store.read.pool.options().get_max_connections() {
                connections.push(store.read.acquire().await.unwrap());
            }
            assert_eq!(connections.len(), 5);
            for connection in &mut connections {
                let mode: String = pragma(connection, "journal_mode").await.get(0);
                let synchronous: i64 = pragma(connection, "synchronous").await.get(0);
                let foreign_keys: i64 = pragma(connection, "foreign_keys").await.get(0);
                let busy_timeout: i64 = pragma(connection, "busy_timeout").await.get(0);
                assert_eq!((mode.as_str(), synchronous, foreign_keys), ("wal", 2, 1));
                assert_eq!(busy_timeout, i64::from(BUSY_TIMEOUT_MS));
            }
        }
    }

    #[tokio::test]
    async fn a_full_disk_does_not_outlast_itself() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("full.db").display());
        let store = Store::open(&url, DbClock::Database).await.unwrap();
        let mut connection = store.write.acquire().await.unwrap();
        let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *connection).await.unwrap();
        let limit = AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        sqlx::query(limit).execute(&mut *connection).await.unwrap();
        drop(connection);
        let fill = async || -> Result<(), StoreError> {
            let mut tx = store.begin().await?;
            for n in 0..200 {
                sqlx::query("INSERT INTO turns (model, owner, last_at) VALUES ($1, $2, 0)")
                    .bind(format!("model {n}"))
                    .bind("o".repeat(1_000))
                    .execute(&mut *tx)
                    .await?;
            }
            Ok(tx.commit().await?)
        };
        let error = fill().await.unwrap_err().to_string();
        assert!(error.contains("full"), "{error}");
        // The limit went with its connection: there is room again.
        fill().await.unwrap();
        store.ping().await.unwrap();
    }

    mod postgres {
        use nightforge_services::Postgres;

        use super::*;

        #[tokio::test]
        async fn every_connection_has_its_limits_whatever_the_servers_defaults() {
            let defaults = ["default_transaction_isolation=serializable", "synchronous_commit=off"];
            let server = Postgres::start_with(&defaults).unwrap();
            let store = Store::open(&server.url(), DbClock::Database).await.unwrap();
            let mut connections = Vec::new();
            for _ in 0..10 {
                connections.push(store.write.acquire().await.unwrap());
            }
            for connection in &mut connections {
                for (name, value) in [
                    ("idle_in_transaction_session_timeout", "5s"),
                    ("lock_timeout", "8s"),
                    ("statement_timeout", "10s"),
                    ("default_transaction_isolation", "read committed"),
                    ("synchronous_commit", "on"),
                ] {
                    let show = AssertSqlSafe(format!("SHOW {name}"));
                    let found: String = sqlx::query_scalar(show).fetch_one(&mut **connection).await.unwrap();
                    assert_eq!(found, value, "{name}");
                }
            }
        }

        #[tokio::test]
        async fn who_stops_within_a_transaction_holds_nobody_up_for_long() {
            let server = Postgres::start().unwrap();
            let store = Store::open(&server.url(), DbClock::Database).await.unwrap();
            let boot = crate::fresh_boot_id();
            store.lead(&boot, 1_000).await.unwrap();
            let mut stopped = store.begin().await.unwrap();
            sqlx::query("UPDATE leases SET epoch = epoch").execute(&mut *stopped).await.unwrap();
            // It waits for that row, and gets it when the server ends the other's transaction.
            store.ping().await.unwrap();
            assert!(stopped.commit().await.is_err());
        }
    }
}

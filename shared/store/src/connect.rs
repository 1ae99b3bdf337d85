//! Opening a database: engine, pools, PRAGMAs, schema version.

use std::str::FromStr;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Any, AnyConnection, AnyPool, AssertSqlSafe, Connection, Transaction};

use crate::{DbClock, StoreError, error, url};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long SQLite waits for another process's write lock before it gives up.
const BUSY_TIMEOUT_MS: u32 = 5_000;

/// How long a connection may take, to be made or to become free.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

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
    pub(crate) read: AnyPool,
    url: String,
}

impl Store {
    /// Opens the database at `url` (`sqlite:PATH` or `postgres://…`) and brings its schema up to date.
    ///
    /// # Errors
    /// When it can't be opened, when its schema is newer than this program, or when a migration fails.
    pub async fn open(url: &str, clock: DbClock) -> Result<Self, StoreError> {
        let store = Self::connect(url, clock, true).await?;
        let migrated = store.migrate().await;
        store.or_closed(migrated).await
    }

    /// Opens an existing database for reading only, as it is: nothing is created or migrated.
    ///
    /// # Errors
    /// When it can't be opened, or its schema is not the one of this program.
    pub async fn open_existing(url: &str) -> Result<Self, StoreError> {
        let store = Self::connect(url, DbClock::Database, false).await?;
        let checked = match store.refuse_newer().await {
            Ok(found) if found < Self::schema_version() => {
                Err(StoreError::OlderDatabase { found, known: Self::schema_version() })
            }
            checked => checked.map(|_| ()),
        };
        store.or_closed(checked).await
    }

    /// A database that is refused is closed properly first, so that no file of this program's stays beside it.
    async fn or_closed(self, checked: Result<(), StoreError>) -> Result<Self, StoreError> {
        if checked.is_err() {
            self.close().await;
        }
        checked.map(|()| self)
    }

    async fn connect(url: &str, clock: DbClock, create: bool) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let (engine, for_driver) = url::for_driver(url, create)?;
        let options =
            AnyConnectOptions::from_str(&for_driver).map_err(|source| open_error(url, engine, source))?;
        try_out(&options, engine).await.map_err(|source| open_error(url, engine, source))?;
        // SQLite has one writer at a time anyway; queueing for it here is fair and never busy.
        let (writers, readers) = match engine {
            Engine::Sqlite => (1, 4),
            Engine::Postgres => (10, 10),
        };
        let write = pool(engine, writers)
            .connect_with(options.clone())
            .await
            .map_err(|source| open_error(url, engine, source))?;
        let read = match engine {
            Engine::Sqlite => pool(engine, readers).connect_lazy_with(options),
            Engine::Postgres => write.clone(),
        };
        Ok(Self { engine, clock, write, read, url: url.to_owned() })
    }

    /// A second store on the same database with connections of its own, for a thread with its own runtime.
    ///
    /// # Errors
    /// When the database can't be opened; it is not made anew if it has vanished.
    pub async fn reopen(&self) -> Result<Self, StoreError> {
        Self::connect(&self.url, self.clock.clone(), false).await
    }

    /// Which database holds the state.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Closes every connection; writes that were committed are safe without it.
    pub async fn close(&self) {
        self.write.close().await;
        self.read.close().await;
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        self.refuse_newer().await?;
        if MIGRATIONS.run(&self.write).await.is_ok() {
            return Ok(());
        }
        // On SQLite two processes that start at once both try; the second attempt finds the work of the other.
        MIGRATIONS.run(&self.write).await.map_err(StoreError::Migrate)
    }

    /// A database that a newer program has migrated is left alone. Returns the version found, 0 for none.
    async fn refuse_newer(&self) -> Result<i64, StoreError> {
        let known = Self::schema_version();
        let table = match self.engine {
            Engine::Sqlite => "SELECT count(*) FROM sqlite_master WHERE name = '_sqlx_migrations'",
            Engine::Postgres => {
                "SELECT count(*) FROM pg_tables
                 WHERE tablename = '_sqlx_migrations' AND schemaname = ANY (current_schemas(false))"
            }
        };
        let tables: i64 = sqlx::query_scalar(table).fetch_one(&self.write).await?;
        if tables == 0 {
            return Ok(0);
        }
        let found: i64 = sqlx::query_scalar("SELECT COALESCE(max(version), 0) FROM _sqlx_migrations")
            .fetch_one(&self.write)
            .await?;
        if found > known {
            return Err(StoreError::NewerDatabase { found, known, program: env!("CARGO_PKG_VERSION") });
        }
        Ok(found)
    }

    /// The version of the schema that this program brings.
    pub fn schema_version() -> i64 {
        MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
    }

    /// An SQL text with `{now}` replaced by the clock. Texts are constants of this crate, never input.
    pub(crate) fn sql(&self, text: &'static str) -> AssertSqlSafe<String> {
        AssertSqlSafe(text.replace("{now}", &self.clock.sql(self.engine)))
    }

    /// Begins a transaction that is going to write.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Any>, StoreError> {
        // Without IMMEDIATE a transaction that reads first and writes then fails at once with BUSY_SNAPSHOT.
        Ok(match self.engine {
            Engine::Sqlite => match self.write.begin_with("BEGIN IMMEDIATE").await {
                // SQLite ends a transaction by itself when the disk is full; sqlx then takes it for open, and the
                // connection begins no other one. A new connection does.
                Err(sqlx::Error::InvalidSavePointStatement) => {
                    self.write.acquire().await?.close().await?;
                    self.write.begin_with("BEGIN IMMEDIATE").await?
                }
                begun => begun?,
            },
            Engine::Postgres => self.write.begin().await?,
        })
    }

    /// Whether the database can be read and written: a write that changes nothing is committed.
    ///
    /// # Errors
    /// When it can't.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.read.acquire().await?.ping().await?;
        let mut tx = self.begin().await?;
        sqlx::query("UPDATE leases SET epoch = epoch WHERE name = 'leader'").execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}

/// Connects once. A pool would hide what is wrong: it tries again and again, and then says that it timed out.
async fn try_out(options: &AnyConnectOptions, engine: Engine) -> Result<(), sqlx::Error> {
    let connecting = async {
        let mut connection = AnyConnection::connect_with(options).await?;
        if engine == Engine::Sqlite {
            while let Err(error) = set_pragmas(&mut connection).await {
                // The change to WAL does not wait for its turn by itself.
                if !is_busy(&error) {
                    return Err(error);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        connection.close().await
    };
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

/// `SQLITE_BUSY` or `SQLITE_LOCKED`, whatever their extension.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.and_then(|code| code.parse::<u32>().ok()).is_some_and(|code| matches!(code & 0xff, 5 | 6))
}

fn pool(engine: Engine, connections: u32) -> AnyPoolOptions {
    let options = AnyPoolOptions::new().max_connections(connections).acquire_timeout(CONNECT_TIMEOUT);
    if engine == Engine::Postgres {
        return options;
    }
    options.after_connect(|connection, _| Box::pin(set_pragmas(connection)))
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
    StoreError::Open { url: url::shown(url), source, remedy: remedy.to_owned() }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        StoreError::Migrate(error)
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Row;
    use sqlx::any::AnyRow;
    use sqlx::pool::PoolConnection;

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
            for _ in 0..store.read.options().get_max_connections() {
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
}

//! Opening a database: engine, pools, PRAGMAs, schema version.

use std::str::FromStr;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Any, AnyPool, AssertSqlSafe, Connection, Transaction};

use crate::{DbClock, StoreError};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long SQLite waits for another process's write lock before it gives up.
const BUSY_TIMEOUT_MS: u32 = 5_000;

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
        store.migrate().await?;
        Ok(store)
    }

    /// Opens an existing database for reading only, as it is: nothing is created or migrated.
    ///
    /// # Errors
    /// When it can't be opened, or its schema is not the one of this program.
    pub async fn open_existing(url: &str) -> Result<Self, StoreError> {
        let store = Self::connect(url, DbClock::Database, false).await?;
        store.refuse_newer().await?;
        Ok(store)
    }

    async fn connect(url: &str, clock: DbClock, create: bool) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let (engine, url) = if let Some(path) = url.strip_prefix("sqlite:") {
            let mode = if create { "rwc" } else { "rw" };
            (Engine::Sqlite, format!("sqlite:{path}?mode={mode}"))
        } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            (Engine::Postgres, url.to_owned())
        } else {
            return Err(StoreError::Url(without_password(url)));
        };
        let options = AnyConnectOptions::from_str(&url).map_err(|source| open_error(&url, engine, source))?;
        // SQLite has one writer at a time anyway; queueing for it here is fair and never busy.
        let (writers, readers) = match engine {
            Engine::Sqlite => (1, 4),
            Engine::Postgres => (10, 10),
        };
        let write = pool(engine, writers)
            .connect_with(options.clone())
            .await
            .map_err(|source| open_error(&url, engine, source))?;
        let read = match engine {
            Engine::Sqlite => pool(engine, readers).connect_lazy_with(options),
            Engine::Postgres => write.clone(),
        };
        Ok(Self { engine, clock, write, read, url })
    }

    /// A second store on the same database with connections of its own, for a thread with its own runtime.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn reopen(&self) -> Result<Self, StoreError> {
        let url = self.url.split("?mode=").next().unwrap_or(&self.url);
        Self::connect(url, self.clock.clone(), true).await
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
        MIGRATIONS.run(&self.write).await.map_err(StoreError::Migrate)
    }

    /// A database that a newer program has migrated is left alone.
    async fn refuse_newer(&self) -> Result<(), StoreError> {
        let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
        let table = match self.engine {
            Engine::Sqlite => "SELECT count(*) FROM sqlite_master WHERE name = '_sqlx_migrations'",
            Engine::Postgres => "SELECT count(*) FROM pg_tables WHERE tablename = '_sqlx_migrations'",
        };
        let tables: i64 = sqlx::query_scalar(table).fetch_one(&self.write).await?;
        if tables == 0 {
            return Ok(());
        }
        let found: Option<i64> =
            sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(&self.write).await?;
        match found {
            Some(found) if found > known => {
                Err(StoreError::NewerDatabase { found, known, program: env!("CARGO_PKG_VERSION") })
            }
            _ => Ok(()),
        }
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
            Engine::Sqlite => self.write.begin_with("BEGIN IMMEDIATE").await?,
            Engine::Postgres => self.write.begin().await?,
        })
    }

    /// `journal_mode` and `synchronous` of one connection of each pool, as SQLite reports them.
    #[cfg(test)]
    pub(crate) async fn pragmas(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let mut found = Vec::new();
        for pool in [&self.write, &self.read] {
            let mut connection = pool.acquire().await?;
            let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut *connection).await?;
            let sync: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *connection).await?;
            found.push((mode, sync));
        }
        Ok(found)
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        Ok(self.read.acquire().await?.ping().await?)
    }
}

fn pool(engine: Engine, connections: u32) -> AnyPoolOptions {
    let options =
        AnyPoolOptions::new().max_connections(connections).acquire_timeout(Duration::from_secs(30));
    if engine == Engine::Postgres {
        return options;
    }
    options.after_connect(|connection, _| {
        Box::pin(async move {
            for pragma in [
                AssertSqlSafe(format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")),
                AssertSqlSafe("PRAGMA journal_mode = WAL".to_owned()),
                AssertSqlSafe("PRAGMA synchronous = FULL".to_owned()),
                AssertSqlSafe("PRAGMA foreign_keys = ON".to_owned()),
            ] {
                sqlx::query(pragma).execute(&mut *connection).await?;
            }
            Ok(())
        })
    })
}

fn open_error(url: &str, engine: Engine, source: sqlx::Error) -> StoreError {
    let remedy = match engine {
        Engine::Sqlite => "Check that the data folder exists, can be written to and has room.",
        Engine::Postgres => "Check that PostgreSQL runs, that the URL is right and that the user may connect.",
    };
    StoreError::Open { url: without_password(url), source, remedy: remedy.to_owned() }
}

/// The URL without what stands between `://` and `@`.
fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => format!("{}…{}", &url[..scheme + 3], &url[at..]),
        _ => url.to_owned(),
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        StoreError::Migrate(error)
    }
}

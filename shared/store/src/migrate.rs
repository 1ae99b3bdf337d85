//! The schema's version: what a database has, what this program brings, and the way from one to the other.

use std::time::Duration;

use sqlx::migrate::{AppliedMigration, Migrate, MigrateError, Migrator};
use sqlx::{Any, AnyConnection, AssertSqlSafe, Connection, Executor, Transaction};

use crate::connect::is_busy;
use crate::{DbClock, Engine, Store, StoreError};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

const TABLE: &str = "_sqlx_migrations";

/// How long another process that is bringing the schema up to date is waited for.
const WAIT_FOR_OTHERS: Duration = Duration::from_secs(60);

/// How long the migrations themselves may take; after that the server is taken for frozen.
const MIGRATE_WITHIN: Duration = Duration::from_secs(3_600);

/// PostgreSQL's `lock_not_available`: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// What bringing a schema up to date did. The two versions are the same when nothing was left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; 0 when nothing of this program was there.
    pub from: i64,
    /// The version after.
    pub to: i64,
}

/// Versions of a database's schema, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrations {
    /// What the database has.
    pub applied: Vec<i64>,
    /// What this program would still do.
    pub pending: Vec<i64>,
}

impl Store {
    /// Brings the schema of the database at `url` up to date, as [`Store::open`] does, and says what that was.
    ///
    /// # Errors
    /// When it can't be opened, when its schema is newer than this program, or when a migration fails; then nothing
    /// was changed.
    pub async fn migrate(url: &str) -> Result<Migrated, StoreError> {
        let (store, migrated) = Self::open_migrating(url, DbClock::Database).await?;
        store.close().await;
        Ok(migrated)
    }

    /// What a migration of the database at `url` would do. Nothing is created or changed.
    ///
    /// # Errors
    /// When it can't be opened, or its schema is newer than this program.
    pub async fn migrations(url: &str) -> Result<Migrations, StoreError> {
        let (mut connection, engine) = Self::first_connection(url, false).await?;
        let found = versions(&mut connection, engine).await;
        let closed = connection.close().await;
        let found = found?;
        closed?;
        Ok(found)
    }

    /// The version of the schema that this program brings.
    pub fn schema_version() -> i64 {
        MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
    }
}

impl Migrations {
    /// The version that the database has; 0 when nothing of this program is in it.
    pub fn current(&self) -> i64 {
        self.applied.last().copied().unwrap_or(0)
    }
}

/// Versions that are there and that are missing; a database that a newer program has migrated is refused.
pub(crate) async fn versions(
    connection: &mut AnyConnection,
    engine: Engine,
) -> Result<Migrations, StoreError> {
    let applied = applied(connection, engine).await?;
    let newest = applied.iter().map(|migration| migration.version).max().unwrap_or(0);
    let known = Store::schema_version();
    if newest > known {
        let program = env!("CARGO_PKG_VERSION");
        return Err(StoreError::NewerDatabase { found: newest, known, program });
    }
    let mut pending = Vec::new();
    for migration in MIGRATIONS.iter() {
        match applied.iter().find(|applied| applied.version == migration.version) {
            Some(applied) if applied.checksum == migration.checksum => {}
            Some(_) => return Err(MigrateError::VersionMismatch(migration.version).into()),
            None => pending.push(migration.version),
        }
    }
    Ok(Migrations { applied: applied.iter().map(|migration| migration.version).collect(), pending })
}

async fn applied(
    connection: &mut AnyConnection,
    engine: Engine,
) -> Result<Vec<AppliedMigration>, StoreError> {
    let table = match engine {
        Engine::Sqlite => "SELECT count(*) FROM sqlite_master WHERE name = '_sqlx_migrations'",
        Engine::Postgres => {
            "SELECT count(*) FROM pg_tables
             WHERE tablename = '_sqlx_migrations' AND schemaname = ANY (current_schemas(false))"
        }
    };
    let tables: i64 = sqlx::query_scalar(table).fetch_one(&mut *connection).await?;
    if tables == 0 {
        return Ok(Vec::new());
    }
    Ok(connection.list_applied_migrations(TABLE).await?)
}

/// Applies what is missing: all of it or nothing, and one process at a time.
pub(crate) async fn bring_up_to_date(
    connection: &mut AnyConnection,
    engine: Engine,
) -> Result<Migrated, StoreError> {
    let found = versions(connection, engine).await?;
    if found.pending.is_empty() {
        return Ok(Migrated { from: found.current(), to: found.current() });
    }
    let migrating = async {
        let mut tx = begin_alone(connection, engine).await?;
        // Another process may have done it meanwhile.
        let found = versions(&mut tx, engine).await?;
        // Each migration becomes a savepoint.
        MIGRATIONS.run_direct(None, &mut *tx, false).await?;
        tx.commit().await?;
        Ok(Migrated { from: found.current(), to: Store::schema_version() })
    };
    let overdue = StoreError::Migrating { waited_s: MIGRATE_WITHIN.as_secs() };
    tokio::time::timeout(MIGRATE_WITHIN, migrating).await.unwrap_or(Err(overdue))
}

/// Begins a transaction that keeps other migrating processes out until its commit.
async fn begin_alone(
    connection: &mut AnyConnection,
    engine: Engine,
) -> Result<Transaction<'_, Any>, StoreError> {
    match engine {
        Engine::Sqlite => {
            let waits = format!("PRAGMA busy_timeout = {}", WAIT_FOR_OTHERS.as_millis());
            connection.execute(AssertSqlSafe(waits)).await?;
            connection
                .begin_with("BEGIN IMMEDIATE")
                .await
                .map_err(|error| if is_busy(&error) { still_migrating() } else { error.into() })
        }
        Engine::Postgres => {
            let waits = format!("SET lock_timeout = '{}s'", WAIT_FOR_OTHERS.as_secs());
            connection.execute(AssertSqlSafe(waits)).await?;
            // An advisory lock of the session: still held at the commit, and given up when the connection ends.
            connection.lock().await?;
            Ok(connection.begin().await?)
        }
    }
}

fn still_migrating() -> StoreError {
    StoreError::Migrating { waited_s: WAIT_FOR_OTHERS.as_secs() }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        if let MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) = &error {
            let code = cause.as_database_error().and_then(sqlx::error::DatabaseError::code);
            if code.as_deref() == Some(LOCK_NOT_AVAILABLE) {
                return still_migrating();
            }
        }
        StoreError::Migrate(error)
    }
}

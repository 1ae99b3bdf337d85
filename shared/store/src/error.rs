//! What can go wrong with the state of record.

use nightforge_domain::TaskId;

/// An error of the store. Every text names the thing and, where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database said no, or could not be reached.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// The database can't be opened.
    #[error("the database {url} can't be opened: {source}. {remedy}")]
    Open {
        /// Without credentials.
        url: String,
        /// What the driver said.
        source: sqlx::Error,
        /// What to do.
        remedy: String,
    },
    /// The URL names no database that this program knows.
    #[error("`{0}` is not a database URL; use sqlite:PATH or postgres://USER@HOST/NAME")]
    Url(String),
    /// A newer program has migrated the database.
    #[error(
        "the database has schema version {found}, this program ({program}) knows up to {known}; \
         run the newer program, or restore the backup that was made before its first start"
    )]
    NewerDatabase {
        /// In the database.
        found: i64,
        /// In this program.
        known: i64,
        /// This program's version.
        program: &'static str,
    },
    /// This program has not brought the schema up to date yet, and was asked not to.
    #[error(
        "the database has schema version {found}, this program needs {known}; start a role that writes to it once \
         (for example `nightforge up`), which brings it up to date"
    )]
    OlderDatabase {
        /// In the database; 0 when nothing of this program is in it.
        found: i64,
        /// In this program.
        known: i64,
    },
    /// The schema could not be brought up to date.
    #[error("the database's schema can't be brought up to date: {0}")]
    Migrate(sqlx::migrate::MigrateError),
    /// There is no such task.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// The idempotency key came with another body before.
    #[error(
        "the idempotency key was used for another request (task {0}); send a new key, or the same request"
    )]
    IdempotencyConflict(TaskId),
    /// A row can't be read as what it should be.
    #[error("the database holds something in column `{what}` that this program can't read: {why}")]
    Corrupt {
        /// The column, by its name.
        what: &'static str,
        /// What the parser said.
        why: String,
    },
}

impl StoreError {
    pub(crate) fn corrupt(what: &'static str, why: impl std::fmt::Display) -> Self {
        Self::Corrupt { what, why: why.to_string() }
    }
}

//! What can go wrong with the state of record.

use nightforge_domain::TaskId;
use nightforge_domain::research::SourceId;
use sqlx::migrate::MigrateError;

/// What to do with a database file that SQLite can't read.
pub(crate) const DAMAGED: &str = "The file is damaged, or was never a database: restore a backup, or move the data \
     folder away to begin with a fresh one.";

/// An error of the store. Every text names the thing and, where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database said no, or could not be reached.
    #[error("database: {told}{damaged}", told = told(.0), damaged = remedy(Some(.0)))]
    Database(#[from] sqlx::Error),
    /// The database can't be opened.
    #[error("the database {url} can't be opened: {told}. {remedy}", told = told(.source))]
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
    /// The URL has a parameter that no driver would heed.
    #[error(
        "the database URL has an unknown parameter `{0}`; known are sslmode, sslrootcert, sslcert, sslkey, \
         application_name, user, password, host, port, dbname and options"
    )]
    UrlParameter(String),
    /// A password in the URL holds characters that mean something in a URL.
    #[error(
        "the database URL can't be read; in a user, a password or a name, write `?` as %3F, `#` as %23, `/` as %2F, \
         `@` as %40, `:` as %3A and `%` as %25. It has the form postgres://USER:PASSWORD@HOST:PORT/NAME"
    )]
    UrlEncoding,
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
    #[error("the database's schema can't be brought up to date: {0}{damaged}", damaged = remedy(cause(.0)))]
    Migrate(MigrateError),
    /// Another process is bringing the schema up to date, and takes too long, or keeps others from it.
    #[error(
        "the database's schema is being brought up to date by another process, or its tables are held by one, for \
         over {waited_s} s; try again when that has ended"
    )]
    Migrating {
        /// How long this process waited, in seconds.
        waited_s: u64,
    },
    /// There is no such task.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// The idempotency key came with another body before.
    #[error(
        "the idempotency key was used for another request (task {0}); send a new key, or the same request"
    )]
    IdempotencyConflict(TaskId),
    /// The earlier task that a new one names can't be compared with.
    #[error("the earlier task {task} can't be compared with: {why}")]
    Previous {
        /// The earlier one.
        task: TaskId,
        /// What is wrong with it.
        why: NoComparison,
    },
    /// A job speaks of a source that its task does not have.
    #[error("the task {0} has no source {1}; only what a search found, or the objective names, can be read")]
    NoSource(TaskId, SourceId),
    /// A row can't be read as what it should be.
    #[error("the database holds something in column `{what}` that this program can't read: {why}")]
    Corrupt {
        /// The column, by its name.
        what: &'static str,
        /// What the parser said.
        why: String,
    },
}

/// Why no result can say what changed since an earlier task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoComparison {
    /// It is not there.
    #[error("there is no such task; name one that `tasks` lists")]
    Unknown,
    /// It does not do research.
    #[error("it is not of kind research; name one that is")]
    OtherKind,
    /// It goes on, or ended before it had anything to tell.
    #[error("it has no result yet; wait for its end, or name another one")]
    NoResult,
}

impl StoreError {
    /// Whether the database's file can't be read as one any more.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Database(source) | Self::Open { source, .. } => is_damage(source),
            Self::Migrate(error) => cause(error).is_some_and(is_damage),
            _ => false,
        }
    }

    /// Whether the database can't be reached, hangs, starts or ends: what was asked may be possible again later.
    /// Whether a change that was under way has been made is then not known.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Database(source) | Self::Open { source, .. } => is_away(source),
            Self::Migrate(error) => cause(error).is_some_and(is_away),
            _ => false,
        }
    }

    pub(crate) fn corrupt(what: &'static str, why: impl std::fmt::Display) -> Self {
        Self::Corrupt { what, why: why.to_string() }
    }
}

fn cause(error: &MigrateError) -> Option<&sqlx::Error> {
    match error {
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => Some(cause),
        _ => None,
    }
}

/// `SQLITE_CORRUPT` or `SQLITE_NOTADB`, whatever their extension (<https://sqlite.org/rescode.html>).
pub(crate) fn is_damage(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    // PostgreSQL's codes have five letters and digits, never one of these numbers.
    code.filter(|code| code.len() < 5)
        .and_then(|code| code.parse::<u32>().ok())
        .is_some_and(|code| matches!(code & 0xff, 11 | 26))
}

fn is_away(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        // PostgreSQL's connection exceptions, `too_many_connections`, and a server that ends, crashed or starts:
        // https://www.postgresql.org/docs/current/errcodes-appendix.html
        sqlx::Error::Database(told) => told.code().is_some_and(|code| {
            matches!(&*code, "53300" | "57P01" | "57P02" | "57P03")
                || (code.len() == 5 && code.starts_with("08"))
        }),
        _ => false,
    }
}

/// The driver's words, but for those that speak of its own parts.
fn told(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::PoolTimedOut => {
            "no answer in time; it can't be reached, hangs or has too much to do".to_owned()
        }
        error => error.to_string(),
    }
}

fn remedy(error: Option<&sqlx::Error>) -> String {
    if error.is_some_and(is_damage) { format!(". {DAMAGED}") } else { String::new() }
}

//! The index file: SQLite with two full-text tables, made anew when it is damaged or of another version.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::FlockOperation;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection, SqlitePool};

use super::CorpusError;

/// Raised whenever the tables, the folding of text or the cutting into passages change: old files are made anew.
const VERSION: i64 = 1;

/// Marks the file as this program's, so that no other database is ever emptied. ("NfCo")
const APPLICATION: i64 = 0x4e66_436f;

/// How long one worker waits for another that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections: one writes, searches read beside it.
const CONNECTIONS: u32 = 3;

const DROP: &str = "
DROP TABLE IF EXISTS piece_places;
DROP TABLE IF EXISTS word_counts;
DROP TABLE IF EXISTS pieces;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS passages;
DROP TABLE IF EXISTS documents;";

/// The full-text tables hold folded text and no copy of it; what is shown comes from `passages`.
const CREATE: &str = "
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    title TEXT NOT NULL,
    skipped TEXT
);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (id),
    lines TEXT NOT NULL,
    heading TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX passages_of_document ON passages (document);
CREATE VIRTUAL TABLE words USING fts5 (
    title, heading, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE pieces USING fts5 (
    title, heading, body, content='', contentless_delete=1, tokenize='trigram'
);
CREATE VIRTUAL TABLE piece_places USING fts5vocab (pieces, instance);
CREATE VIRTUAL TABLE word_counts USING fts5vocab (words, row);";

/// The open index. Everything in it can be made again from the folder.
#[derive(Debug)]
pub(super) struct Index {
    file: PathBuf,
    pool: Mutex<SqlitePool>,
}

impl Index {
    /// Opens `file`, or makes it. A damaged file is put aside as `….damaged` and made anew.
    pub(super) async fn open(file: &Path) -> Result<Self, CorpusError> {
        let pool = open_or_make_anew(file).await?;
        Ok(Self { file: file.to_owned(), pool: Mutex::new(pool) })
    }

    pub(super) fn pool(&self) -> SqlitePool {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the file again, after it failed in use: it was damaged, or another worker made it anew.
    pub(super) async fn reopen(&self) -> Result<(), CorpusError> {
        self.pool().close().await;
        let pool = open_or_make_anew(&self.file).await?;
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = pool;
        Ok(())
    }

    /// Forgets which files were left out, so that each is tried once by every process that starts.
    pub(super) async fn forget_skipped(&self) -> Result<(), CorpusError> {
        sqlx::query("DELETE FROM documents WHERE skipped IS NOT NULL")
            .execute(&self.pool())
            .await
            .map_err(|source| self.failed(source))?;
        Ok(())
    }

    pub(super) fn failed(&self, source: sqlx::Error) -> CorpusError {
        failed(&self.file, source)
    }
}

fn failed(file: &Path, source: sqlx::Error) -> CorpusError {
    CorpusError::Index { file: file.to_owned(), source }
}

async fn open_or_make_anew(file: &Path) -> Result<SqlitePool, CorpusError> {
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).map_err(|source| failed(file, source.into()))?;
    }
    // Held to the end: SQLite does not wait while another connection switches to the write-ahead log, and a damaged
    // file must be put aside once.
    let _alone = alone(file).await.map_err(|source| failed(file, source.into()))?;
    match open(file).await {
        Err(CorpusError::Index { source, .. }) if is_damage(&source) => {
            tracing::warn!(file = %file.display(), error = %source, "the corpus index is damaged and is made anew");
            put_aside(file).map_err(|source| failed(file, source.into()))?;
            open(file).await
        }
        opened => opened,
    }
}

async fn open(file: &Path) -> Result<SqlitePool, CorpusError> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Normal);
    // One connection first: a pool would try again and again, and hide what is wrong. It also looks whose file this
    // is before the journal mode is written into it.
    let mut first = SqliteConnection::connect_with(&options).await.map_err(|source| failed(file, source))?;
    let prepared = prepare(&mut first, file).await;
    first.close().await.map_err(|source| failed(file, source))?;
    prepared?;
    SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .connect_with(options.journal_mode(SqliteJournalMode::Wal))
        .await
        .map_err(|source| failed(file, source))
}

async fn prepare(connection: &mut SqliteConnection, file: &Path) -> Result<(), CorpusError> {
    let looked = look(connection).await.map_err(|source| failed(file, source))?;
    if looked.foreign {
        return Err(CorpusError::ForeignIndex { file: file.to_owned() });
    }
    if looked.current {
        return Ok(());
    }
    make(connection).await.map_err(|source| failed(file, source))
}

struct Looked {
    foreign: bool,
    current: bool,
}

async fn look(connection: &mut SqliteConnection) -> Result<Looked, sqlx::Error> {
    let application: i64 = sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await?;
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(&mut *connection).await?;
    if tables > 0 && application != APPLICATION {
        return Ok(Looked { foreign: true, current: false });
    }
    let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await?;
    let current = tables > 0 && version == VERSION;
    if current {
        let state: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut *connection).await?;
        if state != "ok" {
            return Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::InvalidData, state)));
        }
    }
    Ok(Looked { foreign: false, current })
}

/// Makes the tables, unless another worker has done so meanwhile.
async fn make(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql("PRAGMA foreign_keys = OFF").execute(&mut *connection).await?;
    let mut making = connection.begin_with("BEGIN IMMEDIATE").await?;
    if !look(&mut making).await?.current {
        sqlx::raw_sql(DROP).execute(&mut *making).await?;
        sqlx::raw_sql(CREATE).execute(&mut *making).await?;
        let marks = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}");
        sqlx::raw_sql(AssertSqlSafe(marks)).execute(&mut *making).await?;
    }
    making.commit().await
}

/// Whether an error means that the file's content, not its use, is wrong.
pub(super) fn is_damage(error: &sqlx::Error) -> bool {
    match error {
        // SQLITE_CORRUPT and its kinds, SQLITE_NOTADB, SQLITE_FORMAT.
        sqlx::Error::Database(error) => error
            .code()
            .and_then(|code| code.parse::<i32>().ok())
            .is_some_and(|code| matches!(code & 0xff, 11 | 24 | 26)),
        sqlx::Error::Io(error) => error.kind() == io::ErrorKind::InvalidData,
        _ => false,
    }
}

/// Waits until no other worker is opening the same index; others wait until the returned file is dropped.
async fn alone(file: &Path) -> io::Result<File> {
    let path = beside(file, ".lock");
    let waiting = move || {
        let lock = File::options().create(true).truncate(false).write(true).open(path)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        Ok(lock)
    };
    tokio::task::spawn_blocking(waiting).await.map_err(io::Error::other)?
}

fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Moves the file out of the way rather than deleting it: the path may have been meant for something else.
fn put_aside(file: &Path) -> io::Result<()> {
    for end in ["-wal", "-shm"] {
        match fs::remove_file(beside(file, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match fs::rename(file, beside(file, ".damaged")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

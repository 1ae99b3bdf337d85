//! The baseline: SQLite's own full-text search with one row a file, and nothing that keeps it up to date.

use std::path::Path;

use sha2::{Digest, Sha256};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection};

use super::documents::Documents;
use super::language::Script;

/// Hits of a query.
const HITS: i64 = 10;

/// One table for each script: words have another tokenizer than text without spaces.
const CREATE: &str = "
CREATE VIRTUAL TABLE words USING fts5 (body);
CREATE VIRTUAL TABLE pieces USING fts5 (body, tokenize='trigram');";

/// An open index.
pub(super) struct Bare(SqliteConnection);

impl Bare {
    /// Reads and hashes every document, and inserts its text; a transaction a file, as the product has it.
    pub(super) async fn index(folder: &Path, count: usize, file: &Path) -> anyhow::Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        sqlx::raw_sql(CREATE).execute(&mut connection).await?;
        for number in 0..count {
            let bytes = std::fs::read(Documents::path(folder, number))?;
            std::hint::black_box(Sha256::digest(&bytes));
            let insert = match Documents::script(number) {
                Script::Spaced => "INSERT INTO words (body) VALUES ($1)",
                Script::Japanese => "INSERT INTO pieces (body) VALUES ($1)",
            };
            sqlx::query(insert).bind(String::from_utf8(bytes)?).execute(&mut connection).await?;
        }
        Ok(Self(connection))
    }

    /// Any of the words, or any of the trigrams; returns how many documents it shows.
    pub(super) async fn search(&mut self, script: Script, query: &str) -> anyhow::Result<usize> {
        let (select, terms): (&str, Vec<String>) = match script {
            Script::Spaced => (
                "SELECT rowid, bm25(words) FROM words WHERE words MATCH $1 ORDER BY rank LIMIT $2",
                query.split_whitespace().map(|word| word.trim_end_matches('.').to_owned()).collect(),
            ),
            Script::Japanese => {
                let letters: Vec<char> = query.chars().collect();
                (
                    "SELECT rowid, bm25(pieces) FROM pieces WHERE pieces MATCH $1 ORDER BY rank LIMIT $2",
                    letters.windows(3).map(|three| three.iter().collect()).collect(),
                )
            }
        };
        let terms: Vec<String> = terms.iter().map(|term| format!("\"{term}\"")).collect();
        let found: Vec<(i64, f64)> =
            sqlx::query_as(select).bind(terms.join(" OR ")).bind(HITS).fetch_all(&mut self.0).await?;
        Ok(found.len())
    }

    pub(super) async fn close(self) -> anyhow::Result<()> {
        Ok(self.0.close().await?)
    }
}

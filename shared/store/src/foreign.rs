//! Tables of other programs, for those who look before they start.

use sqlx::{Connection, Row};

use crate::{Engine, Store, StoreError};

/// So many are named; whoever looks wants to recognise the database, not to read all of it.
const NAMED: i64 = 5;

impl Store {
    /// The first few tables, by name, where new tables would be made in the database at `url`. Nothing is changed.
    ///
    /// # Errors
    /// When it can't be opened or read.
    pub async fn first_tables(url: &str) -> Result<Vec<String>, StoreError> {
        let (mut connection, engine) = Self::first_connection(url, false).await?;
        let tables = match engine {
            Engine::Sqlite => {
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
                 ORDER BY name LIMIT $1"
            }
            Engine::Postgres => {
                "SELECT CAST(tablename AS TEXT) AS name FROM pg_tables WHERE schemaname = current_schema()
                 ORDER BY tablename LIMIT $1"
            }
        };
        let rows = sqlx::query(tables).bind(NAMED).fetch_all(&mut connection).await;
        let closed = connection.close().await;
        let rows = rows?;
        closed?;
        rows.iter().map(|row| Ok(row.try_get("name")?)).collect()
    }
}

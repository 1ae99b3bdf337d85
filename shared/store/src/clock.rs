//! The database's clock. No process's own clock is ever compared with a stored time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::Engine;

/// Where the store takes the time from.
#[derive(Debug, Clone, Default)]
pub enum DbClock {
    /// From the database, inside the statement that needs it.
    #[default]
    Database,
    /// From a counter of milliseconds: for tests that move the time themselves.
    Manual(Arc<AtomicI64>),
}

impl DbClock {
    /// The time as an SQL expression of type BIGINT.
    pub(crate) fn sql(&self, engine: Engine) -> String {
        match (self, engine) {
            (DbClock::Manual(millis), _) => format!("CAST({} AS BIGINT)", millis.load(Ordering::SeqCst)),
            (DbClock::Database, Engine::Sqlite) => "CAST(unixepoch('subsec') * 1000 AS INTEGER)".to_owned(),
            (DbClock::Database, Engine::Postgres) => {
                "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)".to_owned()
            }
        }
    }
}

//! Databases of the benchmarks, and pools on them beside the product's.

use std::path::PathBuf;

use anyhow::Context;
use nightforge_store::Engine;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, AssertSqlSafe};

/// As the store sets them.
const PRAGMAS: [&str; 4] = [
    "PRAGMA busy_timeout = 5000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
];

/// Where the databases of one engine are made.
pub(crate) enum Databases {
    /// Files in a folder.
    Sqlite(PathBuf),
    /// Databases of the server at a URL.
    Postgres(String),
}

impl Databases {
    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }

    /// The engine in the table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// Makes an empty database; returns its URL.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(crate) async fn make(&self, name: &str) -> anyhow::Result<String> {
        match self {
            Self::Sqlite(folder) => Ok(format!("sqlite:{}", folder.join(format!("{name}.db")).display())),
            Self::Postgres(url) => {
                let server = connect(url, Engine::Postgres, 1).await?;
                sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&server).await?;
                server.close().await;
                let (base, _) = url.rsplit_once('/').context("a PostgreSQL URL names its database")?;
                Ok(format!("{base}/{name}"))
            }
        }
    }
}

/// A pool of connections as the store makes them.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn connect(url: &str, engine: Engine, connections: u32) -> anyhow::Result<AnyPool> {
    sqlx::any::install_default_drivers();
    let options: AnyConnectOptions = url.parse()?;
    let pool = AnyPoolOptions::new().max_connections(connections);
    let pool = match engine {
        Engine::Postgres => pool,
        Engine::Sqlite => pool.after_connect(|connection, _| {
            Box::pin(async move {
                for pragma in PRAGMAS {
                    sqlx::query(pragma).execute(&mut *connection).await?;
                }
                Ok(())
            })
        }),
    };
    Ok(pool.connect_with(options).await?)
}

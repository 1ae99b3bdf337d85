//! Real services for tests. Each runs in a temporary folder on a free loopback port, belongs to whoever started it,
//! and is gone when that value is dropped, also when the test's process is killed.
//!
//! Everything here blocks until it is done: starting PostgreSQL takes about a second, a restart or a kill some tens
//! of milliseconds.

mod llama;
mod port;
mod postgres;
mod process;
mod programs;
mod redis;

pub use llama::{LlamaOptions, LlamaServer};
pub use postgres::Postgres;
pub use redis::Redis;

use std::time::Duration;

/// How long a service may take until it answers.
const START_WITHIN: Duration = Duration::from_secs(60);

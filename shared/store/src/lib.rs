//! The state of record: the only truth. Everything else (bells, worktrees, pages) can be lost and made again.
//!
//! One SQL text runs on SQLite and on PostgreSQL. The protocol's rules live here: every transaction that
//! touches a job locks its task row first, every write repeats its whole condition, a job that ends writes
//! exactly one input.

mod admission;
mod advance;
mod changes;
mod claim;
mod clock;
mod connect;
mod connection;
mod dead_letters;
mod endpoints;
mod error;
mod fenced;
mod foreign;
mod fresh;
mod hosts;
mod installation;
mod ledger;
mod migrate;
mod pauses;
mod people;
mod poison;
pub mod presence;
mod processes;
mod queues;
mod read;
mod records;
mod research;
mod rows;
mod runs;
mod secret;
mod sources;
mod submit;
mod sweep;
mod task_tx;
mod url;
mod workers;

pub use advance::{Committed, Pending};
pub use changes::Changes;
pub use claim::{Claim, Renewal};
pub use clock::DbClock;
pub use connect::{Engine, Store};
pub use dead_letters::{DeadFilter, DeadLetter, DropError};
pub use endpoints::{EndpointReport, serves};
pub use error::{NoComparison, StoreError};
pub use fenced::{Ended, Fenced, HandBack, Lost};
pub use fresh::{fresh_boot_id, fresh_call_id, fresh_id};
pub use ledger::LedgerEntry;
pub use migrate::{Migrated, Migrations};
pub use pauses::{Pause, Queue};
pub use people::AskError;
pub use processes::{Leadership, Process, ProcessInfo, Role};
pub use queues::{ModelQueue, OpenJob, QueueDepth};
pub use read::{EventRow, JobRow, TaskFilter, TaskRow};
pub use research::{DecisionRow, FindingRow, MessageRow, SubtaskRow, UncertaintyRow};
pub use runs::{MODEL_STEP, Run, Subject, VIEW_STEP};
pub use secret::TaskSecret;
pub use sources::{FoundSource, MAX_SOURCE_CHARS, ReadPage, RecordedSource};
pub use submit::Submitted;
pub use sweep::{ExpiredLease, Swept};
pub use workers::{EndpointInfo, RunningJob, WorkerInfo};

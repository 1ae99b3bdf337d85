//! Executing jobs: claims, leases, slots, the journal, and what each way of ending costs.

mod budget;
mod context;
mod endpoint;
mod execution;
mod failure;
mod lease;
mod model;
mod poll;
mod slots;
#[cfg(test)]
pub(crate) mod tests;
mod worker;
mod working_time;

pub(crate) use context::JobContext;
pub(crate) use execution::Workshop;
pub(crate) use failure::{Failure, Interruption};
pub use worker::{SandboxRule, WorkerConfig, run};

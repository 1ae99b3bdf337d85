//! The message, its bounds and its counters.

use nightforge_domain::{ModelName, TaskId};
use serde::{Deserialize, Serialize};

/// At most this many bells are outstanding, whatever they are for. Chosen far below the 12,000 waiting
/// messages at which an apalis backend was seen to break for good.
pub const MAX_OUTSTANDING: usize = 1_000;

/// At most this many bells are outstanding for one model: each may wake another of its workers, and more
/// workers than this find the rest of the work by their own polling.
pub const MAX_OUTSTANDING_PER_MODEL: usize = 16;

/// "Look": who should look, and at what. A hint, never a fact.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bell {
    /// For schedulers: the task may have an unconsumed input.
    Task(TaskId),
    /// For workers of this model: it may have a ready job.
    Model(ModelName),
}

impl Bell {
    /// How many of this very bell may be outstanding; a further ring adds nothing and is merged.
    pub(crate) fn max_outstanding(&self) -> usize {
        match self {
            Bell::Task(_) => 1,
            Bell::Model(_) => MAX_OUTSTANDING_PER_MODEL,
        }
    }
}

/// Counters since the start of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BellStats {
    /// Calls of `ring`.
    pub rung: u64,
    /// Rings that were merged into an outstanding one.
    pub coalesced: u64,
    /// Rings that were lost at the bound of [`MAX_OUTSTANDING`]; the sweeper rings again.
    pub dropped: u64,
    /// Bells that a `next` returned.
    pub delivered: u64,
    /// How often the apalis worker ended by itself and was replaced.
    pub restarts: u64,
}

impl BellStats {
    /// Bells that were rung and not yet returned by a `next`; never over [`MAX_OUTSTANDING`].
    pub fn outstanding(&self) -> u64 {
        self.rung - self.coalesced - self.dropped - self.delivered
    }
}

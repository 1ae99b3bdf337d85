//! The message, its bounds and its counters.

use nightforge_domain::{ModelName, TaskId};
use serde::{Deserialize, Serialize};

/// At most this many bells are outstanding, whatever they are for: in memory, and in each queue on Redis over all
/// processes. Chosen far below the 12,000 waiting
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

/// Counters of this process, since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BellStats {
    /// Calls of `ring`.
    pub rung: u64,
    /// Rings that were merged into an outstanding one.
    pub coalesced: u64,
    /// Rings that were lost at the bound of [`MAX_OUTSTANDING`]; the sweeper rings again.
    pub dropped: u64,
    /// Bells that were handed over to Redis, and are there or with another process now. Always 0 in memory.
    pub sent: u64,
    /// Bells that came from Redis, whoever rang them. Always 0 in memory.
    pub received: u64,
    /// Bells that a `next` returned.
    pub delivered: u64,
    /// How often an apalis worker ended by itself and was replaced.
    pub restarts: u64,
}

impl BellStats {
    /// Bells that are in this process: rung or received, and not yet sent or returned by a `next`; never over
    /// [`MAX_OUTSTANDING`].
    pub fn outstanding(&self) -> u64 {
        (self.rung + self.received) - (self.coalesced + self.dropped + self.sent + self.delivered)
    }
}

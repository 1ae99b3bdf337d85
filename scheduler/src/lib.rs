//! The scheduler: advances tasks, one transition per input, and sweeps what was left behind.
//!
//! Any number of schedulers may run. Each answers bells; one of them leads and sweeps. Correctness hangs on
//! neither: every write repeats its condition.

mod admission;
mod advance;
mod leader;
mod poll;
mod sweep;

use std::path::PathBuf;
use std::time::Duration;

use nightforge_domain::BootId;
use nightforge_queue::Bells;
use nightforge_store::Store;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use advance::advance_task;

/// Transitions that one scheduler works on at the same time.
const ADVANCERS: usize = 4;

/// How a scheduler runs.
#[derive(Debug, Clone)]
pub struct SchedulerConfig {
    /// This process.
    pub boot: BootId,
    /// The data folder whose file locks tell which processes of this machine have ended.
    pub data: PathBuf,
    /// How long a worker's lease runs; the leader waits so long before it judges after an outage.
    pub lease: Duration,
    /// Between two sweeps. Default 1 s.
    pub sweep_every: Duration,
    /// Whether inputs of other processes are noticed by polling, because no bell of theirs ever arrives. Default
    /// false: polling is then for the time that Redis is away.
    pub polls: bool,
}

impl SchedulerConfig {
    /// The defaults for a process and its data folder.
    pub fn new(boot: BootId, data: PathBuf) -> Self {
        Self { boot, data, lease: Duration::from_secs(15), sweep_every: Duration::from_secs(1), polls: false }
    }
}

/// Runs until `shutdown`. A database that is away is waited for, not an error.
///
/// # Errors
/// When one of its loops ended by itself, which is a defect.
pub async fn run(
    store: Store,
    bells: Bells,
    config: SchedulerConfig,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let mut loops = JoinSet::new();
    for _ in 0..ADVANCERS {
        loops.spawn(advance::serve(store.clone(), bells.clone(), shutdown.clone()));
    }
    loops.spawn(poll::serve(store.clone(), bells.clone(), config.polls, shutdown.clone()));
    loops.spawn(leader::serve(store, bells, config, shutdown));
    while let Some(ended) = loops.join_next().await {
        ended?;
    }
    Ok(())
}

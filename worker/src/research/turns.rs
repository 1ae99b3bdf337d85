//! One request a second for each host, over all workers: the state of record hands out the turns.

use std::time::Duration;

use nightforge_sources::HostTurns;
use nightforge_store::Store;

/// Between two requests to a host.
const INTERVAL_MS: i64 = 1_000;

/// After the database failed.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Turns that every worker on the same database shares.
#[derive(Debug, Clone)]
pub(crate) struct SharedTurns(pub(crate) Store);

impl HostTurns for SharedTurns {
    /// While the database is away nobody is asked: without a turn a host could be asked by two workers at once.
    async fn turn(&self, host: &str) {
        let mut wait = FIRST_WAIT;
        loop {
            match self.0.host_turn(host, INTERVAL_MS).await {
                Ok(wait) => {
                    return tokio::time::sleep(Duration::from_millis(wait.0.max(0) as u64)).await;
                }
                Err(error) => tracing::warn!(%error, host, "no turn yet; trying again"),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

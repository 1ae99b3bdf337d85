//! The names of a queue's keys in Redis: those of apalis, and ours beside them.

use std::time::Duration;

use apalis_redis::Config;
use nightforge_domain::TaskId;

use crate::exchange::Listener;

/// A worker whose last heartbeat is older than this is an orphan to other workers, and is unregistered by them.
/// They go by their own clocks, so it is far longer than any clock is wrong; dead workers are found by
/// `leftovers` long before.
const ORPHANED: Duration = Duration::from_secs(60 * 60);
const HEARTBEAT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct Keys {
    pub(super) queue: String,
    pub(super) active: String,
    pub(super) scheduled: String,
    pub(super) data: String,
    /// Before the id of a message: its attempts and the like.
    pub(super) meta: String,
    pub(super) workers: String,
    pub(super) signal: String,
    /// Before the name of a worker: what it took and has not finished.
    pub(super) in_flight: String,
    /// Before the name of a worker: apalis's description of it. Ours to let expire.
    pub(super) worker: String,
    /// Ours: messages that were admitted and are not in the queue yet, by the second in which that ends.
    pub(super) announced: String,
    /// Ours, before the id of a task: the message that rings for it.
    mark: String,
    /// Ours: the channel on which a push is published.
    pub(super) rung: String,
}

impl Keys {
    pub(super) fn of(prefix: &str, listener: &Listener) -> Keys {
        let queue = match listener {
            Listener::Scheduler => format!("{prefix}:bells:tasks"),
            Listener::Worker(model) => format!("{prefix}:bells:model:{model}"),
        };
        let apalis = Config::default().queue(&queue);
        Keys {
            active: apalis.active_jobs_list(),
            scheduled: apalis.scheduled_jobs_set(),
            data: apalis.job_data_hash(),
            meta: apalis.job_meta_hash() + ":",
            workers: apalis.workers_set(),
            signal: apalis.signal_list(),
            in_flight: apalis.inflight_jobs_set() + ":",
            worker: format!("{queue}:workers:metadata:"),
            announced: format!("{queue}:announced"),
            mark: format!("{queue}:mark:"),
            rung: format!("{queue}:rung"),
            queue,
        }
    }

    pub(super) fn mark(&self, task: &TaskId) -> String {
        format!("{}{task}", self.mark)
    }

    /// How apalis is to use the queue. It neither locks nor acknowledges: `lua/take.lua` does both at once, and
    /// more than one message at a time would sit in a buffer while others starve.
    pub(super) fn apalis(&self) -> Config {
        Config::default()
            .queue(&self.queue)
            .batch_size(1)
            .heartbeat_interval(HEARTBEAT)
            .missed_heartbeats((ORPHANED.as_secs() / HEARTBEAT.as_secs()) as usize)
            .lock_tasks(false)
            .persist_results(false)
            .emit_events(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_queues_share_a_key() {
        let model = |name: &str| Keys::of("p", &Listener::Worker(name.parse().unwrap()));
        let keys =
            |keys: Keys| [keys.active, keys.scheduled, keys.data, keys.workers, keys.announced, keys.rung];
        let mut all: Vec<String> =
            [model("x"), model("x:active"), model("tasks"), Keys::of("p", &Listener::Scheduler)]
                .into_iter()
                .flat_map(keys)
                .collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn the_key_of_a_worker_is_the_one_that_apalis_writes() {
        let keys = Keys::of("p", &Listener::Scheduler);
        let worker = apalis::prelude::WorkerContext::from("w");
        assert_eq!(keys.apalis().worker_metadata_key(&worker), format!("{}w", keys.worker));
        assert_eq!(keys.apalis().inflight_set_for(&worker), format!("{}w", keys.in_flight));
    }
}

//! The handle that rings, and the two kinds of consumers.

use std::fmt;
use std::sync::Arc;

use nightforge_domain::{ModelName, TaskId};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::bell::{Bell, BellStats};
use crate::exchange::{Exchange, Listener};
use crate::ledger::Ledger;
use crate::redis::{RedisConfig, RedisRefused};
use crate::{memory, redis};

/// Rings bells and hands out their consumers. Cheap to clone; usable from any number of tasks and threads.
#[derive(Clone)]
pub struct Bells {
    shared: Arc<Shared>,
}

struct Shared {
    exchange: Arc<dyn Exchange>,
    shutdown: CancellationToken,
    /// The tasks that carry bells end with the last handle, also when nobody cancels.
    _ends_the_carrier: DropGuard,
}

impl Bells {
    /// Bells inside this process, on apalis's in-memory backend. Starts one task on the current tokio runtime,
    /// which ends at `shutdown`, or when the last handle and the last consumer are dropped.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn in_memory(shutdown: CancellationToken) -> Bells {
        let ledger = Arc::new(Ledger::default());
        let stop = shutdown.child_token();
        tokio::spawn(memory::carry(Arc::clone(&ledger), memory::Channel::open, stop.clone()));
        Bells::over(ledger, shutdown, stop)
    }

    /// Bells between processes, on apalis's Redis backend: a bell goes to one consumer in one of the processes
    /// that share the Redis and the prefix. Starts a task on the current tokio runtime, and another for each
    /// queue while somebody listens; they end at `shutdown`, or when the last handle and the last consumer are
    /// dropped. Once started, an outage of Redis is waited for: rings are kept, merged and at most
    /// [`MAX_OUTSTANDING`](crate::MAX_OUTSTANDING), and are sent when Redis is back.
    ///
    /// # Errors
    /// [`RedisRefused`] when Redis cannot be reached now, or is not fit to carry bells.
    pub async fn redis(config: RedisConfig, shutdown: CancellationToken) -> Result<Bells, RedisRefused> {
        let stop = shutdown.child_token();
        let exchange = redis::start(&config, &stop).await?;
        Ok(Bells::over(exchange, shutdown, stop))
    }

    fn over(exchange: Arc<dyn Exchange>, shutdown: CancellationToken, stop: CancellationToken) -> Bells {
        Bells { shared: Arc::new(Shared { exchange, shutdown, _ends_the_carrier: stop.drop_guard() }) }
    }

    /// Rings. Never waits and never fails: a ring that finds the same bell outstanding is merged into it, and
    /// one beyond [`MAX_OUTSTANDING`](crate::MAX_OUTSTANDING) is dropped and counted.
    pub fn ring(&self, bell: Bell) {
        self.shared.exchange.ring(bell);
    }

    /// A consumer for a scheduler. Several may exist; each bell goes to one of them.
    pub fn tasks(&self) -> TaskBells {
        TaskBells { seat: self.seat(Listener::Scheduler) }
    }

    /// A consumer for a worker of `model`. Several may exist; each bell goes to one of them.
    pub fn model(&self, model: &ModelName) -> ModelBells {
        ModelBells { seat: self.seat(Listener::Worker(model.clone())) }
    }

    /// The counters, taken at one moment.
    pub fn stats(&self) -> BellStats {
        self.shared.exchange.stats()
    }

    /// Whether bells reach nobody now, because Redis is away: whoever has work to find looks for it. Never so in
    /// memory.
    pub fn are_cut_off(&self) -> bool {
        self.shared.exchange.is_cut_off()
    }

    fn seat(&self, listener: Listener) -> Seat {
        Seat { arrived: self.shared.exchange.listen(&listener), listener, shared: Arc::clone(&self.shared) }
    }
}

impl fmt::Debug for Bells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bells").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// Receives the bells of tasks.
pub struct TaskBells {
    seat: Seat,
}

impl TaskBells {
    /// The next task to look at; `None` once shutdown has begun. Look only after this has returned: a ring
    /// from then on is a new bell. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<TaskId> {
        loop {
            if let Bell::Task(task) = self.seat.next().await? {
                return Some(task);
            }
        }
    }
}

/// Receives the bells of one model.
pub struct ModelBells {
    seat: Seat,
}

impl ModelBells {
    /// Returns when there may be a ready job for the model; `None` once shutdown has begun. Look only after
    /// this has returned: a ring from then on is a new bell. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<()> {
        self.seat.next().await.map(drop)
    }
}

/// A place at a mailbox.
struct Seat {
    shared: Arc<Shared>,
    listener: Listener,
    arrived: Arc<Notify>,
}

impl Seat {
    async fn next(&self) -> Option<Bell> {
        let Shared { exchange, shutdown, .. } = &*self.shared;
        let mut waiting = None;
        loop {
            if shutdown.is_cancelled() {
                return None;
            }
            if let Some(bell) = exchange.take(&self.listener) {
                return Some(bell);
            }
            waiting.get_or_insert_with(|| Waiting::at(self));
            tokio::select! {
                () = shutdown.cancelled() => return None,
                // A notification between `take` and here is kept as a permit.
                () = self.arrived.notified() => {}
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.exchange.leave(&self.listener);
    }
}

/// Tells the exchange that a consumer waits, until dropped.
struct Waiting<'a>(&'a Seat);

impl<'a> Waiting<'a> {
    fn at(seat: &'a Seat) -> Waiting<'a> {
        seat.shared.exchange.waits(&seat.listener);
        Waiting(seat)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.shared.exchange.waits_no_more(&self.0.listener);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(ledger: &Arc<Ledger>, shutdown: &CancellationToken) -> Bells {
        let stop = shutdown.child_token();
        tokio::spawn(memory::carry(Arc::clone(ledger), memory::Channel::open, stop.clone()));
        Bells::over(Arc::<Ledger>::clone(ledger), shutdown.clone(), stop)
    }

    #[tokio::test]
    async fn a_model_is_forgotten_with_its_last_consumer() {
        let ledger = Arc::default();
        let bells = over(&ledger, &CancellationToken::new());
        let qwen: ModelName = "qwen".parse().unwrap();
        let (one, two) = (bells.model(&qwen), bells.model(&qwen));
        drop(one);
        assert_eq!(ledger.models(), 1);
        drop(two);
        assert_eq!(ledger.models(), 0);
    }

    #[tokio::test]
    async fn after_shutdown_waiting_bells_are_not_given_out() {
        let shutdown = CancellationToken::new();
        let ledger = Arc::default();
        let bells = over(&ledger, &shutdown);
        bells.ring(Bell::Model("qwen".parse().unwrap()));
        while ledger.carried() < 1 {
            tokio::task::yield_now().await;
        }
        shutdown.cancel();
        assert_eq!(bells.model(&"qwen".parse().unwrap()).next().await, None);
    }
}

//! The handle that rings, and the two kinds of consumers.

use std::fmt;
use std::sync::Arc;

use nightforge_domain::{ModelName, TaskId};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::bell::{Bell, BellStats};
use crate::ledger::Ledger;
use crate::memory;

/// Rings bells and hands out their consumers. Cheap to clone; usable from any number of tasks and threads.
#[derive(Clone)]
pub struct Bells {
    shared: Arc<Shared>,
}

struct Shared {
    ledger: Arc<Ledger>,
    shutdown: CancellationToken,
    /// The task that carries bells ends with the last handle, also when nobody cancels.
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
        Bells { shared: Arc::new(Shared { ledger, shutdown, _ends_the_carrier: stop.drop_guard() }) }
    }

    /// Rings. Never waits and never fails: a ring that finds the same bell outstanding is merged into it, and
    /// one beyond [`MAX_OUTSTANDING`](crate::MAX_OUTSTANDING) is dropped and counted.
    pub fn ring(&self, bell: Bell) {
        self.shared.ledger.ring(bell);
    }

    /// A consumer for a scheduler. Several may exist; each bell goes to one of them.
    pub fn tasks(&self) -> TaskBells {
        TaskBells { arrived: self.shared.ledger.listen_tasks(), shared: Arc::clone(&self.shared) }
    }

    /// A consumer for a worker of `model`. Several may exist; each bell goes to one of them.
    pub fn model(&self, model: &ModelName) -> ModelBells {
        ModelBells {
            arrived: self.shared.ledger.listen_model(model),
            model: model.clone(),
            shared: Arc::clone(&self.shared),
        }
    }

    /// The counters, taken at one moment.
    pub fn stats(&self) -> BellStats {
        self.shared.ledger.stats()
    }
}

impl fmt::Debug for Bells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bells").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// Receives the bells of tasks.
pub struct TaskBells {
    shared: Arc<Shared>,
    arrived: Arc<Notify>,
}

impl TaskBells {
    /// The next task to look at; `None` once shutdown has begun. Look only after this has returned: a ring
    /// from then on is a new bell. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<TaskId> {
        self.shared.next(&self.arrived, Ledger::take_task).await
    }
}

/// Receives the bells of one model.
pub struct ModelBells {
    shared: Arc<Shared>,
    arrived: Arc<Notify>,
    model: ModelName,
}

impl ModelBells {
    /// Returns when there may be a ready job for the model; `None` once shutdown has begun. Look only after
    /// this has returned: a ring from then on is a new bell. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<()> {
        self.shared.next(&self.arrived, |ledger| ledger.take_model(&self.model)).await
    }
}

impl Drop for ModelBells {
    fn drop(&mut self) {
        self.shared.ledger.leave_model(&self.model);
    }
}

impl Shared {
    async fn next<T>(&self, arrived: &Notify, take: impl Fn(&Ledger) -> Option<T>) -> Option<T> {
        loop {
            if self.shutdown.is_cancelled() {
                return None;
            }
            if let Some(letter) = take(&self.ledger) {
                return Some(letter);
            }
            tokio::select! {
                () = self.shutdown.cancelled() => return None,
                // A notification between `take` and here is kept as a permit.
                () = arrived.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_model_is_forgotten_with_its_last_consumer() {
        let bells = Bells::in_memory(CancellationToken::new());
        let qwen: ModelName = "qwen".parse().unwrap();
        let (one, two) = (bells.model(&qwen), bells.model(&qwen));
        drop(one);
        assert_eq!(bells.shared.ledger.models(), 1);
        drop(two);
        assert_eq!(bells.shared.ledger.models(), 0);
    }

    #[tokio::test]
    async fn after_shutdown_waiting_bells_are_not_given_out() {
        let shutdown = CancellationToken::new();
        let bells = Bells::in_memory(shutdown.clone());
        bells.ring(Bell::Model("qwen".parse().unwrap()));
        while bells.shared.ledger.carried() < 1 {
            tokio::task::yield_now().await;
        }
        shutdown.cancel();
        assert_eq!(bells.model(&"qwen".parse().unwrap()).next().await, None);
    }
}

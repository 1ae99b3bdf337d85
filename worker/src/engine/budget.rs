//! Model calls that a task may still make: what its ledger leaves, without what is in flight in this process.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use nightforge_domain::build::Spent;
use nightforge_domain::research::Granted;
use nightforge_domain::{Limits, TaskId};
use nightforge_store::{Store, StoreError, TaskRow};
use tokio::sync::Notify;

/// Of this process, whose workers may work on the same task.
static IN_FLIGHT: LazyLock<InFlight> = LazyLock::new(InFlight::default);

#[derive(Default)]
struct InFlight {
    calls: Mutex<HashMap<TaskId, u64>>,
    /// Nothing is reserved between a look at the ledger and the reservation that follows from it.
    admission: tokio::sync::Mutex<()>,
    released: Notify,
}

impl InFlight {
    fn calls(&self) -> MutexGuard<'_, HashMap<TaskId, u64>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls that are set aside for one question and its re-asks, until all of them are booked.
#[derive(Debug)]
pub(super) struct Reserved {
    task: TaskId,
    calls: u64,
}

impl Reserved {
    /// How many; at least one.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut calls = IN_FLIGHT.calls();
        if let Some(reserved) = calls.get_mut(&self.task) {
            *reserved -= self.calls;
            if *reserved == 0 {
                calls.remove(&self.task);
            }
        }
        drop(calls);
        IN_FLIGHT.released.notify_waiters();
    }
}

/// What a task's calls are held to.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    pub(super) task: TaskId,
    pub(super) limits: Limits,
    pub(super) granted: Granted,
}

impl Budget {
    /// That of a research task; the sessions of a build are held to its limits between them.
    pub(super) fn of(task: &TaskRow) -> Option<Self> {
        let granted = task.state.research()?.granted.clone();
        Some(Self { task: task.id.clone(), limits: task.limits.clone(), granted })
    }

    /// Sets aside as many of `wanted` calls as the task has left; waits while others may use up the rest. `None` when
    /// its calls or its tokens are used up. What other processes have in flight is not seen: by that much a task can go
    /// over its limit.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(super) async fn reserve(&self, store: &Store, wanted: u64) -> Result<Option<Reserved>, StoreError> {
        loop {
            let released = IN_FLIGHT.released.notified();
            let admission = IN_FLIGHT.admission.lock().await;
            // Before the ledger is read: what is booked meanwhile counts twice for now, but never not at all.
            let others = IN_FLIGHT.calls().get(&self.task).copied().unwrap_or(0);
            let left = self.left(&store.spent(&self.task).await?);
            if left == 0 {
                return Ok(None);
            }
            let calls = left.saturating_sub(others).min(wanted);
            if calls > 0 {
                *IN_FLIGHT.calls().entry(self.task.clone()).or_default() += calls;
                return Ok(Some(Reserved { task: self.task.clone(), calls }));
            }
            drop(admission);
            released.await;
        }
    }

    fn left(&self, spent: &Spent) -> u64 {
        match self.granted.tokens_left(&self.limits, spent) {
            Some(0) => 0,
            _ => self.granted.model_calls_left(&self.limits, spent),
        }
    }
}

#[cfg(test)]
mod tests {
    use nightforge_domain::{Fence, JobId, JobNo, Usage};
    use nightforge_store::{LedgerEntry, fresh_call_id};

    use super::*;
    use crate::engine::tests::bed::Bed;

    async fn book(bed: &Bed, task: &TaskId) {
        let usage = Usage { prompt_tokens: Some(10), completion_tokens: Some(8), ..Usage::default() };
        let entry = LedgerEntry {
            id: fresh_call_id(),
            job: JobId { task: task.clone(), no: JobNo(1) },
            fence: Fence(1),
            agent: "researcher".to_owned(),
            model: "m".to_owned(),
            endpoint: "http://localhost".to_owned(),
            outcome: "ok".to_owned(),
            usage,
            duration_ms: 1,
        };
        bed.store.book(&entry).await.unwrap();
    }

    async fn calls(budget: &Budget, bed: &Bed, wanted: u64) -> Option<u64> {
        budget.reserve(&bed.store, wanted).await.unwrap().map(|reserved| reserved.calls())
    }

    #[tokio::test]
    async fn what_is_in_flight_is_nobody_elses() {
        let bed = Bed::new([]).await;
        let task = bed.task(Limits::default()).await;
        let limits = Limits { max_model_calls: 5, ..Limits::default() };
        let budget = Budget { task: task.clone(), limits, granted: Granted::default() };
        let first = budget.reserve(&bed.store, 3).await.unwrap().unwrap();
        let second = budget.reserve(&bed.store, 3).await.unwrap().unwrap();
        assert_eq!((first.calls(), second.calls()), (3, 2));
        let mut third = Box::pin(budget.reserve(&bed.store, 3));
        let waited = tokio::time::timeout(std::time::Duration::from_millis(200), &mut third).await;
        assert!(waited.is_err(), "all of them may yet be used");
        book(&bed, &task).await;
        drop(first);
        assert_eq!(third.await.unwrap().unwrap().calls(), 2, "one of the three was used");
        drop(second);
        for _ in 0..4 {
            book(&bed, &task).await;
        }
        assert_eq!(calls(&budget, &bed, 3).await, None);
        let granted = Granted { model_calls: 5, ..Granted::default() };
        assert_eq!(calls(&Budget { granted, ..budget }, &bed, 9).await, Some(5), "a retry's grant");
    }

    #[tokio::test]
    async fn used_up_tokens_leave_no_call() {
        let bed = Bed::new([]).await;
        let task = bed.task(Limits::default()).await;
        let limits = Limits { max_tokens: 19, ..Limits::default() };
        let budget = Budget { task: task.clone(), limits, granted: Granted::default() };
        book(&bed, &task).await;
        assert_eq!(calls(&budget, &bed, 1).await, Some(1), "18 of 19");
        book(&bed, &task).await;
        assert_eq!(calls(&budget, &bed, 1).await, None);
        let granted = Granted { tokens: 36, ..Granted::default() };
        assert_eq!(calls(&Budget { granted, ..budget }, &bed, 1).await, Some(1));
    }
}

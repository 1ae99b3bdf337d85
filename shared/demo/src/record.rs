//! What a running server remembers: what came in, what was wrong, and how it is to misbehave. Nothing here
//! has a part in what an answer says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::contract_name::ContractName;
use crate::misbehaviour::{Misbehaviour, Planned};

/// Bound of both lists.
const KEPT: usize = 2_000;

#[derive(Debug)]
pub(crate) struct Record {
    pace: Duration,
    slots: usize,
    free_slots: Arc<Semaphore>,
    in_flight: AtomicUsize,
    lists: Mutex<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    requests: VecDeque<Value>,
    violations: VecDeque<String>,
    planned: VecDeque<(Planned, u32)>,
}

impl Record {
    pub(crate) fn new(pace: Duration, slots: usize) -> Self {
        let free_slots = Arc::new(Semaphore::new(slots));
        Self { pace, slots, free_slots, in_flight: AtomicUsize::new(0), lists: Mutex::default() }
    }

    pub(crate) fn pace(&self) -> Duration {
        self.pace
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Waits for a slot, in the order of asking. None once the server has stopped.
    pub(crate) async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free_slots).acquire_owned().await.ok()
    }

    pub(crate) fn enter(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        InFlight { record: Arc::clone(self) }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    pub(crate) fn came_in(&self, request: Value) {
        push_bounded(&mut self.lists().requests, request);
    }

    pub(crate) fn broke(&self, violations: &[String]) {
        let mut lists = self.lists();
        for violation in violations {
            tracing::warn!(%violation, "a request broke the protocol");
            push_bounded(&mut lists.violations, violation.clone());
        }
    }

    pub(crate) fn plan(&self, planned: Planned, times: u32) {
        if times > 0 {
            self.lists().planned.push_back((planned, times));
        }
    }

    /// How the request in hand is to go wrong, if it is: the oldest plan that is meant for its contract.
    pub(crate) fn next_misbehaviour(&self, contract: ContractName) -> Option<Misbehaviour> {
        let mut lists = self.lists();
        let place = lists.planned.iter().position(|(planned, _)| planned.is_for(contract))?;
        let (planned, left) = lists.planned.get_mut(place)?;
        let misbehaviour = planned.misbehaviour;
        *left -= 1;
        if *left == 0 {
            lists.planned.remove(place);
        }
        Some(misbehaviour)
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.lists().requests.iter().cloned().collect()
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.lists().violations.iter().cloned().collect()
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        // The lists are whole after every single push, so a panic elsewhere can't have left them half done.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push_bounded<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == KEPT {
        list.pop_front();
    }
    list.push_back(item);
}

/// One chat request, from its head to the last byte of its answer.
#[derive(Debug)]
pub(crate) struct InFlight {
    record: Arc<Record>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.record.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_newest_entries() {
        let record = Record::new(Duration::ZERO, 1);
        for number in 0..KEPT + 3 {
            record.came_in(Value::from(number));
            record.broke(&[number.to_string()]);
        }
        assert_eq!(record.requests().len(), KEPT);
        assert_eq!(record.requests().first(), Some(&Value::from(3)));
        assert_eq!(record.violations().last(), Some(&(KEPT + 2).to_string()));
    }

    fn seen(record: &Record, contract: ContractName) -> Vec<Misbehaviour> {
        std::iter::from_fn(|| record.next_misbehaviour(contract)).collect()
    }

    fn any(misbehaviour: Misbehaviour) -> Planned {
        Planned { misbehaviour, contract: None }
    }

    #[test]
    fn misbehaviours_come_in_the_order_in_which_they_were_asked_for() {
        let record = Record::new(Duration::ZERO, 1);
        record.plan(any(Misbehaviour::Loading), 2);
        record.plan(any(Misbehaviour::Hang), 0);
        record.plan(any(Misbehaviour::Truncated), 1);
        let seen = seen(&record, ContractName::CodingAction);
        assert_eq!(seen, [Misbehaviour::Loading, Misbehaviour::Loading, Misbehaviour::Truncated]);
    }

    #[test]
    fn what_is_meant_for_one_contract_waits_for_it() {
        let record = Record::new(Duration::ZERO, 1);
        record.plan(Planned { misbehaviour: Misbehaviour::BrokenJson, contract: Some("CriticReview") }, 1);
        record.plan(any(Misbehaviour::Blocked), 1);
        record.plan(any(Misbehaviour::Truncated), 1);
        assert_eq!(seen(&record, ContractName::ManagerDecision), [Misbehaviour::Truncated]);
        assert_eq!(seen(&record, ContractName::CriticReview), [Misbehaviour::BrokenJson]);
        assert_eq!(seen(&record, ContractName::ResearchReport), [Misbehaviour::Blocked]);
    }
}

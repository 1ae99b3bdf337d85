//! Which bells are outstanding, and where each of them is.
//!
//! A bell goes `unsent → in transit (inside apalis) → posted (in a mailbox) → returned by next`. Because the
//! ledger and not apalis knows this, a worker of apalis may die at any point without taking bells with it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nightforge_domain::{ModelName, TaskId};
use tokio::sync::Notify;

use crate::bell::{Bell, BellStats, MAX_OUTSTANDING};
use crate::exchange::{Exchange, Listener};

/// The one shared record. Every method is short, takes the lock once and never waits under it.
#[derive(Default)]
pub(crate) struct Ledger {
    state: Mutex<State>,
    /// Wakes the one pusher.
    rung: Notify,
}

#[derive(Default)]
struct State {
    /// Bells between `ring` and `next`; no entry is zero.
    outstanding: HashMap<Bell, usize>,
    unsent: VecDeque<Bell>,
    /// In the order of pushing, so the next one to be posted is almost always at the front.
    in_transit: VecDeque<Bell>,
    tasks: Mailbox<TaskId>,
    /// Only models with a listener or a posted bell.
    models: HashMap<ModelName, Mailbox<()>>,
    stats: BellStats,
    /// How many bells came out of apalis, ever.
    carried: u64,
}

struct Mailbox<T> {
    posted: VecDeque<T>,
    arrived: Arc<Notify>,
    listeners: usize,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { posted: VecDeque::new(), arrived: Arc::default(), listeners: 0 }
    }
}

impl<T> Mailbox<T> {
    fn post(&mut self, letter: T) {
        self.posted.push_back(letter);
        self.arrived.notify_one();
    }

    fn take(&mut self) -> Option<T> {
        let letter = self.posted.pop_front()?;
        // `Notify` keeps one permit, however often it was notified: whoever leaves letters behind wakes the
        // next listener, or that one would sleep beside a full mailbox.
        if !self.posted.is_empty() {
            self.arrived.notify_one();
        }
        Some(letter)
    }
}

impl Ledger {
    /// Records a ring: merges it, drops it at the bound, or hands it to the pusher.
    pub(crate) fn ring(&self, bell: Bell) {
        let mut state = self.state();
        state.stats.rung += 1;
        let same = state.outstanding.get(&bell).copied().unwrap_or(0);
        if same >= bell.max_outstanding() {
            state.stats.coalesced += 1;
            return;
        }
        // `rung` already counts this ring, so the sum is what it would be with this bell.
        if state.stats.outstanding() > MAX_OUTSTANDING as u64 {
            state.stats.dropped += 1;
            return;
        }
        state.outstanding.insert(bell.clone(), same + 1);
        state.unsent.push_back(bell);
        drop(state);
        self.rung.notify_one();
    }

    /// The next bell to push; from now on it is in transit. For one pusher at a time. Nothing is lost when the
    /// future is dropped.
    pub(crate) async fn next_unsent(&self) -> Bell {
        loop {
            if let Some(bell) = self.send_one() {
                return bell;
            }
            self.rung.notified().await;
        }
    }

    fn send_one(&self) -> Option<Bell> {
        let mut state = self.state();
        let bell = state.unsent.pop_front()?;
        state.in_transit.push_back(bell.clone());
        Some(bell)
    }

    /// Puts a bell that came through apalis into its mailbox. One that is not in transit is a copy from an
    /// earlier life of the worker and is ignored.
    pub(crate) fn post(&self, bell: Bell) {
        let mut state = self.state();
        let Some(place) = state.in_transit.iter().position(|sent| *sent == bell) else { return };
        state.in_transit.remove(place);
        state.carried += 1;
        match bell {
            Bell::Task(task) => state.tasks.post(task),
            Bell::Model(model) => state.models.entry(model).or_default().post(()),
        }
    }

    /// The apalis worker is gone: what was in transit has to be pushed again, before anything younger.
    pub(crate) fn recall(&self) {
        let mut state = self.state();
        state.stats.restarts += 1;
        let mut unsent = std::mem::take(&mut state.in_transit);
        unsent.append(&mut state.unsent);
        state.unsent = unsent;
    }

    pub(crate) fn take_task(&self) -> Option<TaskId> {
        let mut state = self.state();
        let task = state.tasks.take()?;
        state.delivered(&Bell::Task(task.clone()));
        Some(task)
    }

    pub(crate) fn take_model(&self, model: &ModelName) -> Option<()> {
        let mut state = self.state();
        state.models.get_mut(model)?.take()?;
        state.delivered(&Bell::Model(model.clone()));
        state.forget_if_idle(model);
        Some(())
    }

    /// What wakes the listeners for tasks.
    pub(crate) fn listen_tasks(&self) -> Arc<Notify> {
        Arc::clone(&self.state().tasks.arrived)
    }

    /// What wakes the listeners of a model; each call is paired with one of [`Ledger::leave_model`].
    pub(crate) fn listen_model(&self, model: &ModelName) -> Arc<Notify> {
        let mut state = self.state();
        let mailbox = state.models.entry(model.clone()).or_default();
        mailbox.listeners += 1;
        Arc::clone(&mailbox.arrived)
    }

    pub(crate) fn leave_model(&self, model: &ModelName) {
        let mut state = self.state();
        if let Some(mailbox) = state.models.get_mut(model) {
            mailbox.listeners = mailbox.listeners.saturating_sub(1);
        }
        state.forget_if_idle(model);
    }

    pub(crate) fn stats(&self) -> BellStats {
        self.state().stats
    }

    /// How many bells came out of apalis, ever: whether a life of its worker was good for anything.
    pub(crate) fn carried(&self) -> u64 {
        self.state().carried
    }

    /// How many bells are inside apalis.
    #[cfg(test)]
    pub(crate) fn in_transit(&self) -> usize {
        self.state().in_transit.len()
    }

    /// Models that take memory.
    #[cfg(test)]
    pub(crate) fn models(&self) -> usize {
        self.state().models.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code of others runs under the lock, so a poisoned state is still a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange for Ledger {
    fn ring(&self, bell: Bell) {
        Ledger::ring(self, bell);
    }

    fn listen(&self, listener: &Listener) -> Arc<Notify> {
        match listener {
            Listener::Scheduler => self.listen_tasks(),
            Listener::Worker(model) => self.listen_model(model),
        }
    }

    fn leave(&self, listener: &Listener) {
        if let Listener::Worker(model) = listener {
            self.leave_model(model);
        }
    }

    fn take(&self, listener: &Listener) -> Option<Bell> {
        match listener {
            Listener::Scheduler => self.take_task().map(Bell::Task),
            Listener::Worker(model) => self.take_model(model).map(|()| Bell::Model(model.clone())),
        }
    }

    // Here every bell goes straight into its mailbox, whether somebody waits or not.
    fn waits(&self, _: &Listener) {}

    fn waits_no_more(&self, _: &Listener) {}

    fn stats(&self) -> BellStats {
        Ledger::stats(self)
    }

    fn is_cut_off(&self) -> bool {
        false
    }
}

impl State {
    fn delivered(&mut self, bell: &Bell) {
        self.stats.delivered += 1;
        if let Some(count) = self.outstanding.get_mut(bell) {
            *count -= 1;
            if *count == 0 {
                self.outstanding.remove(bell);
            }
        }
    }

    fn forget_if_idle(&mut self, model: &ModelName) {
        if self.models.get(model).is_some_and(|mailbox| mailbox.listeners == 0 && mailbox.posted.is_empty()) {
            self.models.remove(model);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: usize) -> TaskId {
        format!("{number:026}").parse().unwrap()
    }

    fn model(name: &str) -> ModelName {
        name.parse().unwrap()
    }

    /// What apalis does when all is well.
    fn carry_all(ledger: &Ledger) {
        while let Some(bell) = ledger.send_one() {
            ledger.post(bell);
        }
    }

    #[test]
    fn a_ring_is_merged_wherever_the_outstanding_bell_is() {
        let ledger = Ledger::default();
        ledger.ring(Bell::Task(task(1)));
        ledger.ring(Bell::Task(task(1)));
        let sent = ledger.send_one().unwrap();
        ledger.ring(Bell::Task(task(1)));
        ledger.post(sent);
        ledger.ring(Bell::Task(task(1)));
        assert_eq!(ledger.stats().coalesced, 3);
        assert_eq!(ledger.take_task(), Some(task(1)));

        ledger.ring(Bell::Task(task(1)));
        assert_eq!(ledger.stats().coalesced, 3, "the bell was returned, so this ring is a new one");
        carry_all(&ledger);
        assert_eq!(ledger.take_task(), Some(task(1)));
        assert_eq!(ledger.take_task(), None);
    }

    #[test]
    fn recalled_bells_go_first_and_in_order_and_old_copies_are_ignored() {
        let ledger = Ledger::default();
        (1..=3).for_each(|number| ledger.ring(Bell::Task(task(number))));
        let lost = [ledger.send_one().unwrap(), ledger.send_one().unwrap()];
        ledger.recall();
        assert_eq!(ledger.in_transit(), 0);
        ledger.post(lost[0].clone());
        assert_eq!(ledger.take_task(), None, "a copy from the dead worker posts nothing");
        carry_all(&ledger);
        assert_eq!(
            [ledger.take_task(), ledger.take_task(), ledger.take_task()],
            [1, 2, 3].map(|n| Some(task(n)))
        );
        assert_eq!(ledger.stats().outstanding(), 0);
    }

    #[test]
    fn a_model_takes_no_memory_once_it_is_idle() {
        let ledger = Ledger::default();
        for number in 0..2_000 {
            let model = model(&format!("m{number}"));
            let _arrived = ledger.listen_model(&model);
            ledger.ring(Bell::Model(model.clone()));
            carry_all(&ledger);
            ledger.leave_model(&model);
            assert_eq!(ledger.models(), 1, "the posted bell stays");
            assert_eq!(ledger.take_model(&model), Some(()));
            assert_eq!(ledger.models(), 0);
        }
        assert!(ledger.state().outstanding.is_empty());
    }

    #[test]
    fn bells_of_a_model_are_bounded_on_their_own() {
        let ledger = Ledger::default();
        for _ in 0..500 {
            ledger.ring(Bell::Model(model("nobody-serves-this")));
        }
        carry_all(&ledger);
        assert_eq!(ledger.stats().outstanding(), crate::MAX_OUTSTANDING_PER_MODEL as u64);
        assert_eq!(ledger.stats().dropped, 0);
    }

    /// Two listeners look, find nothing, and only then two bells are posted, before either of them waits:
    /// `Notify` then holds one permit for both.
    #[tokio::test]
    async fn whoever_leaves_a_letter_behind_wakes_the_next_listener() {
        let ledger = Ledger::default();
        let arrived = ledger.listen_tasks();
        assert_eq!((ledger.take_task(), ledger.take_task()), (None, None));
        ledger.ring(Bell::Task(task(1)));
        ledger.ring(Bell::Task(task(2)));
        carry_all(&ledger);
        for number in 1..=2 {
            let woken = tokio::time::timeout(std::time::Duration::from_secs(5), arrived.notified()).await;
            assert!(woken.is_ok(), "a listener sleeps beside task {number}");
            assert_eq!(ledger.take_task(), Some(task(number)));
        }
    }
}

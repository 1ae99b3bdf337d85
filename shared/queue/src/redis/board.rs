//! What this process holds of bells: rings that wait to be sent, and a mailbox for each kind of listener.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::desk::Desk;
use crate::bell::{Bell, BellStats, MAX_OUTSTANDING};
use crate::exchange::Listener;

/// At most this many bells are pushed at once, so that no script of ours keeps Redis busy for long.
const BATCH: usize = 100;

/// The one shared record. Every method is short, takes the lock once and never waits under it.
#[derive(Default)]
pub(super) struct Board {
    state: Mutex<State>,
    /// Wakes the one pusher.
    rung: Notify,
}

#[derive(Default)]
struct State {
    unsent: VecDeque<Bell>,
    /// How often each bell is among `unsent`; no entry is zero.
    unsent_count: HashMap<Bell, usize>,
    /// Only those with a consumer in this process.
    mailboxes: HashMap<Listener, Mailbox>,
    stats: BellStats,
}

struct Mailbox {
    posted: VecDeque<Bell>,
    arrived: Arc<Notify>,
    listeners: usize,
    /// Listeners that wait for a bell now.
    waiting: usize,
    desk: Arc<Desk>,
}

/// What became of a pushed bell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    Sent,
    /// The same bell waits in the queue.
    Merged,
    /// The queue was full.
    Dropped,
}

impl Board {
    /// Records a ring: merges it, drops it at the bound, or leaves it to the pusher.
    pub(super) fn ring(&self, bell: Bell) {
        let mut state = self.state();
        state.stats.rung += 1;
        // A bell that is being pushed is not merged into: another process may have returned it already.
        if state.is_posted(&bell) || state.is_unsent_enough(&bell) {
            state.stats.coalesced += 1;
            return;
        }
        // `rung` already counts this ring, so the sum is what it would be with this bell.
        if state.stats.outstanding() > MAX_OUTSTANDING as u64 {
            state.stats.dropped += 1;
            return;
        }
        state.send_later(bell);
        drop(state);
        self.rung.notify_one();
    }

    /// The next bells to push, all for one listener. For one pusher at a time, which gives each of them to
    /// [`Board::pushed`] or all of them to [`Board::take_back`]. Nothing is lost when the future is dropped.
    pub(super) async fn next_batch(&self) -> (Listener, Vec<Bell>) {
        loop {
            if let Some(batch) = self.batch() {
                return batch;
            }
            self.rung.notified().await;
        }
    }

    pub(super) fn batch(&self) -> Option<(Listener, Vec<Bell>)> {
        let mut state = self.state();
        let listener = Listener::of(state.unsent.front()?);
        let mut batch = Vec::new();
        let mut left = VecDeque::with_capacity(state.unsent.len());
        for bell in std::mem::take(&mut state.unsent) {
            if batch.len() < BATCH && Listener::of(&bell) == listener {
                state.forget_unsent(&bell);
                batch.push(bell);
            } else {
                left.push_back(bell);
            }
        }
        state.unsent = left;
        Some((listener, batch))
    }

    pub(super) fn pushed(&self, outcome: Pushed) {
        let stats = &mut self.state().stats;
        match outcome {
            Pushed::Sent => stats.sent += 1,
            Pushed::Merged => stats.coalesced += 1,
            Pushed::Dropped => stats.dropped += 1,
        }
    }

    /// Bells that could not be pushed; they go before anything younger.
    pub(super) fn take_back(&self, batch: Vec<Bell>) {
        let mut state = self.state();
        for bell in batch.into_iter().rev() {
            if state.is_unsent_enough(&bell) {
                state.stats.coalesced += 1;
            } else {
                *state.unsent_count.entry(bell.clone()).or_default() += 1;
                state.unsent.push_front(bell);
            }
        }
        drop(state);
        self.rung.notify_one();
    }

    /// Posts a bell that came from Redis. Without a listener here it goes back.
    pub(super) fn post(&self, bell: Bell) {
        let mut state = self.state();
        state.stats.received += 1;
        if state.is_posted(&bell) {
            state.stats.coalesced += 1;
            return;
        }
        if let Some(mailbox) = state.mailboxes.get_mut(&Listener::of(&bell)) {
            mailbox.posted.push_back(bell);
            mailbox.arrived.notify_one();
            return;
        }
        state.send_back(bell);
        drop(state);
        self.rung.notify_one();
    }

    /// Another listener; the first one brings the desk for a consumer that has to be started.
    pub(super) fn listen(
        &self,
        listener: &Listener,
        desk: impl FnOnce() -> Arc<Desk>,
    ) -> (Arc<Notify>, Option<Arc<Desk>>) {
        let mut state = self.state();
        if let Some(mailbox) = state.mailboxes.get_mut(listener) {
            mailbox.listeners += 1;
            return (Arc::clone(&mailbox.arrived), None);
        }
        let mailbox = Mailbox {
            posted: VecDeque::new(),
            arrived: Arc::default(),
            listeners: 1,
            waiting: 0,
            desk: desk(),
        };
        let first = (Arc::clone(&mailbox.arrived), Some(Arc::clone(&mailbox.desk)));
        state.mailboxes.insert(listener.clone(), mailbox);
        first
    }

    /// The last listener ends the consumer and sends back what it did not take.
    pub(super) fn leave(&self, listener: &Listener) {
        let mut state = self.state();
        let Some(mailbox) = state.mailboxes.get_mut(listener) else { return };
        mailbox.listeners -= 1;
        if mailbox.listeners > 0 {
            return;
        }
        let Some(mailbox) = state.mailboxes.remove(listener) else { return };
        mailbox.desk.stop.cancel();
        for bell in mailbox.posted {
            state.send_back(bell);
        }
        drop(state);
        self.rung.notify_one();
    }

    pub(super) fn take(&self, listener: &Listener) -> Option<Bell> {
        let mut state = self.state();
        let mailbox = state.mailboxes.get_mut(listener)?;
        let bell = mailbox.posted.pop_front()?;
        // `Notify` keeps one permit, however often it was notified: whoever leaves bells behind wakes the next
        // listener, or that one would sleep beside a full mailbox.
        if !mailbox.posted.is_empty() {
            mailbox.arrived.notify_one();
        }
        state.stats.delivered += 1;
        Some(bell)
    }

    pub(super) fn waits(&self, listener: &Listener) {
        if let Some(mailbox) = self.state().mailboxes.get_mut(listener) {
            mailbox.waiting += 1;
            mailbox.desk.call();
        }
    }

    pub(super) fn waits_no_more(&self, listener: &Listener) {
        if let Some(mailbox) = self.state().mailboxes.get_mut(listener) {
            mailbox.waiting -= 1;
        }
    }

    /// Whether more listeners wait than bells are posted or on their way through the hands of this consumer. A
    /// process takes no more than it can use: the rest is for others.
    pub(super) fn wants(&self, listener: &Listener, desk: &Desk) -> bool {
        !desk.stop.is_cancelled()
            && self
                .state()
                .mailboxes
                .get(listener)
                .is_some_and(|mailbox| mailbox.waiting > mailbox.posted.len() + desk.in_hand())
    }

    pub(super) fn restarted(&self) {
        self.state().stats.restarts += 1;
    }

    pub(super) fn stats(&self) -> BellStats {
        self.state().stats
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code of others runs under the lock, so a poisoned state is still a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_unsent_enough(&self, bell: &Bell) -> bool {
        self.unsent_count.get(bell).is_some_and(|count| *count >= bell.max_outstanding())
    }

    /// Whether this very bell waits in a mailbox. Bells of a model are all alike, so none of them is.
    fn is_posted(&self, bell: &Bell) -> bool {
        matches!(bell, Bell::Task(_))
            && self.mailboxes.get(&Listener::of(bell)).is_some_and(|mailbox| mailbox.posted.contains(bell))
    }

    fn send_later(&mut self, bell: Bell) {
        *self.unsent_count.entry(bell.clone()).or_default() += 1;
        self.unsent.push_back(bell);
    }

    /// Like a ring that was counted already.
    fn send_back(&mut self, bell: Bell) {
        if self.is_unsent_enough(&bell) {
            self.stats.coalesced += 1;
        } else {
            self.send_later(bell);
        }
    }

    fn forget_unsent(&mut self, bell: &Bell) {
        if let Some(count) = self.unsent_count.get_mut(bell) {
            *count -= 1;
            if *count == 0 {
                self.unsent_count.remove(bell);
            }
        }
    }
}

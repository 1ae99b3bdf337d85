//! What a backend of bells is to the handles: a place to ring at, and mailboxes to take from.

use std::sync::Arc;

use nightforge_domain::ModelName;
use tokio::sync::Notify;

use crate::bell::{Bell, BellStats};

/// Who is meant by a bell. Each has a queue of its own, and in each process a mailbox of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Listener {
    /// Schedulers.
    Scheduler,
    /// Workers of this model.
    Worker(ModelName),
}

impl Listener {
    pub(crate) fn of(bell: &Bell) -> Listener {
        match bell {
            Bell::Task(_) => Listener::Scheduler,
            Bell::Model(model) => Listener::Worker(model.clone()),
        }
    }
}

/// No method waits, and none fails.
pub(crate) trait Exchange: Send + Sync {
    fn ring(&self, bell: Bell);

    /// A consumer appears; returns what wakes it. Paired with one [`Exchange::leave`].
    fn listen(&self, listener: &Listener) -> Arc<Notify>;

    /// A consumer is gone.
    fn leave(&self, listener: &Listener);

    /// The oldest bell in the mailbox.
    fn take(&self, listener: &Listener) -> Option<Bell>;

    /// A consumer has found its mailbox empty and waits. Paired with one [`Exchange::waits_no_more`].
    fn waits(&self, listener: &Listener);

    fn waits_no_more(&self, listener: &Listener);

    fn stats(&self) -> BellStats;

    /// Whether bells reach nobody now, because what carries them is away.
    fn is_cut_off(&self) -> bool;
}

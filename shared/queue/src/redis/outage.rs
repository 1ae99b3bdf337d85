//! Says once that Redis is away, and once that it is back.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::exchange::Listener;

/// One who depends on Redis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Pusher,
    Consumer(Listener),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Pusher => write!(f, "pusher"),
            Part::Consumer(Listener::Scheduler) => write!(f, "consumer for tasks"),
            Part::Consumer(Listener::Worker(model)) => write!(f, "consumer for model {model}"),
        }
    }
}

/// Which parts are without Redis now.
#[derive(Default)]
pub(super) struct Outage {
    down: Mutex<HashSet<Part>>,
}

impl Outage {
    /// Returns whether this was the beginning of an outage.
    pub(super) fn begins(&self, part: &Part, reason: &str) -> bool {
        let mut down = self.down.lock().unwrap_or_else(PoisonError::into_inner);
        let first = down.is_empty();
        let new = down.insert(part.clone());
        drop(down);
        if first {
            tracing::warn!(%part, reason, "no bells over Redis: workers and schedulers look for work by themselves until it carries them again");
        } else if new {
            tracing::debug!(%part, reason, "another part is without Redis");
        }
        first
    }

    /// Returns whether this was the end of an outage.
    pub(super) fn ends(&self, part: &Part) -> bool {
        let mut down = self.down.lock().unwrap_or_else(PoisonError::into_inner);
        let over = down.remove(part) && down.is_empty();
        drop(down);
        if over {
            tracing::info!("Redis carries bells again");
        }
        over
    }

    /// Whether any part is without Redis.
    pub(super) fn is_on(&self) -> bool {
        !self.down.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// A part that is dismissed waits for nothing any more.
    pub(super) fn dismissed(&self, part: &Part) {
        self.down.lock().unwrap_or_else(PoisonError::into_inner).remove(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_once_however_many_parts_try_however_often() {
        let outage = Outage::default();
        let tasks = Part::Consumer(Listener::Scheduler);
        let begun: Vec<bool> =
            [&Part::Pusher, &tasks, &Part::Pusher, &tasks].map(|part| outage.begins(part, "refused")).into();
        assert_eq!(begun, [true, false, false, false]);
        assert!(outage.is_on());
        assert!(!outage.ends(&Part::Pusher));
        assert!(!outage.ends(&Part::Pusher), "it was not away any more");
        assert!(outage.ends(&tasks) && !outage.is_on());
        assert!(outage.begins(&tasks, "refused"), "the next outage is told again");
    }
}

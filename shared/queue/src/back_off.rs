//! How long to wait before the next try.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// Doubles from 50 ms up to 5 s.
pub(crate) struct BackOff {
    next: Duration,
}

impl BackOff {
    pub(crate) fn new() -> BackOff {
        BackOff { next: FIRST }
    }

    /// How long to wait now.
    pub(crate) fn grow(&mut self) -> Duration {
        let now = self.next;
        self.next = (self.next * 2).min(LONGEST);
        now
    }

    pub(crate) fn reset(&mut self) {
        self.next = FIRST;
    }
}

//! How long the server's one slot stood free before each request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::answers;

/// The time between the end of an answer and the arrival of the next request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    pub(crate) length: Duration,
    pub(crate) between: Between,
}

/// What the two requests have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// Turns of one session.
    Turns,
    /// One session was over, or another job got the slot.
    Jobs,
}

/// Notes every gap between two coding turns. Other requests (the start of a project, probes) are answered and end a
/// gap, but make none: what goes on around them is not the engine's work alone.
#[derive(Debug, Default)]
pub(super) struct Gaps(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    in_flight: usize,
    most_in_flight: usize,
    /// Of the last answer, and whose turn it was, where it was one.
    last: Option<(Instant, Option<String>)>,
    gaps: Vec<Gap>,
    prompts: Vec<usize>,
}

impl Gaps {
    /// A request has come; the slot is taken until what is returned is dropped.
    pub(super) fn arrival(self: &Arc<Self>, at: Instant, request: &Value, prompt_bytes: usize) -> Busy {
        let turn = answers::turn(request);
        let mut noted = self.lock();
        if let (Some((end, Some(before))), Some((conversation, number)), 0) =
            (&noted.last, &turn, noted.in_flight)
        {
            let same = before == conversation && *number > 0;
            let between = if same { Between::Turns } else { Between::Jobs };
            let gap = Gap { length: at.saturating_duration_since(*end), between };
            noted.gaps.push(gap);
            noted.prompts.push(prompt_bytes);
        }
        noted.in_flight += 1;
        noted.most_in_flight = noted.most_in_flight.max(noted.in_flight);
        Busy { gaps: Arc::clone(self), conversation: turn.map(|(conversation, _)| conversation) }
    }

    pub(super) fn take(&self) -> (Vec<Gap>, Vec<usize>) {
        let mut noted = self.lock();
        noted.last = None;
        (std::mem::take(&mut noted.gaps), std::mem::take(&mut noted.prompts))
    }

    pub(super) fn count(&self) -> usize {
        self.lock().gaps.len()
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.lock().most_in_flight
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot, taken.
pub(super) struct Busy {
    gaps: Arc<Gaps>,
    conversation: Option<String>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut noted = self.gaps.lock();
        noted.in_flight -= 1;
        noted.last = Some((Instant::now(), self.conversation.take()));
    }
}

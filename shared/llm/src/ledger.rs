//! What a caller learns about every call that went over the wire, also the failed ones.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nightforge_domain::Usage;
use nightforge_domain::fault::FaultClass;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// How the model learns the form of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Level 1: `response_format: json_schema`, the server holds the model to it.
    ResponseFormat,
    /// Level 2: in the prompt, and `response_format: json_object`, the server holds the model to JSON.
    JsonObject,
    /// Level 3: in the prompt; the answer is plain text and the object is taken out of it.
    Prompt,
    /// Native mode: as `tools`, and the answer is a call of one.
    Tools,
}

impl Level {
    /// Whether the schema stands in the prompt.
    pub(crate) fn shows_schema(self) -> bool {
        matches!(self, Level::JsonObject | Level::Prompt)
    }
}

/// One call over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The contract that was asked for.
    pub contract: &'static str,
    /// How the form was given. A step down the ladder shows as a failed record and the next one's lower level.
    pub level: Level,
    /// 0 for the first ask, n for re-ask n. A call that was repeated on another level keeps its number.
    pub reask: u32,
    /// The seed before it is brought into the range that servers take.
    pub seed: i64,
    /// From the request to the end of the answer.
    pub duration: Duration,
    /// As the server counted; unknown where it did not say.
    pub usage: Usage,
    /// How it ended.
    pub outcome: CallOutcome,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// The answer is valid.
    Accepted,
    /// No answer, or one that is not valid.
    Failed(FaultClass),
    /// The caller dropped the call; its socket is closed.
    Abandoned,
}

/// Is told of every call of [`Client::structured`](crate::Client::structured) and
/// [`Client::choose_mode`](crate::Client::choose_mode).
pub trait CallObserver: Send + Sync {
    /// A call has ended. Must not block.
    fn record(&self, call: CallRecord);

    /// A piece of an answer's text has come. Does nothing by default. Must not block.
    fn delta(&self, _text: &str) {}
}

/// An observer that keeps the records.
#[derive(Debug, Default)]
pub struct CallLog {
    records: Mutex<Vec<CallRecord>>,
}

impl CallLog {
    /// Takes the records so far, oldest first.
    pub fn take(&self) -> Vec<CallRecord> {
        std::mem::take(&mut self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CallObserver for CallLog {
    fn record(&self, call: CallRecord) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

/// A call that has not ended. Dropped without an end, it reports itself as abandoned.
pub(crate) struct Call<'a> {
    observer: &'a dyn CallObserver,
    record: Option<CallRecord>,
    started: Instant,
}

impl<'a> Call<'a> {
    pub(crate) fn start(
        observer: &'a dyn CallObserver,
        contract: &'static str,
        level: Level,
        reask: u32,
        seed: i64,
    ) -> Self {
        let record = CallRecord {
            contract,
            level,
            reask,
            seed,
            duration: Duration::ZERO,
            usage: Usage::default(),
            outcome: CallOutcome::Abandoned,
        };
        Self { observer, record: Some(record), started: Instant::now() }
    }

    pub(crate) fn accepted(mut self, usage: Usage) {
        self.end(CallOutcome::Accepted, usage);
    }

    pub(crate) fn failed(mut self, class: FaultClass, usage: Usage) {
        self.end(CallOutcome::Failed(class), usage);
    }

    fn end(&mut self, outcome: CallOutcome, usage: Usage) {
        if let Some(record) = self.record.take() {
            self.observer.record(CallRecord { outcome, usage, duration: self.started.elapsed(), ..record });
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.end(CallOutcome::Abandoned, Usage::default());
    }
}

//! What a caller learns about every call that went over the wire, also the failed ones.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nightforge_domain::Usage;
use nightforge_domain::fault::FaultClass;
use serde::{Deserialize, Serialize};

/// How the schema reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Level 1: `response_format: json_schema`, the server holds the model to it.
    ResponseFormat,
    /// Level 3: in the prompt; the answer is plain text and the object is taken out of it.
    Prompt,
}

/// One call over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The contract that was asked for.
    pub contract: &'static str,
    /// How the schema was given.
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

/// Is told of every call of [`Client::structured`](crate::Client::structured).
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

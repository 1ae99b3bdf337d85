//! A journaled effect inside a job.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Millis;

/// Tokens of one model call, as the server counted them; `None` is unknown, not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer, reasoning included.
    pub completion_tokens: Option<u64>,
    /// Prompt tokens that the server took from its cache.
    pub cached_tokens: Option<u64>,
}

/// One recorded step. A step that is recorded is never run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Place in the job, from 0, without gaps.
    pub ordinal: u32,
    /// What the step does: `model`, `tool`, `gate`, …
    pub name: String,
    /// Hash of the step's logical inputs; a replay with another hash cuts the journal here.
    pub input_hash: String,
    /// What the step gave back, as the code that asked for it reads it.
    pub output: Value,
    /// How long it took.
    pub duration_ms: i64,
    /// When it was recorded.
    pub at: Millis,
}

//! How a job's execution can end without a result, and what each way costs it.

use serde::{Deserialize, Serialize};

/// What went wrong with a model call. The classes decide what is counted against a job and what is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FaultClass {
    /// No connection, or the server went away.
    ServerDown,
    /// The server is up, its model is not ready yet.
    Loading,
    /// Too many requests.
    Overloaded,
    /// The stream ended without a finish reason.
    StreamAborted,
    /// No bytes within a time limit.
    Stalled,
    /// The server failed in a way of its own (5xx).
    ServerError,
    /// The server wants a key, or another one.
    Auth,
    /// The server does not have the model.
    ModelMissing,
    /// The model's answer does not fit its contract, also after the re-asks.
    ModelOutputInvalid,
    /// The answer was cut at `max_tokens`.
    Truncated,
    /// The model was still writing when the time of the whole call was over.
    TimedOut,
    /// The server refuses the schema.
    SchemaRejected,
    /// The model declined to answer.
    Refusal,
    /// The prompt does not fit the model's context.
    ContextOverflow,
    /// The request itself is wrong.
    BadRequest,
}

/// What a fault costs the job it happened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Not the job's doing: it is ready again after a delay, nothing is counted.
    Infrastructure,
    /// The endpoint needs an operator: it is parked, the job waits, nothing is counted.
    Operator,
    /// Counted; after `1 + max_retries` the job fails.
    Counted,
    /// No further claim can help: the job goes to the dead letters at once.
    DeadLetter,
}

impl FaultClass {
    /// What this class costs a job.
    pub fn cost(self) -> Cost {
        use FaultClass::*;
        match self {
            ServerDown | Loading | Overloaded | StreamAborted | Stalled | ServerError => Cost::Infrastructure,
            Auth | ModelMissing => Cost::Operator,
            ModelOutputInvalid | Truncated | TimedOut | SchemaRejected | Refusal | ContextOverflow => {
                Cost::Counted
            }
            BadRequest => Cost::DeadLetter,
        }
    }

    /// The class by its name, as in the case files and in events.
    pub fn as_str(self) -> &'static str {
        use FaultClass::*;
        match self {
            ServerDown => "ServerDown",
            Loading => "Loading",
            Overloaded => "Overloaded",
            StreamAborted => "StreamAborted",
            Stalled => "Stalled",
            ServerError => "ServerError",
            Auth => "Auth",
            ModelMissing => "ModelMissing",
            ModelOutputInvalid => "ModelOutputInvalid",
            Truncated => "Truncated",
            TimedOut => "TimedOut",
            SchemaRejected => "SchemaRejected",
            Refusal => "Refusal",
            ContextOverflow => "ContextOverflow",
            BadRequest => "BadRequest",
        }
    }
}

impl std::fmt::Display for FaultClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Delay before a job that infrastructure failed is ready again: 5 s · 2ⁿ, at most 5 min.
///
/// `failures` counts the infrastructure failures in a row before this one.
pub fn backoff_ms(failures: u32) -> i64 {
    const FIRST_MS: i64 = 5_000;
    const CAP_MS: i64 = 5 * 60 * 1_000;
    FIRST_MS.checked_shl(failures.min(16)).unwrap_or(CAP_MS).min(CAP_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_five_minutes() {
        let delays: Vec<i64> = (0..8).map(backoff_ms).collect();
        assert_eq!(delays, [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
        assert_eq!(backoff_ms(u32::MAX), 300_000);
    }
}

//! The limits of a task. They are stored with it, so a restart or a new configuration changes nothing.

use serde::{Deserialize, Serialize};

/// Tasks of a kind that are active at once, for each slot of the live workers.
pub const TASKS_PER_SLOT: i64 = 4;

/// What a task may use. Counters live in the task's state; nothing here is ever "reset" by a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// `build`: the Initializer must name at least this many features. Default 50.
    pub min_features: u32,
    /// `build`: attempts on one feature before it is blocked. Default 50.
    pub max_attempts: u32,
    /// `build`: failed attempts in a row before another feature has its turn. Default 5.
    pub rotate_after: u32,
    /// `build`: coding sessions in all, proven or not. Default 1,000.
    pub max_sessions: u32,
    /// `build`: turns of one coding session. Default 60.
    pub max_turns: u32,
    /// `build`: length of one coding session, in milliseconds. Default 30 min.
    pub session_ms: u64,
    /// `research`: decisions of the Manager. Default 10.
    pub max_iterations: u32,
    /// `research`: agent runs, of which two are kept for review and synthesis. Default 30.
    pub max_agent_calls: u32,
    /// `research`: model calls, failed ones included. Default 180.
    pub max_model_calls: u32,
    /// `research`: working time of the task, in milliseconds; waiting in the queue is not counted. Default 4 h.
    pub task_timeout_ms: u64,
    /// `research`: failed agent runs in a row. Default 3.
    pub max_failures_in_row: u32,
    /// `research`: rejected decisions of the Manager in a row. Default 3.
    pub max_rejections_in_row: u32,
    /// Tokens in and out over all model calls; 0 means no limit. Default 0.
    pub max_tokens: u64,
    /// Further claims of a job after a counted fault, and re-asks of one model call. Default 2.
    pub max_retries: u32,
    /// One whole model call, in milliseconds. Default 10 min: local models are slow.
    pub agent_timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            min_features: 50,
            max_attempts: 50,
            rotate_after: 5,
            max_sessions: 1_000,
            max_turns: 60,
            session_ms: 30 * 60 * 1_000,
            max_iterations: 10,
            max_agent_calls: 30,
            max_model_calls: 180,
            task_timeout_ms: 4 * 60 * 60 * 1_000,
            max_failures_in_row: 3,
            max_rejections_in_row: 3,
            max_tokens: 0,
            max_retries: 2,
            agent_timeout_ms: 10 * 60 * 1_000,
        }
    }
}

impl Limits {
    /// Says which limit makes no sense, if one does.
    pub fn check(&self) -> Result<(), String> {
        let at_least_one = [
            ("min_features", u64::from(self.min_features)),
            ("max_attempts", u64::from(self.max_attempts)),
            ("rotate_after", u64::from(self.rotate_after)),
            ("max_sessions", u64::from(self.max_sessions)),
            ("max_turns", u64::from(self.max_turns)),
            ("session_ms", self.session_ms),
            ("max_iterations", u64::from(self.max_iterations)),
            ("max_agent_calls", u64::from(self.max_agent_calls)),
            ("max_model_calls", u64::from(self.max_model_calls)),
            ("task_timeout_ms", self.task_timeout_ms),
            ("max_failures_in_row", u64::from(self.max_failures_in_row)),
            ("max_rejections_in_row", u64::from(self.max_rejections_in_row)),
            ("agent_timeout_ms", self.agent_timeout_ms),
        ];
        match at_least_one.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(format!("limit `{name}` must be at least 1")),
            None if self.max_agent_calls < 4 => {
                Err("limit `max_agent_calls` must be at least 4: a manager, a \
                                                     researcher, a review and the answer"
                    .to_owned())
            }
            None if self.min_features > 500 => Err("limit `min_features` must be at most 500".to_owned()),
            None => Ok(()),
        }
    }
}

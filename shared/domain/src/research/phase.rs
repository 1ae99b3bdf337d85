//! The phases of a research task, and which of them may follow which.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The phases inside `running`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// Nothing has happened.
    Pending,
    /// The Manager decides.
    Planning,
    /// Researchers work.
    Researching,
    /// The Critic works.
    Reviewing,
    /// The Critic has sent the work back; the Manager is next.
    NeedsMoreWork,
    /// The final answer is written.
    Synthesizing,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Phase; 6] = [
        Phase::Pending,
        Phase::Planning,
        Phase::Researching,
        Phase::Reviewing,
        Phase::NeedsMoreWork,
        Phase::Synthesizing,
    ];

    /// Whether the task may pass from this phase to `next`.
    pub fn may_become(self, next: Phase) -> bool {
        use Phase::*;
        matches!(
            (self, next),
            (Pending | Researching | Reviewing | NeedsMoreWork, Planning)
                | (Planning, Researching | Reviewing | Synthesizing)
                // Where the budget leaves no choice, no Manager is asked in between.
                | (Researching, Reviewing)
                | (Reviewing, NeedsMoreWork | Synthesizing)
        )
    }

    /// The name in the log and for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Pending => "PENDING",
            Phase::Planning => "PLANNING",
            Phase::Researching => "RESEARCHING",
            Phase::Reviewing => "REVIEWING",
            Phase::NeedsMoreWork => "NEEDS_MORE_WORK",
            Phase::Synthesizing => "SYNTHESIZING",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

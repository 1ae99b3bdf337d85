//! Jobs: what a transition asks for, and what comes back.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::build::{FeatureDraft, Project};
use crate::contract::research::{CriticReview, ManagerDecision};
use crate::research::{FindingId, GroundedReport, GroundedSynthesis};
use crate::{CommitId, FeatureId};

/// Who executes a job; decides the model that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Runs once, in the first context only.
    Initializer,
    /// Runs in every later context.
    Coder,
    /// The harness itself; calls no model.
    Verifier,
    /// Breaks a question into assignments and decides what comes next; never researches.
    Manager,
    /// Works on one assignment: searches, reads, reports.
    Researcher,
    /// Challenges the findings; never researches.
    Critic,
    /// Writes the final answer, for the Manager.
    Synthesizer,
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Agent {
    /// The name in the configuration, the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Agent::Initializer => "initializer",
            Agent::Coder => "coder",
            Agent::Verifier => "verifier",
            Agent::Manager => "manager",
            Agent::Researcher => "researcher",
            Agent::Critic => "critic",
            Agent::Synthesizer => "synthesizer",
        }
    }
}

/// One unit of agent work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobSpec {
    /// Decompose the objective and make the first commit.
    Initialize {
        /// A person's reason for sending the first proposal back.
        revision: Option<String>,
    },
    /// One coding session on one feature.
    Code {
        /// The one feature of this session.
        feature: FeatureId,
        /// Sessions of the task so far, this one included.
        session: u32,
        /// Attempts on the feature so far, this one included.
        attempt: u32,
        /// The commit that the session starts from.
        base: CommitId,
    },
    /// Run every proven feature's test from a fresh clone.
    Verify {
        /// The commit to verify.
        head: CommitId,
    },
    /// The Manager's next decision.
    Manage {
        /// The Manager's iteration, from 1.
        iteration: u32,
        /// Working time that the task has left.
        time_left_ms: i64,
    },
    /// One assignment for one researcher.
    Research {
        /// The assignment's number.
        subtask: u32,
        /// Working time that the task has left.
        time_left_ms: i64,
    },
    /// The Critic looks at what is new.
    Review {
        /// The review's number, from 1.
        review: u32,
        /// Working time that the task has left.
        time_left_ms: i64,
    },
    /// The final answer.
    Synthesize {
        /// Working time that the task has left.
        time_left_ms: i64,
    },
}

impl JobSpec {
    /// Who executes it.
    pub fn agent(&self) -> Agent {
        match self {
            JobSpec::Initialize { .. } => Agent::Initializer,
            JobSpec::Code { .. } => Agent::Coder,
            JobSpec::Verify { .. } => Agent::Verifier,
            JobSpec::Manage { .. } => Agent::Manager,
            JobSpec::Research { .. } => Agent::Researcher,
            JobSpec::Review { .. } => Agent::Critic,
            JobSpec::Synthesize { .. } => Agent::Synthesizer,
        }
    }

    /// The name in events and in the database.
    pub fn kind(&self) -> &'static str {
        match self {
            JobSpec::Initialize { .. } => "initialize",
            JobSpec::Code { .. } => "code",
            JobSpec::Verify { .. } => "verify",
            JobSpec::Manage { .. } => "manage",
            JobSpec::Research { .. } => "research",
            JobSpec::Review { .. } => "review",
            JobSpec::Synthesize { .. } => "synthesize",
        }
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits for a worker with room.
    Ready,
    /// Claimed under a lease.
    Running,
    /// Gave its result.
    Done,
    /// Used up its faults.
    Failed,
    /// A dead letter.
    Dead,
    /// Ended because its task was stopping.
    Cancelled,
}

impl JobState {
    /// The name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            JobState::Ready => "ready",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Failed => "failed",
            JobState::Dead => "dead",
            JobState::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for JobState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [
            JobState::Ready,
            JobState::Running,
            JobState::Done,
            JobState::Failed,
            JobState::Dead,
            JobState::Cancelled,
        ]
        .into_iter()
        .find(|state| state.as_str() == text)
        .ok_or_else(|| format!("unknown job state `{text}`"))
    }
}

/// What a finished job gives to its task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobResult {
    /// Of [`JobSpec::Initialize`].
    Initialized(Initialized),
    /// Of [`JobSpec::Code`].
    Session(SessionReport),
    /// Of [`JobSpec::Verify`].
    Verified(Verified),
    /// Of [`JobSpec::Manage`].
    Decided {
        /// As the Manager gave it; the guard judges it.
        decision: ManagerDecision,
        /// Time in steps, waiting for a slot not counted.
        working_ms: i64,
    },
    /// Of [`JobSpec::Research`].
    Researched {
        /// With its findings grounded.
        report: GroundedReport,
        /// Time in steps, waiting for a slot not counted.
        working_ms: i64,
    },
    /// Of [`JobSpec::Review`].
    Reviewed {
        /// As the Critic gave it.
        review: CriticReview,
        /// The new findings that it was shown; others, for which its view had no room, stay unreviewed.
        shown: Vec<FindingId>,
        /// Time in steps, waiting for a slot not counted.
        working_ms: i64,
    },
    /// Of [`JobSpec::Synthesize`].
    Synthesized {
        /// With its statements grounded.
        synthesis: GroundedSynthesis,
        /// Time in steps, waiting for a slot not counted.
        working_ms: i64,
    },
    /// Of any job of a research task: the task's working time was over before its end.
    OutOfTime {
        /// Time in steps, waiting for a slot not counted.
        working_ms: i64,
    },
    /// Of any job of a research task: the task's model calls or tokens were used up before its end.
    OutOfBudget {
        /// Time in steps, waiting for a slot not counted.
        working_ms: i64,
    },
}

/// What the Initializer made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Initialized {
    /// The feature list, in the order of work.
    pub features: Vec<FeatureDraft>,
    /// How the project is set up, built and tested.
    pub project: Project,
    /// The first commit.
    pub head: CommitId,
}

/// How a coding session went. The gate decided it, not the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReport {
    /// The session's feature.
    pub feature: FeatureId,
    /// Proven or not.
    pub outcome: SessionOutcome,
    /// The agent's note for the next session.
    pub note: String,
    /// The branch's new head; every session ends in a commit.
    pub head: CommitId,
    /// Whether any file was changed, kept or not.
    pub changed: bool,
    /// From the first turn to the commit.
    pub duration_ms: i64,
}

/// The gate's verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum SessionOutcome {
    /// Red before, green after, nothing else broken.
    Passed,
    /// The test failed over the first commit and passes without a change of the code.
    AlreadySatisfied,
    /// Not proven; counts as an attempt.
    Failed {
        /// What the next session must know.
        reason: String,
    },
    /// The context was used up while work went on; not an attempt.
    HandedOver,
}

/// What a verification from a fresh clone found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Features whose test no longer passes; empty when all do.
    pub failing: Vec<FeatureFailure>,
}

/// One feature that does not pass, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureFailure {
    /// Which feature.
    pub feature: FeatureId,
    /// The end of the test's output.
    pub reason: String,
}

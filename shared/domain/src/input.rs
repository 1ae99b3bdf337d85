//! What a state machine consumes, one row at a time, oldest first.

use serde::{Deserialize, Serialize};

use crate::fault::FaultClass;
use crate::{JobNo, JobResult};

/// One thing that happened to a task and that it has to answer with a transition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// The objective was accepted. The first input of every task.
    Submitted,
    /// A job gave its result.
    JobDone {
        /// Which job.
        job: JobNo,
        /// What it gave.
        result: JobResult,
    },
    /// A job used up its faults.
    JobFailed {
        /// Which job.
        job: JobNo,
        /// The class of the last fault.
        class: FaultClass,
        /// The last fault in words.
        reason: String,
        /// How long its model calls took, in milliseconds: time that was worked for nothing, and counts.
        #[serde(default)]
        model_ms: i64,
    },
    /// A job became a dead letter.
    JobDied {
        /// Which job.
        job: JobNo,
        /// Why no further claim can help.
        reason: String,
    },
    /// A job ended because its task was stopping.
    JobCancelled {
        /// Which job.
        job: JobNo,
    },
    /// Somebody wants the task ended.
    Cancel {
        /// Who.
        by: String,
    },
    /// Somebody wants a stopped task to go on.
    Retry {
        /// Who.
        by: String,
        /// Only this job and later ones; all where it is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<JobNo>,
    },
    /// A person accepted what a gate shows.
    Approved {
        /// The gate's number.
        gate: u32,
        /// Who.
        by: String,
    },
    /// A person sent back what a gate shows.
    Rejected {
        /// The gate's number.
        gate: u32,
        /// What should be different.
        reason: String,
        /// Who.
        by: String,
    },
    /// The deadline passed.
    DeadlinePassed,
}

impl Input {
    /// The name in events, diagrams and error messages.
    pub fn name(&self) -> &'static str {
        match self {
            Input::Submitted => "submitted",
            Input::JobDone { .. } => "job_done",
            Input::JobFailed { .. } => "job_failed",
            Input::JobDied { .. } => "job_died",
            Input::JobCancelled { .. } => "job_cancelled",
            Input::Cancel { .. } => "cancel",
            Input::Retry { .. } => "retry",
            Input::Approved { .. } => "approved",
            Input::Rejected { .. } => "rejected",
            Input::DeadlinePassed => "deadline_passed",
        }
    }

    /// The job that ended with this input.
    pub fn ended_job(&self) -> Option<JobNo> {
        match self {
            Input::JobDone { job, .. }
            | Input::JobFailed { job, .. }
            | Input::JobDied { job, .. }
            | Input::JobCancelled { job } => Some(*job),
            _ => None,
        }
    }
}

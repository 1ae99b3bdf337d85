//! How an execution ends without a result.

use std::time::Duration;

use nightforge_domain::fault::FaultClass;
use nightforge_llm::CallError;
use nightforge_store::{Lost, StoreError};

/// Why an execution should not go on, though nothing is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The task or its queue is paused.
    Paused,
    /// This worker is shutting down.
    Draining,
    /// The grace of the shutdown is over; the step in flight is given up.
    Cut,
    /// The task is stopping.
    Stopping,
    /// The lease is over; somebody else may hold the job.
    Lost,
}

/// How an execution ends without a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Not the job's doing and not to be counted.
    #[error("interrupted: {0:?}")]
    Interrupted(Interruption),
    /// A model call failed; its class decides the cost.
    #[error(transparent)]
    Model(#[from] CallError),
    /// The endpoint could not serve, so the model was not asked at all.
    #[error("not asked: {0}")]
    NotAsked(CallError),
    /// The model's work is not good enough: counted.
    #[error("{class}: {reason}")]
    Fault {
        /// The class that is counted.
        class: FaultClass,
        /// In words.
        reason: String,
    },
    /// What the job needs beside its model could not answer. Not counted; the model's endpoint has no part in it.
    #[error("unavailable: {reason}")]
    Unavailable {
        /// What was asked, what came back, what to do.
        reason: String,
        /// How long it asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// The task's working time was over; a result of its own, and no fault.
    #[error("the task's working time was over")]
    OutOfTime {
        /// What this job used of it.
        working_ms: i64,
    },
    /// The task's model calls or tokens were used up; a result of its own, and no fault.
    #[error("the task's model calls or tokens were used up")]
    OutOfBudget {
        /// What this job used of the task's working time.
        working_ms: i64,
    },
    /// The database failed, or could not be reached: never the job's doing.
    #[error("the state of record: {0}")]
    Database(StoreError),
    /// This machine failed: disk, git, sandbox. Not counted, but not repeated for ever.
    #[error("{0:#}")]
    Machine(#[from] anyhow::Error),
}

impl Failure {
    /// A counted fault of the model's work.
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Failure::Fault { class: FaultClass::ModelOutputInvalid, reason: reason.into() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            // This program can't read the row, and no waiting helps.
            StoreError::Corrupt { .. } => {
                Failure::Machine(anyhow::Error::new(error).context("the state of record"))
            }
            error => Failure::Database(error),
        }
    }
}

impl From<Lost> for Failure {
    fn from(_: Lost) -> Self {
        Failure::Interrupted(Interruption::Lost)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Machine(error.into())
    }
}

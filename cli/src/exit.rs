//! How a verb ends: its exit code, and what is said where it did not do what was asked.

use std::process::ExitCode;

use nightforge_domain::Status;
use nightforge_store::StoreError;

/// Exit codes, in the order of how bad they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// What was asked for is there.
    Done,
    /// A task stopped early with a partial result.
    Partial,
    /// Failed or cancelled.
    Failed,
    /// There is no such thing.
    NotFound,
    /// Something is in the way.
    Conflict,
    /// The server, a model, the database or Redis can't be reached.
    Unreachable,
    /// The command line makes no sense.
    Usage,
    /// The configuration makes no sense.
    Config,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Partial => 2,
            Exit::NotFound => 3,
            Exit::Conflict => 4,
            Exit::Unreachable => 5,
            Exit::Usage => 64,
            Exit::Config => 78,
        }
    }

    /// Of a task that is waited for. One that is not final has not failed.
    pub(crate) fn of(status: Status) -> Self {
        match status {
            Status::NeedsReview => Exit::Partial,
            Status::Failed | Status::Cancelled => Exit::Failed,
            Status::Completed | Status::Queued | Status::Running | Status::WaitingForHuman => Exit::Done,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// Why a verb did not do what was asked. The message names the thing and the remedy; it is empty where there is
/// nothing to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(Exit::Config, message)
    }

    /// The reader of standard output has gone: nobody is left to tell, and nothing is wrong.
    pub(crate) fn reader_gone() -> Self {
        Self::new(Exit::Done, "")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            _ if error.is_damage() => Exit::Config,
            _ if error.is_away() => Exit::Unreachable,
            StoreError::NoTask(_) => Exit::NotFound,
            StoreError::IdempotencyConflict(_) => Exit::Conflict,
            StoreError::Open { .. }
            | StoreError::Url(_)
            | StoreError::UrlParameter(_)
            | StoreError::UrlEncoding
            | StoreError::NewerDatabase { .. }
            | StoreError::OlderDatabase { .. }
            | StoreError::Migrate(_) => Exit::Config,
            StoreError::Migrating { .. } => Exit::Conflict,
            StoreError::Previous { .. } => Exit::Usage,
            StoreError::NoSource(..) | StoreError::Database(_) | StoreError::Corrupt { .. } => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_final_state_has_its_code() {
        let codes: Vec<u8> = Status::ALL.into_iter().map(|status| Exit::of(status).code()).collect();
        assert_eq!(codes, [0, 0, 0, 0, 1, 2, 1]);
    }
}

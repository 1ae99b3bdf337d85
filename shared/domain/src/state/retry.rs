//! Which tasks and jobs can be retried. The machine, the store and the interface ask the same question here.

use super::{Life, TaskState};
use crate::{JobNo, Status};

/// Why a retry can't be taken as things stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetryRefusal {
    /// Everything that was asked for is there.
    #[error("the task is completed; there is nothing to retry")]
    Completed,
    /// Somebody wanted its end, which holds.
    #[error("the task was cancelled, and stays so; submit its objective again")]
    Cancelled,
    /// It has not ended early.
    #[error("the task is {0}; only one that failed or needs a review can be retried")]
    AtWork(Status),
    /// The job that was named did not end without a result.
    #[error("job {job} can't be retried: {}", can_be(.can))]
    NotThatJob {
        /// As it was named.
        job: JobNo,
        /// The jobs that can be.
        can: Vec<JobNo>,
    },
}

fn can_be(jobs: &[JobNo]) -> String {
    let jobs: Vec<String> = jobs.iter().map(JobNo::to_string).collect();
    match jobs.as_slice() {
        [] => "no job of the task ended without a result; retry the task without naming one".to_owned(),
        [only] => format!("only job {only} can be"),
        [..] => format!("only the jobs {} can be", jobs.join(", ")),
    }
}

impl TaskState {
    /// Whether a retry would be taken now: of every ended job, or of `from` and later ones.
    ///
    /// # Errors
    /// With the reason, and with what can be retried.
    pub fn may_retry(&self, from: Option<JobNo>) -> Result<(), RetryRefusal> {
        match &self.life {
            Life::Stopping { end: Status::Cancelled, .. } | Life::Final { end: Status::Cancelled, .. } => {
                return Err(RetryRefusal::Cancelled);
            }
            Life::Final { end: Status::Completed, .. } => return Err(RetryRefusal::Completed),
            Life::Stopping { .. } | Life::Final { .. } => {}
            Life::Queued | Life::Running | Life::WaitingForHuman { .. } => {
                return Err(RetryRefusal::AtWork(self.status()));
            }
        }
        // What a stopping task still awaits may end without a result.
        let can = || self.ended.keys().chain(self.awaited.keys()).copied();
        match from {
            Some(job) if !can().any(|known| known == job) => {
                let mut can: Vec<JobNo> = can().collect();
                can.sort_unstable();
                Err(RetryRefusal::NotThatJob { job, can })
            }
            _ => Ok(()),
        }
    }

    /// Whether the job that a remembered retry begins with has ended without a result.
    pub(super) fn retry_from_is_there(&self) -> bool {
        self.retry_from.is_none_or(|from| self.ended.contains_key(&from))
    }
}

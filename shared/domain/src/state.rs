//! The life cycle that all kinds share: what is awaited, stopping, cancel, retry, late inputs.
//!
//! [`next`] is the only way from one state to another. Pure: everything it needs is in [`Context`]. The finer
//! phases of a kind are in that kind's machine, which is asked in `draft` and answers with a [`Decision`].

mod draft;
mod machine;
mod retry;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::build::{Build, ReportFacts};
use crate::research::{Record, Research};
use crate::{Agent, CommitId, Event, Input, JobNo, JobSpec, Kind, Limits, Millis, Status};
use draft::Draft;
pub(crate) use machine::Notes;
pub use machine::{Machine, Report};
pub use retry::RetryRefusal;

/// All that is known of a task between two transitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskState {
    /// Where the task is in its life.
    pub life: Life,
    /// Jobs whose end has not been consumed yet. A task is final only when this is empty.
    pub awaited: BTreeMap<JobNo, JobSpec>,
    /// Jobs that ended without a result and that a retry would make ready again.
    pub ended: BTreeMap<JobNo, JobSpec>,
    /// Jobs created so far; the next one gets this number plus one.
    pub jobs_created: u32,
    /// A retry that came while the task was stopping, and who asked for it.
    pub retry_asked: Option<String>,
    /// The first job of that retry; all where it is missing.
    #[serde(default)]
    pub retry_from: Option<JobNo>,
    /// Retries so far.
    pub retries: u32,
    /// The machine of the task's kind.
    pub machine: Machine,
}

/// Where a task is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "life", rename_all = "snake_case")]
pub enum Life {
    /// Accepted.
    Queued,
    /// Jobs are awaited.
    Running,
    /// A gate waits for a person.
    WaitingForHuman {
        /// The gate's number; an answer carries it.
        gate: u32,
    },
    /// No new jobs; waiting for the last ones to end.
    Stopping {
        /// The status that follows.
        end: Status,
        /// Why.
        reason: String,
    },
    /// Over.
    Final {
        /// How it ended.
        end: Status,
        /// Why, where it ended early.
        reason: Option<String>,
    },
}

/// What the outside knows and a transition may depend on.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The task's limits.
    pub limits: &'a Limits,
    /// The database's clock.
    pub now: Millis,
    /// When work has to stop.
    pub deadline: Option<Millis>,
    /// For the report, and for the token limit.
    pub facts: ReportFacts<'a>,
}

/// A job that a transition asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Its number in the task.
    pub no: JobNo,
    /// What is to be done.
    pub spec: JobSpec,
}

impl NewJob {
    /// Who executes it.
    pub fn agent(&self) -> Agent {
        self.spec.agent()
    }
}

/// A new state and all that follows from it, as data; committed in one database transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The state after it.
    pub state: TaskState,
    /// Entries for the task's log.
    pub events: Vec<Event>,
    /// Jobs to create, ready.
    pub jobs: Vec<NewJob>,
    /// End every ready job of the task (each writes its input); running ones are told to stop.
    pub stop_jobs: bool,
    /// Jobs to make ready again, with their journals and with counters at zero.
    pub revive: Vec<JobNo>,
    /// Rows of a research task's history.
    pub records: Vec<Record>,
    /// The report, when the task became final.
    pub report: Option<Report>,
}

/// An input that the state has no transition for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("input `{input}` is illegal in phase {phase}: {reason}")]
pub struct IllegalTransition {
    /// The input's name.
    pub input: &'static str,
    /// The phase it met.
    pub phase: String,
    /// Why it is illegal there.
    pub reason: String,
}

/// A kind's answer to something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Go on with these jobs.
    Jobs(Vec<JobSpec>),
    /// Ask a person first.
    AskHuman,
    /// Everything that was asked for is there.
    Complete,
    /// Stop early, keep what is there.
    NeedsReview(String),
    /// Stop; there is nothing worth keeping.
    Fail(String),
}

impl TaskState {
    /// The state of a task that was just accepted.
    pub fn new(kind: Kind, approve: bool) -> Self {
        let machine = Machine::new(kind, approve);
        Self {
            life: Life::Queued,
            awaited: BTreeMap::new(),
            ended: BTreeMap::new(),
            jobs_created: 0,
            retry_asked: None,
            retry_from: None,
            retries: 0,
            machine,
        }
    }

    /// The status that people see.
    pub fn status(&self) -> Status {
        match &self.life {
            Life::Queued => Status::Queued,
            Life::Running | Life::Stopping { .. } => Status::Running,
            Life::WaitingForHuman { .. } => Status::WaitingForHuman,
            Life::Final { end, .. } => *end,
        }
    }

    /// The kind's finer phase: `CODING F003`, `FAILED_REQUIRES_REVIEW`, …
    pub fn phase(&self) -> String {
        match &self.life {
            Life::Stopping { .. } => "STOPPING".to_owned(),
            Life::Final { end: Status::Completed, .. } => "COMPLETED".to_owned(),
            Life::Final { end: Status::NeedsReview, .. } => "FAILED_REQUIRES_REVIEW".to_owned(),
            Life::Final { end: Status::Cancelled, .. } => "CANCELLED".to_owned(),
            Life::Final { .. } => "FAILED".to_owned(),
            Life::WaitingForHuman { .. } => "WAITING_FOR_HUMAN".to_owned(),
            Life::Queued | Life::Running => self.machine.phase(),
        }
    }

    /// No claim may start and every claim should end.
    pub fn is_stopping(&self) -> bool {
        matches!(self.life, Life::Stopping { .. } | Life::Final { .. })
    }

    /// The build machine, if this is a build.
    pub fn build(&self) -> Option<&Build> {
        match &self.machine {
            Machine::Build(build) => Some(build),
            Machine::Research(_) => None,
        }
    }

    /// The research machine, if this is research.
    pub fn research(&self) -> Option<&Research> {
        match &self.machine {
            Machine::Research(research) => Some(research),
            Machine::Build(_) => None,
        }
    }

    /// The commit that the project's branch has to point at.
    pub fn head(&self) -> Option<&CommitId> {
        self.build()?.head.as_ref()
    }
}

/// The next state and what must follow from it.
///
/// # Errors
/// An input that cannot be meant in this state. The caller consumes it with [`Transition::consuming_illegal`]:
/// an illegal input never blocks the ones behind it.
pub fn next(
    state: &TaskState,
    input: &Input,
    context: &Context<'_>,
) -> Result<Transition, IllegalTransition> {
    let mut draft = Draft::new(state, context);
    if let Some(job) = input.ended_job() {
        match draft.take_awaited(job) {
            Some(spec) => draft.job_ended(job, spec, input),
            None if job.0 >= 1 && job.0 <= state.jobs_created => {
                draft.ignore(input, &format!("job {job} is not awaited any more"));
            }
            None => return Err(illegal(state, input, format!("there is no job {job}"))),
        }
        return Ok(draft.finish());
    }
    match (&state.life, input) {
        (Life::Queued, Input::Submitted) => draft.start(),
        (_, Input::Submitted) => {
            return Err(illegal(state, input, "the task has started already".to_owned()));
        }
        (Life::Final { .. }, Input::Cancel { .. } | Input::DeadlinePassed) => {
            draft.ignore(input, "the task is over");
        }
        (Life::Stopping { .. }, Input::DeadlinePassed) => draft.ignore(input, "the task is stopping"),
        (_, Input::DeadlinePassed) if state.machine.deadline_waived() => {
            draft.ignore(input, "a retry has waived the deadline");
        }
        (_, Input::DeadlinePassed) => draft.stop(Status::NeedsReview, "the deadline passed".to_owned()),
        (Life::Stopping { end: Status::Cancelled, .. }, Input::Cancel { .. }) => {
            draft.ignore(input, "the task is being cancelled");
        }
        (_, Input::Cancel { by }) => draft.cancel(by),
        (life, Input::Retry { by, from }) => match (state.may_retry(*from), life) {
            (Err(refusal), _) => draft.ignore(input, &refusal.to_string()),
            (Ok(()), Life::Stopping { .. }) => draft.remember_retry(by, *from),
            (Ok(()), _) => draft.retry(by, *from),
        },
        (Life::WaitingForHuman { gate: open }, Input::Approved { gate, by }) if open == gate => {
            draft.answer_gate(*gate, by, None);
        }
        (Life::WaitingForHuman { gate: open }, Input::Rejected { gate, reason, by }) if open == gate => {
            draft.answer_gate(*gate, by, Some(reason));
        }
        (_, Input::Approved { .. } | Input::Rejected { .. }) => draft.ignore(input, "that gate is not open"),
        (
            _,
            Input::JobDone { .. }
            | Input::JobFailed { .. }
            | Input::JobDied { .. }
            | Input::JobCancelled { .. },
        ) => unreachable!("ended_job() names a job for each of these"),
    }
    Ok(draft.finish())
}

fn illegal(state: &TaskState, input: &Input, reason: String) -> IllegalTransition {
    IllegalTransition { input: input.name(), phase: state.phase(), reason }
}

impl Transition {
    /// Leaves the state as it is and notes the illegal input in the log.
    pub fn consuming_illegal(state: &TaskState, error: &IllegalTransition) -> Self {
        let event = Event::IllegalInput { input: error.input.to_owned(), reason: error.reason.clone() };
        Self {
            state: state.clone(),
            events: vec![event],
            jobs: Vec::new(),
            stop_jobs: false,
            revive: Vec::new(),
            records: Vec::new(),
            report: None,
        }
    }
}

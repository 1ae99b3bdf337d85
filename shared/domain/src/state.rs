//! The life cycle that all kinds share: what is awaited, stopping, cancel, retry, late inputs.
//!
//! [`next`] is the only way from one state to another. Pure: everything it needs is in [`Context`]. The finer
//! phases of a kind are in that kind's machine, which is asked here and answers with a [`Decision`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::build::{Build, ReportFacts};
use crate::{Agent, CommitId, Event, Input, JobNo, JobSpec, Kind, Limits, Millis, Status};

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
    /// Retries so far; each grants every limit once more.
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

/// The machine of a task's kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Machine {
    /// Of [`Kind::Build`].
    Build(Build),
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
    /// The report, when the task became final.
    pub report: Option<String>,
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
        let machine = match kind {
            Kind::Build => Machine::Build(Build::new(approve)),
        };
        Self {
            life: Life::Queued,
            awaited: BTreeMap::new(),
            ended: BTreeMap::new(),
            jobs_created: 0,
            retry_asked: None,
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
            Life::Queued | Life::Running => match &self.machine {
                Machine::Build(build) => build.phase.to_string(),
            },
        }
    }

    /// No claim may start and every claim should end.
    pub fn is_stopping(&self) -> bool {
        matches!(self.life, Life::Stopping { .. } | Life::Final { .. })
    }

    /// The build machine, if this is a build.
    pub fn build(&self) -> Option<&Build> {
        let Machine::Build(build) = &self.machine;
        Some(build)
    }

    /// The commit that the project's branch has to point at.
    pub fn head(&self) -> Option<&CommitId> {
        let Machine::Build(build) = &self.machine;
        build.head.as_ref()
    }
}

/// The next state and what must follow from it.
///
/// # Errors
/// An input that cannot be meant in this state. The caller consumes it with [`Transition::consuming_illegal`]:
/// an illegal input never blocks the ones behind it.
pub fn next(state: &TaskState, input: &Input, context: &Context<'_>) -> Result<Transition, IllegalTransition> {
    let mut draft = Draft::new(state);
    if let Some(job) = input.ended_job() {
        let Some(spec) = draft.state.awaited.remove(&job) else {
            return Err(illegal(state, input, format!("job {job} is not awaited")));
        };
        draft.job_ended(job, spec, input, context).map_err(|reason| illegal(state, input, reason))?;
        return Ok(draft.finish(context));
    }
    match (&state.life, input) {
        (Life::Queued, Input::Submitted) => {
            draft.events.push(Event::TaskSubmitted { kind: Kind::Build });
            let Machine::Build(build) = &mut draft.state.machine;
            let decision = build.start();
            draft.follow(decision, context);
        }
        (_, Input::Submitted) => return Err(illegal(state, input, "the task has started already".to_owned())),
        (Life::Final { .. }, Input::Cancel { .. } | Input::DeadlinePassed) => draft.ignore(input, "the task is over"),
        (Life::Stopping { .. }, Input::DeadlinePassed) => draft.ignore(input, "the task is stopping"),
        (Life::Stopping { end: Status::Cancelled, .. }, Input::Cancel { .. } | Input::Retry { .. }) => {
            draft.ignore(input, "the task is being cancelled");
        }
        (_, Input::Cancel { by }) => {
            draft.state.retry_asked = None;
            draft.stop(Status::Cancelled, format!("cancelled by {by}"));
        }
        (_, Input::DeadlinePassed) => draft.stop(Status::NeedsReview, "the deadline passed".to_owned()),
        (Life::Stopping { .. }, Input::Retry { by }) => draft.state.retry_asked = Some(by.clone()),
        (Life::Final { end: Status::Failed | Status::NeedsReview, .. }, Input::Retry { by }) => draft.retry(by, context),
        (Life::Final { .. }, Input::Retry { .. }) => draft.ignore(input, "only a failed or reviewed task can be retried"),
        (_, Input::Retry { .. }) => draft.ignore(input, "the task is at work"),
        (Life::WaitingForHuman { gate: open }, Input::Approved { gate, by }) if open == gate => {
            draft.answer_gate(*gate, by, None, context);
        }
        (Life::WaitingForHuman { gate: open }, Input::Rejected { gate, reason, by }) if open == gate => {
            draft.answer_gate(*gate, by, Some(reason), context);
        }
        (_, Input::Approved { .. } | Input::Rejected { .. }) => draft.ignore(input, "that gate is not open"),
        (
            _,
            Input::JobDone { .. } | Input::JobFailed { .. } | Input::JobDied { .. } | Input::JobCancelled { .. },
        ) => {
            unreachable!("ended_job() names a job for each of these")
        }
    }
    Ok(draft.finish(context))
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
            report: None,
        }
    }
}

/// A transition in the making.
struct Draft<'a> {
    before: &'a TaskState,
    state: TaskState,
    events: Vec<Event>,
    jobs: Vec<NewJob>,
    stop_jobs: bool,
    revive: Vec<JobNo>,
}

impl<'a> Draft<'a> {
    fn new(before: &'a TaskState) -> Self {
        Self {
            before,
            state: before.clone(),
            events: Vec::new(),
            jobs: Vec::new(),
            stop_jobs: false,
            revive: Vec::new(),
        }
    }

    fn job_ended(
        &mut self,
        job: JobNo,
        spec: JobSpec,
        input: &Input,
        context: &Context<'_>,
    ) -> Result<(), String> {
        let stopping = matches!(self.state.life, Life::Stopping { .. });
        let Machine::Build(build) = &mut self.state.machine;
        let decision = match input {
            Input::JobDone { result, .. } => {
                build.record(&spec, result, context.limits, &mut self.events)?;
                (!stopping).then(|| build.after(&spec, result, context, self.state.retries, &mut self.events))
            }
            // A session that its model could not carry on is a failed attempt; the task goes on.
            Input::JobFailed { class, reason, .. } if matches!(spec, JobSpec::Code { .. }) => {
                build.attempt_failed(&spec, &format!("{class}: {reason}"), context.limits, &mut self.events);
                (!stopping).then(|| build.next_session(context, self.state.retries))
            }
            Input::JobFailed { class, reason, .. } => {
                self.state.ended.insert(job, spec.clone());
                Some(Decision::Fail(format!("job {job} ({}) failed: {class}: {reason}", spec.kind())))
            }
            Input::JobDied { reason, .. } => {
                self.state.ended.insert(job, spec.clone());
                Some(Decision::NeedsReview(format!("job {job} ({}) is a dead letter: {reason}", spec.kind())))
            }
            _ => {
                self.state.ended.insert(job, spec);
                (!stopping).then(|| Decision::NeedsReview(format!("job {job} was ended")))
            }
        };
        if !stopping {
            self.follow(decision.unwrap_or(Decision::Jobs(Vec::new())), context);
        }
        Ok(())
    }

    fn answer_gate(&mut self, gate: u32, by: &str, rejected: Option<&String>, context: &Context<'_>) {
        self.events.push(Event::GateAnswered { gate, approved: rejected.is_none(), by: by.to_owned() });
        let Machine::Build(build) = &mut self.state.machine;
        let decision = match rejected {
            None => build.next_session(context, self.state.retries),
            Some(reason) => build.rejected(reason),
        };
        self.follow(decision, context);
    }

    fn retry(&mut self, by: &str, context: &Context<'_>) {
        self.state.retries += 1;
        self.state.retry_asked = None;
        self.state.life = Life::Running;
        self.revive = self.state.ended.keys().copied().collect();
        self.events.push(Event::RetryAccepted { by: by.to_owned(), jobs: self.revive.clone() });
        let ended = std::mem::take(&mut self.state.ended);
        let Machine::Build(build) = &mut self.state.machine;
        build.grant();
        if ended.is_empty() {
            let decision = build.resume(context, self.state.retries);
            self.follow(decision, context);
        } else {
            self.state.awaited.extend(ended);
        }
    }

    fn follow(&mut self, decision: Decision, context: &Context<'_>) {
        match decision {
            Decision::Jobs(specs) => {
                self.state.life = Life::Running;
                for spec in specs {
                    self.create(spec);
                }
                debug_assert!(!self.state.awaited.is_empty(), "a running task awaits a job");
            }
            Decision::AskHuman => {
                let Machine::Build(build) = &mut self.state.machine;
                let gate = build.open_gate();
                self.state.life = Life::WaitingForHuman { gate };
                self.events.push(Event::GateOpened { gate });
            }
            Decision::Complete => self.state.life = Life::Final { end: Status::Completed, reason: None },
            Decision::NeedsReview(reason) => self.stop(Status::NeedsReview, reason),
            Decision::Fail(reason) => self.stop(Status::Failed, reason),
        }
        let _ = context;
    }

    fn create(&mut self, spec: JobSpec) {
        self.state.jobs_created += 1;
        let no = JobNo(self.state.jobs_created);
        let feature = match &spec {
            JobSpec::Code { feature, .. } => Some(feature.clone()),
            _ => None,
        };
        self.events.push(Event::JobCreated { job: no, kind: spec.kind().to_owned(), feature });
        self.state.awaited.insert(no, spec.clone());
        self.jobs.push(NewJob { no, spec });
    }

    fn stop(&mut self, end: Status, reason: String) {
        self.events.push(Event::TaskStopping { reason: reason.clone() });
        self.state.life = Life::Stopping { end, reason };
        self.stop_jobs = true;
    }

    fn ignore(&mut self, input: &Input, reason: &str) {
        self.events.push(Event::InputIgnored { input: input.name().to_owned(), reason: reason.to_owned() });
    }

    /// A stopping task that awaits nothing is over, or goes on if a retry was asked for meanwhile.
    fn finish(mut self, context: &Context<'_>) -> Transition {
        if let Life::Stopping { end, reason } = &self.state.life
            && self.state.awaited.is_empty()
        {
            let (end, reason) = (*end, reason.clone());
            match self.state.retry_asked.take() {
                Some(by) if end != Status::Cancelled => {
                    self.stop_jobs = false;
                    self.retry(&by, context);
                    return self.finish(context);
                }
                _ => self.state.life = Life::Final { end, reason: Some(reason) },
            }
        }
        let (phase_before, phase) = (self.before.phase(), self.state.phase());
        if phase_before != phase {
            self.events.push(Event::PhaseChanged { from: phase_before, to: phase });
        }
        let (from, to) = (self.before.status(), self.state.status());
        if from != to {
            self.events.push(Event::StatusChanged { from, to });
        }
        let report = match &self.state.life {
            Life::Final { end, reason } if from != to => {
                let Machine::Build(build) = &self.state.machine;
                Some(crate::build::report(build, *end, reason.as_deref(), context))
            }
            _ => None,
        };
        Transition {
            state: self.state,
            events: self.events,
            jobs: self.jobs,
            stop_jobs: self.stop_jobs,
            revive: self.revive,
            report,
        }
    }
}

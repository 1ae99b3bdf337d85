//! A transition in the making: what inputs do to the life of a task, and how the kind's decisions are followed.

use super::machine::{AfterFailure, Failure};
use super::{Context, Decision, Life, NewJob, Notes, TaskState, Transition};
use crate::{Event, Input, JobNo, JobSpec, Status};

/// A transition in the making. [`Draft::finish`] ends it.
pub(super) struct Draft<'a> {
    before: &'a TaskState,
    context: &'a Context<'a>,
    state: TaskState,
    notes: Notes,
    jobs: Vec<NewJob>,
    stop_jobs: bool,
    revive: Vec<JobNo>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(before: &'a TaskState, context: &'a Context<'a>) -> Self {
        Self {
            before,
            context,
            state: before.clone(),
            notes: Notes::default(),
            jobs: Vec::new(),
            stop_jobs: false,
            revive: Vec::new(),
        }
    }

    pub(super) fn start(&mut self) {
        let decision = self.state.machine.start(self.context, &mut self.notes);
        self.follow(decision);
    }

    /// Takes a job out of the awaited ones, if it is one of them.
    pub(super) fn take_awaited(&mut self, job: JobNo) -> Option<JobSpec> {
        self.state.awaited.remove(&job)
    }

    /// A job that was awaited has ended. Its result is recorded in any case; only a task that is not stopping
    /// goes on from it.
    pub(super) fn job_ended(&mut self, job: JobNo, spec: JobSpec, input: &Input) {
        let decision = match input {
            Input::JobDone { result, .. } => {
                let recorded = self.state.machine.record(job, &spec, result, self.context, &mut self.notes);
                match recorded {
                    Ok(()) if self.is_stopping() => return,
                    Ok(()) => self.state.machine.after(job, &spec, result, self.context, &mut self.notes),
                    Err(reason) => {
                        // The job is done and can't be made ready again: a retry makes a new one.
                        let input = input.name().to_owned();
                        self.event(Event::IllegalInput { input, reason: reason.clone() });
                        self.failed(job, &spec, &reason, 0).decision
                    }
                }
            }
            Input::JobFailed { class, reason, model_ms, .. } => {
                let after = self.failed(job, &spec, &format!("{class}: {reason}"), *model_ms);
                if after.keep {
                    self.state.ended.insert(job, spec);
                }
                after.decision
            }
            Input::JobDied { reason, .. } => {
                let why = format!("job {job} ({}) is a dead letter: {reason}", spec.kind());
                self.state.ended.insert(job, spec);
                Decision::NeedsReview(why)
            }
            _ => {
                self.state.ended.insert(job, spec);
                Decision::NeedsReview(format!("job {job} was ended"))
            }
        };
        if !self.is_stopping() {
            self.follow(decision);
        }
    }

    fn failed(&mut self, job: JobNo, spec: &JobSpec, reason: &str, model_ms: i64) -> AfterFailure {
        let failure = Failure { job, spec, reason, model_ms, stopping: self.is_stopping() };
        self.state.machine.failed(&failure, self.context, &mut self.notes)
    }

    fn event(&mut self, event: Event) {
        self.notes.events.push(event);
    }

    fn is_stopping(&self) -> bool {
        self.state.is_stopping()
    }

    pub(super) fn answer_gate(&mut self, gate: u32, by: &str, rejected: Option<&String>) {
        self.event(Event::GateAnswered { gate, approved: rejected.is_none(), by: by.to_owned() });
        let rejected = rejected.map(String::as_str);
        if let Some(decision) = self.state.machine.answer_gate(rejected, self.context) {
            self.follow(decision);
        }
    }

    /// Ends the task, also where it was stopping for another reason; a retry that was remembered is forgotten.
    pub(super) fn cancel(&mut self, by: &str) {
        self.state.retry_asked = None;
        self.state.retry_from = None;
        self.stop(Status::Cancelled, format!("cancelled by {by}"));
    }

    /// The retry happens when the last job has ended. Of several, it takes up what any of them asked for.
    pub(super) fn remember_retry(&mut self, by: &str, from: Option<JobNo>) {
        self.state.retry_from = match self.state.retry_asked {
            None => from,
            // No job at all comes before every job.
            Some(_) => self.state.retry_from.min(from),
        };
        self.state.retry_asked = Some(by.to_owned());
    }

    /// Makes ended jobs ready again, from `from` on; where there is none to make ready, the kind's machine goes on.
    pub(super) fn retry(&mut self, by: &str, from: Option<JobNo>) {
        self.state.retries += 1;
        self.state.retry_asked = None;
        self.state.retry_from = None;
        self.state.life = Life::Running;
        let ended = match from {
            None => std::mem::take(&mut self.state.ended),
            Some(first) => self.state.ended.split_off(&first),
        };
        self.revive = ended.keys().copied().collect();
        self.event(Event::RetryAccepted { by: by.to_owned(), jobs: self.revive.clone() });
        self.state.machine.grant(self.context);
        self.state.machine.left_behind(self.state.ended.values(), &mut self.notes);
        if ended.is_empty() {
            let decision = self.state.machine.resume(self.context, &mut self.notes);
            self.follow(decision);
        } else {
            self.state.awaited.extend(ended);
        }
    }

    fn follow(&mut self, decision: Decision) {
        match decision {
            Decision::Jobs(specs) => {
                self.state.life = Life::Running;
                for spec in specs {
                    self.create(spec);
                }
                debug_assert!(!self.state.awaited.is_empty(), "a running task awaits a job");
            }
            Decision::AskHuman => {
                if let Some(gate) = self.state.machine.open_gate() {
                    self.state.life = Life::WaitingForHuman { gate };
                    self.event(Event::GateOpened { gate });
                }
            }
            Decision::Complete => {
                debug_assert!(self.state.awaited.is_empty(), "a completed task awaits no job");
                self.state.life = Life::Final { end: Status::Completed, reason: None };
            }
            Decision::NeedsReview(reason) => self.stop(Status::NeedsReview, reason),
            Decision::Fail(reason) => self.stop(Status::Failed, reason),
        }
    }

    fn create(&mut self, spec: JobSpec) {
        self.state.jobs_created += 1;
        let no = JobNo(self.state.jobs_created);
        let feature = match &spec {
            JobSpec::Code { feature, .. } => Some(feature.clone()),
            _ => None,
        };
        self.event(Event::JobCreated { job: no, kind: spec.kind().to_owned(), feature });
        self.state.awaited.insert(no, spec.clone());
        self.jobs.push(NewJob { no, spec });
    }

    pub(super) fn stop(&mut self, end: Status, reason: String) {
        self.event(Event::TaskStopping { reason: reason.clone() });
        self.state.life = Life::Stopping { end, reason };
        self.stop_jobs = true;
    }

    pub(super) fn ignore(&mut self, input: &Input, reason: &str) {
        self.event(Event::InputIgnored { input: input.name().to_owned(), reason: reason.to_owned() });
    }

    /// A stopping task that awaits nothing is over, or goes on if a retry was asked for meanwhile.
    pub(super) fn finish(mut self) -> Transition {
        if let Life::Stopping { end, reason } = &self.state.life
            && self.state.awaited.is_empty()
        {
            let (end, reason) = (*end, reason.clone());
            match self.state.retry_asked.take() {
                Some(by) if end != Status::Cancelled && self.state.retry_from_is_there() => {
                    self.stop_jobs = false;
                    self.retry(&by, self.state.retry_from);
                    return self.finish();
                }
                asked => {
                    if let (Some(by), Some(from)) = (asked, self.state.retry_from.take()) {
                        let retry = Input::Retry { by, from: Some(from) };
                        self.ignore(&retry, &format!("job {from} gave its result after all"));
                    }
                    self.state.life = Life::Final { end, reason: Some(reason) };
                }
            }
        }
        let report = match &self.state.life {
            Life::Final { end, reason } if self.before.life != self.state.life => {
                let (end, reason) = (*end, reason.clone());
                Some(self.state.machine.ended(end, reason.as_deref(), self.context, &mut self.notes))
            }
            _ => None,
        };
        let (from, to) = (self.chain_phases(), self.state.phase());
        if from != to {
            self.event(Event::PhaseChanged { from, to });
        }
        let (from, to) = (self.before.status(), self.state.status());
        if from != to {
            self.event(Event::StatusChanged { from, to });
        }
        Transition {
            state: self.state,
            events: self.notes.events,
            jobs: self.jobs,
            stop_jobs: self.stop_jobs,
            revive: self.revive,
            records: self.notes.records,
            report,
        }
    }

    /// A machine may pass through several phases in one transition; each begins where the log's last one ended, also
    /// where a retry leaves a final state. Returns the last of them.
    fn chain_phases(&mut self) -> String {
        let mut at = self.before.phase();
        for event in &mut self.notes.events {
            if let Event::PhaseChanged { from, to } = event {
                *from = std::mem::replace(&mut at, to.clone());
            }
        }
        at
    }
}

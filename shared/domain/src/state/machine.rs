//! The machine of a task's kind, as the common life cycle asks it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Context, Decision};
use crate::build::{Build, report};
use crate::research::{Record, Research, markdown, result_of};
use crate::{Event, JobNo, JobResult, JobSpec, Kind, Status};

/// The machine of a task's kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Machine {
    /// Of [`Kind::Build`].
    Build(Build),
    /// Of [`Kind::Research`].
    Research(Research),
}

/// What a task leaves behind for its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// For people.
    pub markdown: String,
    /// The same as data, where the kind has it.
    pub result: Option<Value>,
}

/// What a machine tells while it changes: entries for the log, and rows beside the state.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) events: Vec<Event>,
    pub(crate) records: Vec<Record>,
}

/// A job that ended without a usable result.
#[derive(Clone, Copy)]
pub(super) struct Failure<'a> {
    pub(super) job: JobNo,
    pub(super) spec: &'a JobSpec,
    pub(super) reason: &'a str,
    /// How long its model calls took.
    pub(super) model_ms: i64,
    /// Whether its task is stopping.
    pub(super) stopping: bool,
}

/// What follows from a job that ended without a result.
pub(super) struct AfterFailure {
    pub(super) decision: Decision,
    /// Whether a retry makes this very job ready again; otherwise the machine has gone on without it.
    pub(super) keep: bool,
}

impl Machine {
    pub(super) fn new(kind: Kind, approve: bool) -> Self {
        match kind {
            Kind::Build => Machine::Build(Build::new(approve)),
            Kind::Research => Machine::Research(Research::new()),
        }
    }

    pub(super) fn phase(&self) -> String {
        match self {
            Machine::Build(build) => build.phase.to_string(),
            Machine::Research(research) => research.phase.to_string(),
        }
    }

    pub(super) fn deadline_waived(&self) -> bool {
        match self {
            Machine::Build(build) => build.granted.deadline_waived,
            Machine::Research(research) => research.granted.deadline_waived,
        }
    }

    pub(super) fn start(&mut self, context: &Context<'_>, notes: &mut Notes) -> Decision {
        match self {
            Machine::Build(build) => build.start(),
            Machine::Research(research) => research.start(context, notes),
        }
    }

    /// Takes a result in, also while the task is stopping.
    ///
    /// # Errors
    /// A result that does not belong to its job; then nothing has changed.
    pub(super) fn record(
        &mut self,
        job: JobNo,
        spec: &JobSpec,
        result: &JobResult,
        context: &Context<'_>,
        notes: &mut Notes,
    ) -> Result<(), String> {
        match self {
            Machine::Build(build) => build.record(spec, result, context.limits, &mut notes.events),
            Machine::Research(research) => research.record(job, spec, result, notes),
        }
    }

    /// What follows from a result that was taken in.
    pub(super) fn after(
        &mut self,
        job: JobNo,
        spec: &JobSpec,
        result: &JobResult,
        context: &Context<'_>,
        notes: &mut Notes,
    ) -> Decision {
        match self {
            Machine::Build(build) => build.after(spec, result, context),
            Machine::Research(research) => research.after(job, result, context, notes),
        }
    }

    /// What a job without a usable result means. A stopping task starts nothing, so nothing is counted for it.
    pub(super) fn failed(
        &mut self,
        failure: &Failure<'_>,
        context: &Context<'_>,
        notes: &mut Notes,
    ) -> AfterFailure {
        let Failure { job, spec, reason, model_ms, stopping } = *failure;
        let why = || format!("job {job} ({}) failed: {reason}", spec.kind());
        match (self, spec) {
            (Machine::Build(build), JobSpec::Code { feature, .. }) => {
                build.attempt_failed(feature, reason, context.limits, &mut notes.events);
                let decision =
                    if stopping { Decision::Jobs(Vec::new()) } else { build.next_session(context) };
                AfterFailure { decision, keep: false }
            }
            (Machine::Build(_), JobSpec::Initialize { .. }) => {
                AfterFailure { decision: Decision::Fail(why()), keep: true }
            }
            (Machine::Build(_), _) => AfterFailure { decision: Decision::NeedsReview(why()), keep: true },
            (Machine::Research(research), _) => {
                research.agent_failed(job, spec, reason, model_ms, context.limits, notes);
                let decision = if stopping {
                    Decision::Jobs(Vec::new())
                } else {
                    research.after_failure(spec, context, notes)
                };
                AfterFailure { decision, keep: false }
            }
        }
    }

    /// A retry counts the limits that are used up anew.
    pub(super) fn grant(&mut self, context: &Context<'_>) {
        match self {
            Machine::Build(build) => build.grant(context),
            Machine::Research(research) => research.grant(context),
        }
    }

    /// Jobs that a retry does not make ready again, because it begins with a later one.
    pub(super) fn left_behind<'a>(&mut self, specs: impl Iterator<Item = &'a JobSpec>, notes: &mut Notes) {
        if let Machine::Research(research) = self {
            specs.for_each(|spec| research.left_behind(spec, notes));
        }
    }

    /// What a retry does where no ended job can be made ready again.
    pub(super) fn resume(&mut self, context: &Context<'_>, notes: &mut Notes) -> Decision {
        match self {
            Machine::Build(build) => build.resume(context),
            Machine::Research(research) => research.resume(context, notes),
        }
    }

    /// Opens the next gate; `None` where the kind has none.
    pub(super) fn open_gate(&mut self) -> Option<u32> {
        match self {
            Machine::Build(build) => Some(build.open_gate()),
            Machine::Research(_) => None,
        }
    }

    /// A person's answer to the open gate; `None` where the kind has none.
    pub(super) fn answer_gate(&mut self, rejected: Option<&str>, context: &Context<'_>) -> Option<Decision> {
        match (self, rejected) {
            (Machine::Build(build), None) => Some(build.accept(context)),
            (Machine::Build(build), Some(reason)) => Some(build.reject(reason)),
            (Machine::Research(_), _) => None,
        }
    }

    /// Told once, when the task has become final.
    pub(super) fn ended(
        &mut self,
        end: Status,
        reason: Option<&str>,
        context: &Context<'_>,
        notes: &mut Notes,
    ) -> Report {
        match self {
            Machine::Build(build) => Report { markdown: report(build, end, reason, context), result: None },
            Machine::Research(research) => {
                let result = result_of(research, end, reason, context);
                research.ended(&result, notes);
                let value = serde_json::to_value(&result).expect("text, numbers and lists are JSON");
                Report { markdown: markdown(&result), result: Some(value) }
            }
        }
    }
}

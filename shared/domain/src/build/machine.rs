//! The phases of a build and which feature has its turn.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Feature, FeatureStatus, Project};
use crate::state::{Context, Decision};
use crate::{CommitId, Event, FeatureId, JobResult, JobSpec, Limits, SessionOutcome, SessionReport};

/// How many of the latest session lengths are kept for the median.
pub const RECENT_SESSIONS: usize = 25;

/// Sessions in a row that change nothing before another feature has its turn.
const UNCHANGED_BEFORE_ROTATION: u32 = 3;

/// Verifications that reopen features before a person should look.
const MAX_VERIFICATIONS: u32 = 5;

/// The state of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Where it is.
    pub phase: Phase,
    /// Whether a person has to accept the feature list.
    pub approve: bool,
    /// Gates opened so far.
    pub gates: u32,
    /// Set by the Initializer.
    pub project: Option<Project>,
    /// The true feature list, in the order of work.
    pub features: Vec<Feature>,
    /// The commit that the project's branch points at.
    pub head: Option<CommitId>,
    /// The Initializer's commit.
    pub first_commit: Option<CommitId>,
    /// Coding sessions so far.
    pub sessions: u32,
    /// Verifications so far.
    pub verifications: u32,
    /// Lengths of the latest sessions, in milliseconds.
    pub recent_session_ms: Vec<i64>,
}

/// The phases inside `running`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing has happened.
    Pending,
    /// The Initializer works.
    Initializing,
    /// A coding session works on one feature.
    Coding {
        /// The feature.
        feature: FeatureId,
        /// The attempt on it, from 1.
        attempt: u32,
    },
    /// All features pass; their tests run from a fresh clone.
    Verifying,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Pending => f.write_str("PENDING"),
            Phase::Initializing => f.write_str("INITIALIZING"),
            Phase::Coding { feature, .. } => write!(f, "CODING {feature}"),
            Phase::Verifying => f.write_str("VERIFYING"),
        }
    }
}

impl Build {
    /// A build that has not started. With `approve`, a person accepts the feature list first.
    pub fn new(approve: bool) -> Self {
        Self {
            phase: Phase::Pending,
            approve,
            gates: 0,
            project: None,
            features: Vec::new(),
            head: None,
            first_commit: None,
            sessions: 0,
            verifications: 0,
            recent_session_ms: Vec::new(),
        }
    }

    /// Features that are proven, and all.
    pub fn progress(&self) -> (usize, usize) {
        (self.features.iter().filter(|feature| feature.passes()).count(), self.features.len())
    }

    /// The feature with this id.
    pub fn feature(&self, id: &FeatureId) -> Option<&Feature> {
        self.features.iter().find(|feature| &feature.id == id)
    }

    pub(crate) fn start(&mut self) -> Decision {
        self.phase = Phase::Initializing;
        Decision::Jobs(vec![JobSpec::Initialize { revision: None }])
    }

    /// Takes a result into the registry. Also done while the task is stopping, so that no proof is lost.
    ///
    /// # Errors
    /// A result that does not belong to its job.
    pub(crate) fn record(
        &mut self,
        spec: &JobSpec,
        result: &JobResult,
        limits: &Limits,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        match (spec, result) {
            (JobSpec::Initialize { .. }, JobResult::Initialized(made)) => {
                let count = made.features.len();
                if count < limits.min_features as usize {
                    return Err(format!("{count} features, at least {} are wanted", limits.min_features));
                }
                self.features = (1..)
                    .zip(&made.features)
                    .map(|(place, draft)| Feature::new(FeatureId::numbered(place), draft.clone()))
                    .collect();
                self.project = Some(made.project.clone());
                self.head = Some(made.head.clone());
                self.first_commit = Some(made.head.clone());
                events.push(Event::FeaturesRegistered { count: count as u32 });
                Ok(())
            }
            (JobSpec::Code { feature, attempt, .. }, JobResult::Session(report)) if *feature == report.feature => {
                self.head = Some(report.head.clone());
                self.recent_session_ms.push(report.duration_ms);
                if self.recent_session_ms.len() > RECENT_SESSIONS {
                    self.recent_session_ms.remove(0);
                }
                self.record_session(spec, report, *attempt, limits, events)
            }
            (JobSpec::Verify { .. }, JobResult::Verified(verified)) => {
                for failure in &verified.failing {
                    let Some(feature) = self.features.iter_mut().find(|f| f.id == failure.feature) else {
                        return Err(format!("there is no feature {}", failure.feature));
                    };
                    feature.status = FeatureStatus::Waiting;
                    feature.reopened += 1;
                    feature.failures_in_row = 0;
                    feature.last_failure = Some(failure.reason.clone());
                    events.push(Event::FeatureReopened {
                        feature: failure.feature.clone(),
                        reason: failure.reason.clone(),
                    });
                }
                Ok(())
            }
            _ => Err(format!("the result does not belong to a job of kind {}", spec.kind())),
        }
    }

    fn record_session(
        &mut self,
        spec: &JobSpec,
        report: &SessionReport,
        attempt: u32,
        limits: &Limits,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        let id = report.feature.clone();
        let Some(feature) = self.features.iter_mut().find(|feature| feature.id == id) else {
            return Err(format!("there is no feature {id}"));
        };
        feature.unchanged_in_row = if report.changed { 0 } else { feature.unchanged_in_row + 1 };
        let commit = report.head.clone();
        match &report.outcome {
            SessionOutcome::Passed => {
                feature.status = FeatureStatus::Passed { commit: commit.clone(), already: false };
                feature.last_failure = None;
                events.push(Event::FeaturePassed { feature: id, attempt, commit });
            }
            SessionOutcome::AlreadySatisfied => {
                feature.status = FeatureStatus::Passed { commit: commit.clone(), already: true };
                feature.last_failure = None;
                events.push(Event::FeatureAlreadySatisfied { feature: id, commit });
            }
            SessionOutcome::HandedOver => events.push(Event::SessionHandedOver { feature: id }),
            SessionOutcome::Failed { reason } => self.attempt_failed(spec, reason, limits, events),
        }
        Ok(())
    }

    /// Counts an attempt, and blocks the feature or gives others their turn where the limits say so.
    pub(crate) fn attempt_failed(
        &mut self,
        spec: &JobSpec,
        reason: &str,
        limits: &Limits,
        events: &mut Vec<Event>,
    ) {
        let JobSpec::Code { feature: id, .. } = spec else { return };
        let Some(feature) = self.features.iter_mut().find(|feature| &feature.id == id) else { return };
        feature.attempts += 1;
        feature.failures_in_row += 1;
        feature.last_failure = Some(reason.to_owned());
        let attempts = feature.attempts;
        events.push(Event::AttemptFailed { feature: id.clone(), attempt: attempts, reason: reason.to_owned() });
        if attempts >= limits.max_attempts {
            feature.status = FeatureStatus::Blocked;
            events.push(Event::FeatureBlocked { feature: id.clone(), attempts });
        } else if feature.failures_in_row >= limits.rotate_after
            || feature.unchanged_in_row >= UNCHANGED_BEFORE_ROTATION
        {
            feature.failures_in_row = 0;
            feature.unchanged_in_row = 0;
            feature.rotations += 1;
            events.push(Event::FeatureRotated { feature: id.clone(), attempts });
        }
    }

    /// What follows from a result that has been recorded.
    pub(crate) fn after(
        &mut self,
        spec: &JobSpec,
        result: &JobResult,
        context: &Context<'_>,
        retries: u32,
        events: &mut Vec<Event>,
    ) -> Decision {
        let _ = events;
        match (spec, result) {
            (JobSpec::Initialize { .. }, _) if self.approve => Decision::AskHuman,
            (JobSpec::Verify { .. }, JobResult::Verified(verified)) if verified.failing.is_empty() => {
                Decision::Complete
            }
            _ => self.next_session(context, retries),
        }
    }

    /// The next coding session, the verification, or the end.
    pub(crate) fn next_session(&mut self, context: &Context<'_>, retries: u32) -> Decision {
        let allowance = u64::from(retries) + 1;
        let limits = context.limits;
        let Some(head) = self.head.clone() else {
            return Decision::Fail("the project has no first commit".to_owned());
        };
        let turn = self
            .features
            .iter()
            .filter(|feature| feature.status == FeatureStatus::Waiting)
            .min_by_key(|feature| feature.rotations);
        let Some(feature) = turn else {
            return self.verify_or_stop(head, allowance);
        };
        if u64::from(self.sessions) >= u64::from(limits.max_sessions) * allowance {
            return Decision::NeedsReview(format!("the limit of {} sessions is reached", limits.max_sessions));
        }
        if limits.max_tokens > 0 && context.facts.spent.tokens() >= limits.max_tokens * allowance {
            return Decision::NeedsReview(format!("the limit of {} tokens is reached", limits.max_tokens));
        }
        if let (Some(deadline), 0) = (context.deadline, retries) {
            let left = deadline.0 - context.now.0;
            if left < self.median_session_ms() {
                return Decision::NeedsReview("the deadline is closer than a session takes".to_owned());
            }
        }
        let (feature, attempt) = (feature.id.clone(), feature.attempts + 1);
        self.sessions += 1;
        self.phase = Phase::Coding { feature: feature.clone(), attempt };
        Decision::Jobs(vec![JobSpec::Code { feature, session: self.sessions, attempt, base: head }])
    }

    fn verify_or_stop(&mut self, head: CommitId, allowance: u64) -> Decision {
        let blocked: Vec<&str> =
            self.features.iter().filter(|feature| !feature.passes()).map(|feature| feature.id.as_str()).collect();
        if !blocked.is_empty() {
            return Decision::NeedsReview(format!("blocked: {}", blocked.join(", ")));
        }
        if u64::from(self.verifications) >= u64::from(MAX_VERIFICATIONS) * allowance {
            return Decision::NeedsReview(format!(
                "{MAX_VERIFICATIONS} verifications found features that had passed broken again"
            ));
        }
        self.verifications += 1;
        self.phase = Phase::Verifying;
        Decision::Jobs(vec![JobSpec::Verify { head }])
    }

    fn median_session_ms(&self) -> i64 {
        let mut lengths = self.recent_session_ms.clone();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).copied().unwrap_or(0)
    }

    pub(crate) fn open_gate(&mut self) -> u32 {
        self.gates += 1;
        self.gates
    }

    /// One revision by the agent; a second rejection ends the task.
    pub(crate) fn rejected(&mut self, reason: &str) -> Decision {
        if self.gates >= 2 {
            return Decision::Fail(format!("the feature list was rejected twice: {reason}"));
        }
        self.phase = Phase::Initializing;
        Decision::Jobs(vec![JobSpec::Initialize { revision: Some(reason.to_owned()) }])
    }

    /// A retry gives blocked features their attempts back.
    pub(crate) fn grant(&mut self) {
        for feature in &mut self.features {
            if feature.status == FeatureStatus::Blocked {
                feature.status = FeatureStatus::Waiting;
                feature.attempts = 0;
                feature.failures_in_row = 0;
                feature.unchanged_in_row = 0;
                feature.rotations = 0;
            }
        }
    }

    /// Goes on after a retry that had no job to make ready again.
    pub(crate) fn resume(&mut self, context: &Context<'_>, retries: u32) -> Decision {
        if self.head.is_some() {
            self.next_session(context, retries)
        } else {
            self.phase = Phase::Initializing;
            Decision::Jobs(vec![JobSpec::Initialize { revision: None }])
        }
    }
}

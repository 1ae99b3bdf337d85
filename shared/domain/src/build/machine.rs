//! The state of a build, and how the results of its jobs change the registry. What follows from them is decided
//! in `turns`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::turns::Granted;
use super::{Feature, FeatureStatus, Project};
use crate::{
    CommitId, Event, FeatureId, Initialized, JobResult, JobSpec, Limits, SessionOutcome, SessionReport,
    Verified,
};

/// How many of the latest session lengths are kept for the median.
pub const RECENT_SESSIONS: usize = 25;

/// Sessions in a row that change nothing before another feature has its turn.
const UNCHANGED_BEFORE_ROTATION: u32 = 3;

/// The state of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Where it is.
    pub phase: Phase,
    /// Whether a person has to accept the feature list.
    pub approve: bool,
    /// Coding may start: a person has accepted the feature list, or nobody has to.
    pub accepted: bool,
    /// What a person wants different, until the Initializer has proposed again.
    pub revision: Option<String>,
    /// Rejections since the task started or was last retried.
    pub rejections: u32,
    /// Gates opened so far; the open one has this number.
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
    /// What retries have granted.
    pub granted: Granted,
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
            accepted: !approve,
            revision: None,
            rejections: 0,
            gates: 0,
            project: None,
            features: Vec::new(),
            head: None,
            first_commit: None,
            sessions: 0,
            verifications: 0,
            recent_session_ms: Vec::new(),
            granted: Granted::default(),
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

    /// Takes a result into the registry. Also done while the task is stopping, so that no proof is lost.
    ///
    /// # Errors
    /// A result that does not belong to its job; then nothing has changed.
    pub(crate) fn record(
        &mut self,
        spec: &JobSpec,
        result: &JobResult,
        limits: &Limits,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        match (spec, result) {
            (JobSpec::Initialize { .. }, JobResult::Initialized(made)) => self.register(made, limits, events),
            (JobSpec::Code { feature, attempt, .. }, JobResult::Session(report))
                if *feature == report.feature =>
            {
                self.record_session(report, *attempt, limits, events)
            }
            (JobSpec::Verify { .. }, JobResult::Verified(verified)) => self.reopen(verified, events),
            _ => Err(format!("the result does not belong to a job of kind {}", spec.kind())),
        }
    }

    fn register(
        &mut self,
        made: &Initialized,
        limits: &Limits,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
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
        self.revision = None;
        events.push(Event::FeaturesRegistered { count: u32::try_from(count).unwrap_or(u32::MAX) });
        Ok(())
    }

    fn reopen(&mut self, verified: &Verified, events: &mut Vec<Event>) -> Result<(), String> {
        if let Some(unknown) =
            verified.failing.iter().find(|failure| self.feature(&failure.feature).is_none())
        {
            return Err(format!("there is no feature {}", unknown.feature));
        }
        for failure in &verified.failing {
            let broken = |feature: &&mut Feature| feature.id == failure.feature && feature.passes();
            let Some(feature) = self.features.iter_mut().find(broken) else { continue };
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

    fn record_session(
        &mut self,
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
            SessionOutcome::HandedOver => {
                events.push(Event::SessionHandedOver { feature: id });
                rotate_if_due(feature, limits, events);
            }
            SessionOutcome::Failed { reason } => count_attempt(feature, reason, limits, events),
        }
        self.head = Some(report.head.clone());
        self.recent_session_ms.push(report.duration_ms);
        if self.recent_session_ms.len() > RECENT_SESSIONS {
            self.recent_session_ms.remove(0);
        }
        Ok(())
    }

    /// A coding session that ended without a verdict of its gate: a failed attempt, nothing else changes.
    pub(crate) fn attempt_failed(
        &mut self,
        feature: &FeatureId,
        reason: &str,
        limits: &Limits,
        events: &mut Vec<Event>,
    ) {
        if let Some(feature) = self.features.iter_mut().find(|known| &known.id == feature) {
            count_attempt(feature, reason, limits, events);
        }
    }
}

/// Counts an attempt, and blocks the feature or gives others their turn where the limits say so.
fn count_attempt(feature: &mut Feature, reason: &str, limits: &Limits, events: &mut Vec<Event>) {
    feature.attempts += 1;
    feature.failures_in_row += 1;
    feature.last_failure = Some(reason.to_owned());
    let (id, attempts) = (feature.id.clone(), feature.attempts);
    events.push(Event::AttemptFailed { feature: id.clone(), attempt: attempts, reason: reason.to_owned() });
    if attempts >= limits.max_attempts {
        feature.status = FeatureStatus::Blocked;
        events.push(Event::FeatureBlocked { feature: id, attempts });
    } else {
        rotate_if_due(feature, limits, events);
    }
}

/// Lets the other features go first after too many failures, or sessions without a change, in a row.
fn rotate_if_due(feature: &mut Feature, limits: &Limits, events: &mut Vec<Event>) {
    if feature.failures_in_row >= limits.rotate_after || feature.unchanged_in_row >= UNCHANGED_BEFORE_ROTATION
    {
        feature.failures_in_row = 0;
        feature.unchanged_in_row = 0;
        feature.rotations += 1;
        events.push(Event::FeatureRotated { feature: feature.id.clone(), attempts: feature.attempts });
    }
}

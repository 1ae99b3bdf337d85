//! What a build does next: which feature has its turn, when it is verified, when work stops, what a retry grants.

use serde::{Deserialize, Serialize};

use super::{Build, FeatureStatus, Phase};
use crate::state::{Context, Decision};
use crate::{CommitId, JobResult, JobSpec};

/// Verifications that reopen features before a person should look.
const MAX_VERIFICATIONS: u32 = 5;

/// Rejections of the feature list that end the task.
const MAX_REJECTIONS: u32 = 2;

/// What retries have granted. A limit that stopped the task counts anew from the retry; the others go on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Granted {
    /// Sessions that no longer count against `max_sessions`.
    pub sessions: u32,
    /// Verifications that no longer count against their limit.
    pub verifications: u32,
    /// Tokens that no longer count against `max_tokens`.
    pub tokens: u64,
    /// The deadline does not hold any more.
    pub deadline_waived: bool,
}

impl Build {
    /// The first job of all.
    pub(crate) fn start(&mut self) -> Decision {
        self.initialize()
    }

    /// What follows from a result that has been recorded.
    pub(crate) fn after(&mut self, spec: &JobSpec, result: &JobResult, context: &Context<'_>) -> Decision {
        match (spec, result) {
            (JobSpec::Initialize { .. }, _) if !self.accepted => Decision::AskHuman,
            (JobSpec::Verify { .. }, JobResult::Verified(verified)) if verified.failing.is_empty() => {
                Decision::Complete
            }
            _ => self.next_session(context),
        }
    }

    /// The next coding session, the verification, or the end.
    pub(crate) fn next_session(&mut self, context: &Context<'_>) -> Decision {
        let Some(head) = self.head.clone() else {
            return Decision::Fail("the project has no first commit".to_owned());
        };
        let turn = self
            .features
            .iter()
            .filter(|feature| feature.status == FeatureStatus::Waiting)
            .min_by_key(|feature| feature.rotations);
        let Some(feature) = turn else {
            return self.verify_or_stop(head);
        };
        if let Some(reason) = self.used_up(context) {
            return Decision::NeedsReview(reason);
        }
        let (feature, attempt) = (feature.id.clone(), feature.attempts + 1);
        self.sessions += 1;
        self.phase = Phase::Coding { feature: feature.clone(), attempt };
        Decision::Jobs(vec![JobSpec::Code { feature, session: self.sessions, attempt, base: head }])
    }

    fn verify_or_stop(&mut self, head: CommitId) -> Decision {
        let blocked: Vec<&str> = self
            .features
            .iter()
            .filter(|feature| !feature.passes())
            .map(|feature| feature.id.as_str())
            .collect();
        if !blocked.is_empty() {
            return Decision::NeedsReview(format!("blocked: {}", blocked.join(", ")));
        }
        if self.verifications_used_up() {
            return Decision::NeedsReview(format!(
                "{MAX_VERIFICATIONS} verifications found features that had passed broken again"
            ));
        }
        self.verifications += 1;
        self.phase = Phase::Verifying;
        Decision::Jobs(vec![JobSpec::Verify { head }])
    }

    /// The limit that no further session may start under.
    fn used_up(&self, context: &Context<'_>) -> Option<String> {
        let limits = context.limits;
        if self.sessions_used_up(context) {
            Some(format!("the limit of {} sessions is reached", limits.max_sessions))
        } else if self.tokens_used_up(context) {
            Some(format!("the limit of {} tokens is reached", limits.max_tokens))
        } else if !self.granted.deadline_waived && self.deadline_is_near(context) {
            Some("the deadline is closer than a session takes".to_owned())
        } else {
            None
        }
    }

    fn sessions_used_up(&self, context: &Context<'_>) -> bool {
        self.sessions.saturating_sub(self.granted.sessions) >= context.limits.max_sessions
    }

    fn tokens_used_up(&self, context: &Context<'_>) -> bool {
        let counted = context.facts.spent.tokens().saturating_sub(self.granted.tokens);
        context.limits.max_tokens > 0 && counted >= context.limits.max_tokens
    }

    fn verifications_used_up(&self) -> bool {
        self.verifications.saturating_sub(self.granted.verifications) >= MAX_VERIFICATIONS
    }

    fn deadline_is_near(&self, context: &Context<'_>) -> bool {
        context.deadline.is_some_and(|deadline| {
            let left = deadline.since(context.now);
            left == 0 || left < self.median_session_ms()
        })
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

    pub(crate) fn accept(&mut self, context: &Context<'_>) -> Decision {
        self.accepted = true;
        self.next_session(context)
    }

    /// One revision by the agent; a second rejection ends the task.
    pub(crate) fn reject(&mut self, reason: &str) -> Decision {
        self.rejections += 1;
        self.revision = Some(reason.to_owned());
        if self.rejections >= MAX_REJECTIONS {
            return Decision::Fail(format!("the feature list was rejected twice: {reason}"));
        }
        self.initialize()
    }

    /// A retry counts the limits that are used up anew, and gives blocked features their attempts back.
    pub(crate) fn grant(&mut self, context: &Context<'_>) {
        if self.sessions_used_up(context) {
            self.granted.sessions = self.sessions;
        }
        if self.tokens_used_up(context) {
            self.granted.tokens = context.facts.spent.tokens();
        }
        if self.verifications_used_up() {
            self.granted.verifications = self.verifications;
        }
        self.granted.deadline_waived |= self.deadline_is_near(context);
        self.rejections = 0;
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
    pub(crate) fn resume(&mut self, context: &Context<'_>) -> Decision {
        if self.head.is_none() || self.revision.is_some() {
            self.initialize()
        } else if self.accepted {
            self.next_session(context)
        } else {
            Decision::AskHuman
        }
    }

    fn initialize(&mut self) -> Decision {
        self.phase = Phase::Initializing;
        Decision::Jobs(vec![JobSpec::Initialize { revision: self.revision.clone() }])
    }
}

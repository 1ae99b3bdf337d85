//! The task's log: numbered from 1 without gaps, written in the transaction that it describes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::research::Confidence;
use crate::fault::FaultClass;
use crate::research::{FindingId, Level};
use crate::{Agent, CommitId, FeatureId, Fence, JobNo, Kind, Status};

/// One entry of a task's log. Serialised as `{"type": …, "data": {…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the variants and their fields are the documentation of the log")]
pub enum Event {
    // Written when the objective is accepted: number 1 of every task.
    TaskSubmitted { kind: Kind },
    // Written by transitions.
    StatusChanged { from: Status, to: Status },
    PhaseChanged { from: String, to: String },
    JobCreated { job: JobNo, kind: String, feature: Option<FeatureId> },
    FeaturesRegistered { count: u32 },
    FeaturePassed { feature: FeatureId, attempt: u32, commit: CommitId },
    FeatureAlreadySatisfied { feature: FeatureId, commit: CommitId },
    AttemptFailed { feature: FeatureId, attempt: u32, reason: String },
    SessionHandedOver { feature: FeatureId },
    FeatureRotated { feature: FeatureId, attempts: u32 },
    FeatureBlocked { feature: FeatureId, attempts: u32 },
    FeatureReopened { feature: FeatureId, reason: String },
    GateOpened { gate: u32 },
    GateAnswered { gate: u32, approved: bool, by: String },
    TaskStopping { reason: String },
    RetryAccepted { by: String, jobs: Vec<JobNo> },
    InputIgnored { input: String, reason: String },
    IllegalInput { input: String, reason: String },
    // Written by transitions of research tasks.
    ManagerPlanned { job: JobNo, iteration: u32, subtasks: Vec<u32> },
    ManagerReassignedTask { job: JobNo, iteration: u32, subtasks: Vec<u32> },
    ManagerRequestedReview { job: Option<JobNo>, iteration: u32 },
    ManagerCompleted { job: Option<JobNo>, iteration: u32 },
    ManagerGaveUp { job: JobNo, iteration: u32, reason: String },
    ManagerActionRejected { job: JobNo, iteration: u32, action: String, reason: String, in_row: u32 },
    FindingCreated { job: JobNo, finding: FindingId, title: String, level: Level, confidence: Confidence },
    ResearchReported { job: JobNo, subtask: u32, findings: u32, uncertainties: u32 },
    ResearchBlocked { job: JobNo, subtask: u32, reason: String },
    CriticApproved { job: JobNo, review: u32 },
    CriticRequestedMoreWork { job: JobNo, review: u32, issues: u32, requests: u32 },
    SynthesisWritten { job: JobNo, key_findings: u32 },
    AgentFailed { job: JobNo, agent: Agent, reason: String, in_row: u32 },
    LimitReached { limit: String, reason: String },
    TaskCompleted { key_findings: u32 },
    // Written with a step of a claim, so once however often the job is claimed.
    AgentStarted { job: JobNo, agent: Agent, subject: String },
    ToolCalled { job: JobNo, tool: String, subject: String, outcome: String },
    AgentRetry { job: JobNo, agent: Agent, reasks: u32 },
    // Written with a claim's fence.
    JobClaimed { job: JobNo, fence: Fence, worker: String },
    JobDone { job: JobNo },
    JobFault { job: JobNo, class: FaultClass, faults: u32, reason: String },
    JobFailed { job: JobNo, class: FaultClass, reason: String },
    JobDied { job: JobNo, reason: String },
    JobCancelled { job: JobNo },
    // Recovery: these may differ between two runs of the same work.
    JobHandedBack { job: JobNo, fence: Fence, reason: String },
    LeaseExpired { job: JobNo, fence: Fence, worker_gone: bool },
    JournalCut { job: JobNo, from_step: u32, reason: String },
    // Written by people through the api.
    PauseChanged { paused: bool, by: String },
    DeadLetterDropped { job: JobNo, by: String },
}

impl Event {
    /// The `type` as it stands in the log.
    pub fn type_name(&self) -> String {
        self.parts().0
    }

    /// `type` and `data`, as the two columns of the log.
    pub fn parts(&self) -> (String, Value) {
        let mut object = match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            other => unreachable!("an event is an object, not {other:?}"),
        };
        let data = object.remove("data").unwrap_or(Value::Null);
        let type_name = object.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        (type_name, data)
    }

    /// Whether the entry tells of a recovery: a second claim, a lost lease, work handed back.
    ///
    /// Two runs of the same work, one of them interrupted, have logs that are equal without these.
    pub fn is_recovery(&self) -> bool {
        match self {
            Event::JobHandedBack { .. } | Event::LeaseExpired { .. } | Event::JournalCut { .. } => true,
            Event::JobClaimed { fence, .. } => fence.0 > 1,
            _ => false,
        }
    }
}

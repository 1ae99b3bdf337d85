//! What the agents of a research task can say, one answer of each sort.

use crate::contract::research::{
    Assignment, Confidence, CriticReview, FindingVerdict, Issue, IssueKind, ManagerAction, ManagerDecision,
    ReportStatus, ReviewDecision, Severity, Verdict,
};
use crate::research::{Finding, GroundedFinding, GroundedReport, GroundedSynthesis, Level, Research};
use crate::{JobResult, JobSpec};

/// Takes out what decides no transition, so that states that go on alike are one.
pub(super) fn forget_words(research: &mut Research) {
    research.recent.clear();
    research.messages = 0;
    research.uncertainties.clear();
    for subtask in &mut research.subtasks {
        subtask.outcome = None;
    }
}

/// One result of every sort that a job can give.
pub(super) fn results(research: &Research, spec: &JobSpec) -> Vec<JobResult> {
    let working_ms = 0;
    let mut results = match spec {
        JobSpec::Manage { .. } => [
            ManagerAction::AssignResearch,
            ManagerAction::RequestReview,
            ManagerAction::Complete,
            ManagerAction::Fail,
        ]
        .into_iter()
        .map(|action| JobResult::Decided { decision: decision(research, action), working_ms })
        .collect(),
        JobSpec::Research { .. } => [ReportStatus::Completed, ReportStatus::Blocked]
            .into_iter()
            .map(|status| JobResult::Researched { report: report(status), working_ms })
            .collect(),
        JobSpec::Review { .. } => [ReviewDecision::Approved, ReviewDecision::NeedsMoreWork]
            .into_iter()
            .map(|decision| JobResult::Reviewed {
                review: review(research, decision),
                shown: research.unreviewed().map(|finding| finding.id.clone()).collect(),
                working_ms,
            })
            .collect(),
        JobSpec::Synthesize { .. } => vec![JobResult::Synthesized { synthesis: synthesis(), working_ms }],
        _ => Vec::new(),
    };
    results.push(JobResult::OutOfTime { working_ms });
    results.push(JobResult::OutOfBudget { working_ms });
    results
}

fn decision(research: &Research, action: ManagerAction) -> ManagerDecision {
    let task = Assignment {
        title: format!("Assignment {}", research.subtasks.len() + 1),
        description: String::new(),
    };
    let tasks = if action == ManagerAction::AssignResearch { vec![task] } else { Vec::new() };
    ManagerDecision { reason: String::new(), action, message: String::new(), tasks, review_focus: None }
}

fn report(status: ReportStatus) -> GroundedReport {
    let finding = GroundedFinding {
        title: String::new(),
        claim: String::new(),
        confidence: Confidence::Low,
        stated_confidence: Confidence::Low,
        level: Level::G3,
        evidence: Vec::new(),
        notes: Vec::new(),
        is_demo: false,
    };
    let blocked = status == ReportStatus::Blocked;
    GroundedReport {
        status,
        summary: String::new(),
        findings: if blocked { Vec::new() } else { vec![finding] },
        uncertainties: Vec::new(),
        blocked_reason: blocked.then(String::new),
        new_sources: u32::from(!blocked),
    }
}

fn review(research: &Research, decision: ReviewDecision) -> CriticReview {
    let verdict = |finding: &Finding| FindingVerdict {
        finding_id: finding.id.0.clone(),
        note: String::new(),
        verdict: Verdict::Supported,
    };
    let issue =
        Issue { kind: IssueKind::MissingInformation, description: String::new(), severity: Severity::High };
    let issues = if decision == ReviewDecision::Approved { Vec::new() } else { vec![issue] };
    CriticReview {
        summary: String::new(),
        verdicts: research.unreviewed().map(verdict).collect(),
        issues,
        requested_research: Vec::new(),
        decision,
    }
}

fn synthesis() -> GroundedSynthesis {
    GroundedSynthesis {
        summary: String::new(),
        key_findings: Vec::new(),
        uncertainties: Vec::new(),
        recommendations: Vec::new(),
        conclusion: String::new(),
        confidence: Confidence::Low,
    }
}

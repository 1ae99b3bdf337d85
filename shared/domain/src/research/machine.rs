//! The state of a research task, and how results change the shared workspace. What follows from them is decided in
//! `turns`; which decisions of the Manager are taken, in `guard`.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::bounds::{
    MAX_ITEMS, MAX_TEXT, MAX_TITLE, answer, assignment as clipped_assignment, finding as bounded, within,
};
use super::outside::clipped;
use super::turns::Granted;
use super::{
    DecisionRecord, Finding, FindingId, GroundedReport, GroundedSynthesis, Message, MessageType, Origin,
    Party, Phase, Record, ResearchResult, Review, Subtask, SubtaskStatus, Uncertainty,
};
use crate::contract::research::{Assignment, CriticReview, ManagerDecision, ReportStatus, ReviewDecision};
use crate::state::Notes;
use crate::{Event, JobNo, JobResult, JobSpec, Limits};

/// Messages that are kept in the state for the agents' views; all of them are rows.
const RECENT_MESSAGES: usize = 8;

/// The state of a research task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Research {
    /// Where it is.
    pub phase: Phase,
    /// Decisions of the Manager so far, failed and forced ones included.
    pub iteration: u32,
    /// Rounds of assignments so far.
    pub round: u32,
    /// Agent runs so far.
    pub agent_calls: u32,
    /// Agent runs that failed in a row.
    pub failed_in_row: u32,
    /// Decisions that were rejected in a row.
    pub rejected_in_row: u32,
    /// The last decision, if it was rejected: the Manager is told why.
    pub rejection: Option<Rejection>,
    /// Working time of what is over, in milliseconds; of jobs that ran side by side, the longest.
    pub working_ms: i64,
    /// The longest job of the open round.
    pub round_ms: i64,
    /// Sources that the open round was the first to find.
    pub round_sources: u32,
    /// Rounds in a row without a new source.
    pub rounds_without_sources: u32,
    /// Assignments, in the order of creation.
    pub subtasks: Vec<Subtask>,
    /// Findings, by assignment and place.
    pub findings: Vec<Finding>,
    /// What stays open.
    pub uncertainties: Vec<Uncertainty>,
    /// Reviews that were given.
    pub reviews: Vec<Review>,
    /// Reviews that were asked for, failed ones included.
    pub reviews_asked: u32,
    /// What the Manager wants the Critic to look at.
    pub review_focus: Option<String>,
    /// Messages so far.
    pub messages: u32,
    /// The latest of them.
    pub recent: Vec<Message>,
    /// The final answer, grounded.
    pub synthesis: Option<GroundedSynthesis>,
    /// What retries have granted.
    pub granted: Granted,
}

/// A decision that the guard did not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The action's name.
    pub action: String,
    /// Why, and what would be taken.
    pub reason: String,
}

impl Default for Research {
    fn default() -> Self {
        Self::new()
    }
}

impl Research {
    /// A research task that has not started.
    pub fn new() -> Self {
        Self {
            phase: Phase::Pending,
            iteration: 0,
            round: 0,
            agent_calls: 0,
            failed_in_row: 0,
            rejected_in_row: 0,
            rejection: None,
            working_ms: 0,
            round_ms: 0,
            round_sources: 0,
            rounds_without_sources: 0,
            subtasks: Vec::new(),
            findings: Vec::new(),
            uncertainties: Vec::new(),
            reviews: Vec::new(),
            reviews_asked: 0,
            review_focus: None,
            messages: 0,
            recent: Vec::new(),
            synthesis: None,
            granted: Granted::default(),
        }
    }

    /// The assignment with this number.
    pub fn subtask(&self, number: u32) -> Option<&Subtask> {
        self.subtasks.iter().find(|subtask| subtask.number == number)
    }

    /// The findings that no review has seen.
    pub fn unreviewed(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.reviewed_in.is_none())
    }

    /// Whether there is something that the Critic has not seen: a finding, or an assignment that ended without one after
    /// work was sent back. What was searched for in vain changes what can still be asked for.
    pub fn has_news(&self) -> bool {
        let Some(latest) = self.reviews.last() else { return self.unreviewed().next().is_some() };
        let ended =
            |subtask: &Subtask| subtask.round > latest.round && subtask.status != SubtaskStatus::Assigned;
        let sent_back = latest.decision == ReviewDecision::NeedsMoreWork;
        self.unreviewed().next().is_some() || sent_back && self.subtasks.iter().any(ended)
    }

    /// Whether the latest review is APPROVED and no finding came after it.
    pub fn approved(&self) -> bool {
        let latest = self.reviews.last().map(|review| review.decision);
        latest == Some(ReviewDecision::Approved) && self.unreviewed().next().is_none()
    }

    /// Assignments whose researchers are at work.
    pub fn open_assignments(&self) -> usize {
        self.subtasks.iter().filter(|subtask| subtask.status == SubtaskStatus::Assigned).count()
    }

    /// Takes a result into the workspace. Also done while the task is stopping, so that nothing found is lost.
    ///
    /// # Errors
    /// A result that does not belong to its job; then nothing has changed.
    pub(crate) fn record(
        &mut self,
        job: JobNo,
        spec: &JobSpec,
        result: &JobResult,
        notes: &mut Notes,
    ) -> Result<(), String> {
        match (spec, result) {
            (JobSpec::Manage { .. }, JobResult::Decided { working_ms, .. })
            | (JobSpec::Synthesize { .. }, JobResult::Synthesized { working_ms, .. }) => {
                if let JobResult::Synthesized { synthesis, .. } = result {
                    let key_findings = count(synthesis.key_findings.len().min(MAX_ITEMS));
                    notes.events.push(Event::SynthesisWritten { job, key_findings });
                    self.synthesis = Some(answer(synthesis));
                }
                self.working_ms += working_ms;
            }
            (JobSpec::Review { .. }, JobResult::Reviewed { review, shown, working_ms }) => {
                self.working_ms += working_ms;
                self.record_review(job, review, shown, notes);
            }
            (JobSpec::Research { subtask, .. }, JobResult::Researched { report, working_ms }) => {
                self.record_report(job, *subtask, report, notes)?;
                self.worked_in_round(*working_ms);
            }
            (
                JobSpec::Research { subtask, .. },
                JobResult::OutOfTime { working_ms } | JobResult::OutOfBudget { working_ms },
            ) => {
                let why = match result {
                    JobResult::OutOfTime { .. } => "the task's working time was over",
                    _ => "the task's model calls or tokens were used up",
                };
                let why = why.to_owned();
                self.end_subtask(*subtask, SubtaskStatus::Failed, why, notes)?;
                self.worked_in_round(*working_ms);
                return Ok(());
            }
            (
                JobSpec::Manage { .. } | JobSpec::Review { .. } | JobSpec::Synthesize { .. },
                JobResult::OutOfTime { working_ms } | JobResult::OutOfBudget { working_ms },
            ) => {
                self.working_ms += working_ms;
                return Ok(());
            }
            _ => return Err(format!("the result does not belong to a job of kind {}", spec.kind())),
        }
        self.failed_in_row = 0;
        Ok(())
    }

    /// An agent run that ended without a result.
    pub(crate) fn agent_failed(
        &mut self,
        job: JobNo,
        spec: &JobSpec,
        reason: &str,
        model_ms: i64,
        limits: &Limits,
        notes: &mut Notes,
    ) {
        self.failed_in_row += 1;
        if matches!(spec, JobSpec::Research { .. }) {
            self.worked_in_round(model_ms);
        } else {
            self.working_ms += model_ms;
        }
        let (agent, in_row) = (spec.agent(), self.failed_in_row);
        let reason = clipped(reason, MAX_TEXT);
        if let JobSpec::Research { subtask, .. } = spec {
            // Of a job that ended, the assignment is there; that it is not would be told by `record`.
            let _ = self.end_subtask(*subtask, SubtaskStatus::Failed, reason.clone(), notes);
        }
        notes.events.push(Event::AgentFailed { job, agent, reason: reason.clone(), in_row });
        let said = format!("The {agent} failed ({in_row} of {} in a row).", limits.max_failures_in_row);
        let metadata = json!({ "job": job, "agent": agent });
        self.say(
            Party::System,
            Party::Manager,
            MessageType::AgentFailed,
            said,
            Some(reason),
            metadata,
            notes,
        );
    }

    /// An assignment whose job a retry leaves where it ended: nobody waits for it any more.
    pub(crate) fn left_behind(&mut self, spec: &JobSpec, notes: &mut Notes) {
        if let JobSpec::Research { subtask, .. } = spec {
            let why = "a retry began with a later job".to_owned();
            let _ = self.end_subtask(*subtask, SubtaskStatus::Failed, why, notes);
        }
    }

    fn worked_in_round(&mut self, working_ms: i64) {
        self.round_ms = self.round_ms.max(working_ms);
    }

    fn record_report(
        &mut self,
        job: JobNo,
        number: u32,
        report: &GroundedReport,
        notes: &mut Notes,
    ) -> Result<(), String> {
        let summary = clipped(&report.summary, MAX_TEXT);
        let blocked = report.status == ReportStatus::Blocked;
        let reason = report.blocked_reason.as_deref().map(|reason| clipped(reason, MAX_TEXT));
        let (status, outcome) = match &reason {
            Some(reason) if blocked => (SubtaskStatus::Blocked, reason.clone()),
            _ => (SubtaskStatus::Completed, summary.clone()),
        };
        self.end_subtask(number, status, outcome, notes)?;
        self.round_sources += report.new_sources;
        let mut ids = Vec::new();
        for (place, grounded) in (1..).zip(report.findings.iter().take(MAX_ITEMS)) {
            let id = FindingId::new(number, place);
            notes.events.push(Event::FindingCreated {
                job,
                finding: id.clone(),
                title: clipped(&grounded.title, MAX_TITLE),
                level: grounded.level,
                confidence: grounded.confidence,
            });
            let finding = Finding {
                id: id.clone(),
                subtask: number,
                grounded: bounded(grounded),
                reviewed_in: None,
                verdict: None,
                verdict_note: None,
            };
            notes.records.push(Record::Finding(finding.clone()));
            self.findings.push(finding);
            ids.push(id);
        }
        self.findings.sort_by_key(|finding| finding.subtask);
        let mut open: Vec<&String> = report.uncertainties.iter().take(MAX_ITEMS).collect();
        let beyond = |length: usize| length.saturating_sub(MAX_ITEMS);
        let (findings, questions) = (beyond(report.findings.len()), beyond(report.uncertainties.len()));
        let told = format!(
            "{findings} further findings and {questions} open questions of one report were dropped: it may have \
             {MAX_ITEMS} of each."
        );
        if findings + questions > 0 {
            open.push(&told);
        }
        for text in open.iter().copied() {
            let uncertainty = Uncertainty { subtask: number, text: clipped(text, MAX_TEXT) };
            notes.records.push(Record::Uncertainty(uncertainty.clone()));
            self.uncertainties.push(uncertainty);
        }
        let metadata = json!({ "subtask": number, "findings": ids, "uncertainties": open });
        if blocked {
            let reason = reason.unwrap_or_default();
            notes.events.push(Event::ResearchBlocked { job, subtask: number, reason: reason.clone() });
            let (from, to) = (Party::Researcher, Party::Manager);
            self.say(from, to, MessageType::Blocked, summary, Some(reason), metadata, notes);
        } else {
            let (findings, uncertainties) = (count(ids.len()), count(open.len()));
            notes.events.push(Event::ResearchReported { job, subtask: number, findings, uncertainties });
            let (from, to) = (Party::Researcher, Party::Manager);
            self.say(from, to, MessageType::ResearchResult, summary, None, metadata, notes);
        }
        Ok(())
    }

    fn end_subtask(
        &mut self,
        number: u32,
        status: SubtaskStatus,
        outcome: String,
        notes: &mut Notes,
    ) -> Result<(), String> {
        let subtask = self.subtasks.iter_mut().find(|subtask| subtask.number == number);
        let subtask = subtask.ok_or_else(|| format!("there is no assignment {number}"))?;
        subtask.status = status;
        subtask.outcome = Some(outcome);
        notes.records.push(Record::Subtask(subtask.clone()));
        Ok(())
    }

    fn record_review(&mut self, job: JobNo, review: &CriticReview, shown: &[FindingId], notes: &mut Notes) {
        let number = count(self.reviews.len()) + 1;
        let mut reviewed = Vec::new();
        for finding in &mut self.findings {
            let given = review.verdicts.iter().find(|verdict| verdict.is_of(&finding.id));
            // Of an earlier one, the Critic may change its mind; one that it says nothing about was not reviewed.
            let was_seen = shown.contains(&finding.id) || finding.reviewed_in.is_some();
            let Some(given) = given.filter(|_| was_seen) else { continue };
            finding.reviewed_in = Some(number);
            finding.verdict = Some(given.verdict);
            finding.verdict_note = Some(clipped(&given.note, MAX_TEXT));
            reviewed.push(finding.id.clone());
            notes.records.push(Record::Finding(finding.clone()));
        }
        let mut issues = review.issues.clone();
        issues.sort_by_key(|issue| std::cmp::Reverse(issue.severity));
        issues.truncate(MAX_ITEMS);
        for issue in &mut issues {
            issue.description = clipped(&issue.description, MAX_TEXT);
        }
        let requests: Vec<Assignment> = review.requested_research.iter().map(clipped_assignment).collect();
        let summary = clipped(&review.summary, MAX_TEXT);
        let approved = review.decision == ReviewDecision::Approved;
        notes.events.push(if approved {
            Event::CriticApproved { job, review: number }
        } else {
            let (issues, requests) = (count(issues.len()), count(requests.len()));
            Event::CriticRequestedMoreWork { job, review: number, issues, requests }
        });
        let kind = if approved { MessageType::Approved } else { MessageType::NeedsMoreWork };
        let reason: Vec<String> = issues
            .iter()
            .map(|issue| format!("[{}] {}", issue.severity.as_str(), issue.description))
            .collect();
        let reason = (!reason.is_empty()).then(|| reason.join(" "));
        let metadata =
            json!({ "reviewed_finding_ids": reviewed, "issues": issues, "requested_research": requests });
        self.say(Party::Critic, Party::Manager, kind, summary.clone(), reason, metadata, notes);
        self.reviews.push(Review {
            number,
            round: self.round,
            decision: review.decision,
            summary,
            issues,
            requests,
            reviewed,
        });
    }

    /// A decision that is taken or refused, as a row.
    pub(super) fn record_decision(
        &self,
        by: Party,
        decision: &ManagerDecision,
        rejected: Option<String>,
        notes: &mut Notes,
    ) {
        notes.records.push(Record::Decision(DecisionRecord {
            iteration: self.iteration,
            by,
            action: decision.action,
            reason: clipped(&decision.reason, MAX_TEXT),
            message: clipped(&decision.message, MAX_TEXT),
            tasks: decision.tasks.iter().map(clipped_assignment).collect(),
            review_focus: decision.review_focus.as_deref().map(|focus| clipped(focus, MAX_TEXT)),
            rejected,
        }));
    }

    /// A new assignment, with its message and its row.
    pub(super) fn assign(&mut self, assignment: &Assignment, origin: Origin, notes: &mut Notes) -> u32 {
        let number = count(self.subtasks.len()) + 1;
        let Assignment { title, description } = clipped_assignment(assignment);
        let metadata = json!({ "subtask": number, "title": title, "origin": origin });
        self.say(
            Party::Manager,
            Party::Researcher,
            MessageType::Assignment,
            format!("{title}: {description}"),
            None,
            metadata,
            notes,
        );
        let subtask = Subtask {
            number,
            round: self.round,
            title,
            description,
            origin,
            status: SubtaskStatus::Assigned,
            outcome: None,
        };
        notes.records.push(Record::Subtask(subtask.clone()));
        self.subtasks.push(subtask);
        number
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a message has that many parts, and each call reads as a sentence"
    )]
    pub(super) fn say(
        &mut self,
        from: Party,
        to: Party,
        kind: MessageType,
        content: String,
        reason: Option<String>,
        metadata: serde_json::Value,
        notes: &mut Notes,
    ) {
        self.messages += 1;
        let (content, reason) = (within(content), reason.map(within));
        let message = Message { number: self.messages, from, to, kind, content, reason, metadata };
        notes.records.push(Record::Message(message.clone()));
        self.recent.push(message);
        if self.recent.len() > RECENT_MESSAGES {
            self.recent.remove(0);
        }
    }

    /// The last message and the last event.
    pub(crate) fn ended(&mut self, result: &ResearchResult, notes: &mut Notes) {
        if result.state == crate::Status::Completed {
            let key_findings = count(result.key_findings.len());
            notes.events.push(Event::TaskCompleted { key_findings });
        }
        let content = result.conclusion.clone().unwrap_or_else(|| result.summary.clone());
        let metadata = json!({ "state": result.state, "key_findings": result.key_findings.len() });
        let reason = result.reason.clone();
        self.say(Party::Manager, Party::User, MessageType::FinalResult, content, reason, metadata, notes);
    }
}

pub(super) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

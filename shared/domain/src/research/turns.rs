//! What a research task does next: which agent runs, when a limit ends it, what a retry grants.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::guard::{Accepted, menu, validate_manager_action};
use super::machine::count;
use super::{MessageType, Origin, Party, Phase, Rejection, Research, SubtaskStatus};
use crate::build::Spent;
use crate::contract::research::{Assignment, ManagerAction, ManagerDecision, ReviewDecision};
use crate::state::{Context, Decision, Notes};
use crate::{Event, JobNo, JobResult, JobSpec, Limits};

/// What retries have granted. A limit that stopped the task counts anew from the retry; the others go on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Granted {
    /// Decisions that no longer count against `max_iterations`.
    pub iterations: u32,
    /// Agent runs that no longer count against `max_agent_calls`.
    pub agent_calls: u32,
    /// Model calls that no longer count against `max_model_calls`.
    pub model_calls: u64,
    /// Tokens that no longer count against `max_tokens`.
    pub tokens: u64,
    /// Working time that no longer counts against `task_timeout_ms`.
    pub working_ms: i64,
    /// The deadline does not hold any more.
    pub deadline_waived: bool,
}

impl Granted {
    /// Model calls that are left after what the ledger has.
    pub fn model_calls_left(&self, limits: &Limits, spent: &Spent) -> u64 {
        let counted = spent.model_calls.saturating_sub(self.model_calls);
        u64::from(limits.max_model_calls).saturating_sub(counted)
    }

    /// Tokens that are left after what the ledger has; `None` where they are not limited.
    pub fn tokens_left(&self, limits: &Limits, spent: &Spent) -> Option<u64> {
        let counted = spent.tokens().saturating_sub(self.tokens);
        (limits.max_tokens > 0).then(|| limits.max_tokens.saturating_sub(counted))
    }
}

/// A retry grants the working time anew when less than this part of it is left.
const WORTH_A_TRY: i64 = 10;

/// A limit that was reached: its name, and a sentence.
struct Reached {
    limit: &'static str,
    reason: String,
}

impl Research {
    /// Agent runs that are left.
    pub fn calls_left(&self, limits: &Limits) -> u32 {
        limits.max_agent_calls.saturating_sub(self.agent_calls - self.granted.agent_calls)
    }

    /// Decisions that the Manager has left.
    pub fn iterations_left(&self, limits: &Limits) -> u32 {
        limits.max_iterations.saturating_sub(self.iteration - self.granted.iterations)
    }

    /// Working time that is left, in milliseconds.
    pub fn time_left_ms(&self, limits: &Limits) -> i64 {
        let all = i64::try_from(limits.task_timeout_ms).unwrap_or(i64::MAX);
        all.saturating_sub(self.working_ms - self.granted.working_ms).max(0)
    }

    /// The objective is told, and the Manager begins.
    pub(crate) fn start(&mut self, context: &Context<'_>, notes: &mut Notes) -> Decision {
        let objective = context.facts.objective.to_owned();
        self.say(Party::User, Party::Team, MessageType::Objective, objective, None, json!({}), notes);
        self.ask_manager(context, notes)
    }

    /// What follows from a result that was taken in.
    pub(crate) fn after(
        &mut self,
        job: JobNo,
        result: &JobResult,
        context: &Context<'_>,
        notes: &mut Notes,
    ) -> Decision {
        match result {
            JobResult::Decided { decision, .. } => self.after_decision(job, decision, context, notes),
            JobResult::Researched { .. } => self.after_assignment(context, notes),
            JobResult::Reviewed { .. } => self.after_review(context, notes),
            JobResult::Synthesized { .. } => Decision::Complete,
            JobResult::OutOfBudget { .. } => {
                let reached = self.spent_out(context).or_else(|| self.reached(context));
                stop(reached.unwrap_or_else(|| out_of_model_calls(context.limits)), notes)
            }
            _ => stop(self.out_of_time(context.limits), notes),
        }
    }

    /// What follows from an agent run without a result.
    pub(crate) fn after_failure(
        &mut self,
        spec: &JobSpec,
        context: &Context<'_>,
        notes: &mut Notes,
    ) -> Decision {
        if self.failed_in_row >= context.limits.max_failures_in_row {
            let reason = format!("{} agent runs failed in a row", self.failed_in_row);
            return stop(Reached { limit: "max_failures_in_row", reason }, notes);
        }
        match spec {
            JobSpec::Research { .. } => self.after_assignment(context, notes),
            JobSpec::Synthesize { .. } => match self.reached(context) {
                Some(reached) => stop(reached, notes),
                None => self.synthesize(context.limits),
            },
            _ => self.ask_manager(context, notes),
        }
    }

    /// A round is over when its last researcher is, in whatever order they end.
    fn after_assignment(&mut self, context: &Context<'_>, notes: &mut Notes) -> Decision {
        if self.open_assignments() > 0 {
            return Decision::Jobs(Vec::new());
        }
        self.working_ms += std::mem::take(&mut self.round_ms);
        let found = std::mem::take(&mut self.round_sources);
        self.rounds_without_sources = if found == 0 { self.rounds_without_sources + 1 } else { 0 };
        self.ask_manager(context, notes)
    }

    fn after_review(&mut self, context: &Context<'_>, notes: &mut Notes) -> Decision {
        if self.reviews.last().map(|review| review.decision) == Some(ReviewDecision::NeedsMoreWork) {
            self.pass_to(Phase::NeedsMoreWork, notes);
        }
        self.ask_manager(context, notes)
    }

    fn after_decision(
        &mut self,
        job: JobNo,
        decision: &ManagerDecision,
        context: &Context<'_>,
        notes: &mut Notes,
    ) -> Decision {
        let limits = context.limits;
        let accepted = match validate_manager_action(self, decision, limits) {
            Ok(accepted) => accepted,
            Err(reason) => return self.reject(job, decision, reason, context, notes),
        };
        self.record_decision(Party::Manager, decision, None, notes);
        self.rejected_in_row = 0;
        self.rejection = None;
        let iteration = self.iteration;
        match accepted {
            Accepted::Assign(tasks) => self.assign_all(job, &decision.message, &tasks, limits, notes),
            Accepted::Review => {
                notes.events.push(Event::ManagerRequestedReview { job: Some(job), iteration });
                self.review(decision, limits, notes)
            }
            Accepted::Complete => {
                notes.events.push(Event::ManagerCompleted { job: Some(job), iteration });
                self.tell_decision(Party::Manager, decision, notes);
                self.synthesize(limits)
            }
            Accepted::Fail => {
                let reason = decision.reason.clone();
                notes.events.push(Event::ManagerGaveUp { job, iteration, reason: reason.clone() });
                self.tell_decision(Party::Manager, decision, notes);
                Decision::Fail(format!("the manager gave up: {reason}"))
            }
        }
    }

    fn reject(
        &mut self,
        job: JobNo,
        decision: &ManagerDecision,
        reason: String,
        context: &Context<'_>,
        notes: &mut Notes,
    ) -> Decision {
        self.record_decision(Party::Manager, decision, Some(reason.clone()), notes);
        self.rejected_in_row += 1;
        let (in_row, iteration) = (self.rejected_in_row, self.iteration);
        let action = decision.action.as_str().to_owned();
        let told = Event::ManagerActionRejected {
            job,
            iteration,
            action: action.clone(),
            reason: reason.clone(),
            in_row,
        };
        notes.events.push(told);
        let said = format!("{action} was rejected.");
        let (from, to, why) = (Party::System, Party::Manager, Some(reason.clone()));
        self.say(from, to, MessageType::RejectedAction, said, why, json!({ "action": action }), notes);
        self.rejection = Some(Rejection { action, reason });
        if in_row >= context.limits.max_rejections_in_row {
            let reason = format!("{in_row} decisions of the manager were rejected in a row");
            return stop(Reached { limit: "max_rejections_in_row", reason }, notes);
        }
        self.ask_manager(context, notes)
    }

    fn assign_all(
        &mut self,
        job: JobNo,
        message: &str,
        tasks: &[Assignment],
        limits: &Limits,
        notes: &mut Notes,
    ) -> Decision {
        let sent_back =
            self.reviews.last().map(|review| review.decision) == Some(ReviewDecision::NeedsMoreWork);
        let origin = if sent_back { Origin::Critic } else { Origin::Manager };
        self.round += 1;
        let (from, to, metadata) = (Party::Manager, Party::Team, json!({ "round": self.round }));
        self.say(from, to, MessageType::Plan, message.to_owned(), None, metadata, notes);
        let time_left_ms = self.time_left_ms(limits);
        let subtasks: Vec<u32> = tasks.iter().map(|task| self.assign(task, origin, notes)).collect();
        let iteration = self.iteration;
        notes.events.push(if sent_back {
            Event::ManagerReassignedTask { job, iteration, subtasks: subtasks.clone() }
        } else {
            Event::ManagerPlanned { job, iteration, subtasks: subtasks.clone() }
        });
        self.agent_calls += count(subtasks.len());
        self.phase = Phase::Researching;
        let jobs = subtasks.into_iter().map(|subtask| JobSpec::Research { subtask, time_left_ms });
        Decision::Jobs(jobs.collect())
    }

    fn review(&mut self, decision: &ManagerDecision, limits: &Limits, notes: &mut Notes) -> Decision {
        self.review_focus.clone_from(&decision.review_focus);
        let ids: Vec<String> = self.unreviewed().map(|finding| finding.id.0.clone()).collect();
        let (from, to, focus) = (Party::Manager, Party::Critic, decision.review_focus.clone());
        let said = decision.message.clone();
        self.say(from, to, MessageType::ReviewRequest, said, focus, json!({ "finding_ids": ids }), notes);
        self.agent_calls += 1;
        self.reviews_asked += 1;
        self.phase = Phase::Reviewing;
        let time_left_ms = self.time_left_ms(limits);
        Decision::Jobs(vec![JobSpec::Review { review: self.reviews_asked, time_left_ms }])
    }

    fn synthesize(&mut self, limits: &Limits) -> Decision {
        self.agent_calls += 1;
        self.phase = Phase::Synthesizing;
        Decision::Jobs(vec![JobSpec::Synthesize { time_left_ms: self.time_left_ms(limits) }])
    }

    fn tell_decision(&mut self, from: Party, decision: &ManagerDecision, notes: &mut Notes) {
        let metadata = json!({ "action": decision.action });
        let (said, reason) = (decision.message.clone(), Some(decision.reason.clone()));
        self.say(from, Party::Team, MessageType::Decision, said, reason, metadata, notes);
    }

    /// The Manager's next decision; or the one that the budget leaves; or the end.
    fn ask_manager(&mut self, context: &Context<'_>, notes: &mut Notes) -> Decision {
        let limits = context.limits;
        if let Some(reached) = self.reached(context) {
            return stop(reached, notes);
        }
        if let Some(decision) = self.only_choice(limits, notes) {
            return decision;
        }
        self.iteration += 1;
        self.agent_calls += 1;
        let menu = menu(self, limits);
        if menu.is_only_fail() {
            // The Manager would be asked to give up; what stands is told instead.
            self.iteration -= 1;
            self.agent_calls -= 1;
            return self.nothing_left(limits, notes);
        }
        self.pass_to(Phase::Planning, notes);
        let (iteration, time_left_ms) = (self.iteration, self.time_left_ms(limits));
        Decision::Jobs(vec![JobSpec::Manage { iteration, time_left_ms }])
    }

    /// Asking a Manager would use up the calls that review and answer need, so what has to come next is decided here.
    fn only_choice(&mut self, limits: &Limits, notes: &mut Notes) -> Option<Decision> {
        let left = self.calls_left(limits);
        let action = match left {
            2 if !self.findings.is_empty() && self.has_news() => ManagerAction::RequestReview,
            1 if self.approved() => ManagerAction::Complete,
            _ => return None,
        };
        self.iteration += 1;
        let iteration = self.iteration;
        let decision = ManagerDecision {
            reason: format!("{left} agent runs are left; they are kept for review and answer"),
            action,
            message: "The budget leaves no other choice.".to_owned(),
            tasks: Vec::new(),
            review_focus: None,
        };
        self.record_decision(Party::System, &decision, None, notes);
        Some(if action == ManagerAction::RequestReview {
            notes.events.push(Event::ManagerRequestedReview { job: None, iteration });
            self.review(&decision, limits, notes)
        } else {
            notes.events.push(Event::ManagerCompleted { job: None, iteration });
            self.tell_decision(Party::System, &decision, notes);
            self.synthesize(limits)
        })
    }

    /// No action but FAIL would be taken.
    fn nothing_left(&mut self, limits: &Limits, notes: &mut Notes) -> Decision {
        if self.calls_left(limits) <= super::RESERVED_CALLS + 1 {
            let reason = format!("the limit of {} agent runs is reached", limits.max_agent_calls);
            return stop(Reached { limit: "max_agent_calls", reason }, notes);
        }
        if self.findings.is_empty() {
            let blocked = self.subtasks.iter().filter(|task| task.status == SubtaskStatus::Blocked).count();
            return Decision::NeedsReview(format!(
                "insufficient evidence: {blocked} of {} assignments were blocked and none gave a finding",
                self.subtasks.len()
            ));
        }
        Decision::NeedsReview(
            "no further source was found, and the critic has not approved what there is".to_owned(),
        )
    }

    /// The limit under which no further agent may run.
    fn reached(&self, context: &Context<'_>) -> Option<Reached> {
        let limits = context.limits;
        let reached = |limit, reason| Some(Reached { limit, reason });
        if self.iterations_left(limits) == 0 && self.calls_left(limits) != 1 {
            let most = limits.max_iterations;
            reached("max_iterations", format!("the limit of {most} decisions of the manager is reached"))
        } else if self.calls_left(limits) == 0 {
            let most = limits.max_agent_calls;
            reached("max_agent_calls", format!("the limit of {most} agent runs is reached"))
        } else if let Some(spent_out) = self.spent_out(context) {
            Some(spent_out)
        } else if self.time_left_ms(limits) == 0 {
            Some(self.out_of_time(limits))
        } else if self.deadline_passed(context) {
            reached("deadline", "the deadline passed".to_owned())
        } else {
            None
        }
    }

    /// The limit of the token ledger that is reached.
    fn spent_out(&self, context: &Context<'_>) -> Option<Reached> {
        let (limits, spent) = (context.limits, &context.facts.spent);
        if self.granted.model_calls_left(limits, spent) == 0 {
            Some(out_of_model_calls(limits))
        } else if self.granted.tokens_left(limits, spent) == Some(0) {
            let reason = format!("the limit of {} tokens is reached", limits.max_tokens);
            Some(Reached { limit: "max_tokens", reason })
        } else {
            None
        }
    }

    fn out_of_time(&self, limits: &Limits) -> Reached {
        let seconds = limits.task_timeout_ms / 1_000;
        Reached {
            limit: "task_timeout_ms",
            reason: format!("the task's working time of {seconds} s is over"),
        }
    }

    fn deadline_passed(&self, context: &Context<'_>) -> bool {
        !self.granted.deadline_waived
            && context.deadline.is_some_and(|deadline| deadline.since(context.now) == 0)
    }

    /// Enters a phase in the middle of a transition, so that the log shows it.
    fn pass_to(&mut self, next: Phase, notes: &mut Notes) {
        if self.phase != next {
            let (from, to) = (self.phase.to_string(), next.to_string());
            notes.events.push(Event::PhaseChanged { from, to });
            self.phase = next;
        }
    }

    /// A retry counts the limits that are used up anew, and forgets failures and rejections in a row.
    pub(crate) fn grant(&mut self, context: &Context<'_>) {
        let (limits, spent) = (context.limits, &context.facts.spent);
        // What a round that did not join has used counts, and is granted anew with the rest.
        self.working_ms += std::mem::take(&mut self.round_ms);
        self.failed_in_row = 0;
        self.rejected_in_row = 0;
        if self.iterations_left(limits) == 0 {
            self.granted.iterations = self.iteration;
        }
        // What is left must be enough for a Manager, a researcher, a review and the answer.
        if self.calls_left(limits) < 4 {
            self.granted.agent_calls = self.agent_calls;
        }
        if self.granted.model_calls_left(limits, spent) == 0 {
            self.granted.model_calls = spent.model_calls;
        }
        if self.granted.tokens_left(limits, spent) == Some(0) {
            self.granted.tokens = spent.tokens();
        }
        // A rest that is too short for one agent would stop the task again at once.
        let all_ms = i64::try_from(limits.task_timeout_ms).unwrap_or(i64::MAX);
        if self.time_left_ms(limits) < all_ms / WORTH_A_TRY {
            self.granted.working_ms = self.working_ms;
        }
        self.granted.deadline_waived |= self.deadline_passed(context);
        self.rounds_without_sources = 0;
    }

    /// Goes on after a retry that found no job to make ready again.
    pub(crate) fn resume(&mut self, context: &Context<'_>, notes: &mut Notes) -> Decision {
        self.round_sources = 0;
        if self.phase == Phase::Synthesizing && self.approved() {
            return self.synthesize(context.limits);
        }
        self.ask_manager(context, notes)
    }
}

fn out_of_model_calls(limits: &Limits) -> Reached {
    let reason = format!("the limit of {} model calls is reached", limits.max_model_calls);
    Reached { limit: "max_model_calls", reason }
}

fn stop(reached: Reached, notes: &mut Notes) -> Decision {
    let Reached { limit, reason } = reached;
    notes.events.push(Event::LimitReached { limit: limit.to_owned(), reason: reason.clone() });
    Decision::NeedsReview(reason)
}

//! What the Manager sees: where assignments and findings stand, what the Critic wants, what can be chosen.

use serde::{Deserialize, Serialize};

use super::Asked;
use super::fit::{Fit, LINE, Shown};
use super::lines::{
    BudgetLeft, FindingLine, IssueLine, MessageLine, ReviewLines, SubtaskLine, assignment_forms, left_open,
    objective_forms, question_forms, summary_forms,
};
use super::text::{forms, line};
use crate::Limits;
use crate::contract::research::{Assignment, ManagerAction, ReviewDecision};
use crate::research::{MessageType, Rejection, Research, Review, SubtaskStatus, menu, title_key};

/// Of the latest messages.
const MESSAGES: usize = 4;

/// The Manager's view of a research task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagerView {
    /// What was asked for.
    pub objective: String,
    /// Name of the language that people are answered in.
    pub language: String,
    /// Where researchers search.
    pub searched_in: Option<String>,
    /// This decision, from 1.
    pub iteration: u32,
    /// Decisions in all.
    pub iterations: u32,
    /// What can be chosen.
    pub actions: Vec<ManagerAction>,
    /// Assignments that one decision may hold.
    pub assignments_at_most: usize,
    /// What can't, and why.
    pub withheld: Vec<Withheld>,
    /// The last decision, if it was refused: its action and why.
    pub rejected: Option<Rejection>,
    /// Every assignment.
    pub assignments: Vec<SubtaskLine>,
    /// Findings, reviewed or not.
    pub findings: Vec<FindingLine>,
    /// What researchers could not settle.
    pub open_questions: Vec<String>,
    /// What the Critic said last.
    pub latest_review: Option<ReviewLines>,
    /// What it asked for and nobody has done.
    pub requested: Vec<Assignment>,
    /// The last few messages.
    pub messages: Vec<MessageLine>,
    /// What the limits leave.
    pub budget: BudgetLeft,
    /// What had no room, in words.
    pub left_out: Vec<String>,
}

/// An action that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// Which.
    pub action: ManagerAction,
    /// Why.
    pub reason: String,
}

impl Shown for Rejection {
    fn bytes(&self) -> usize {
        self.action.len() + self.reason.len() + LINE
    }
}

impl ManagerView {
    /// The view of a Manager whose own run has been counted, in `budget_bytes`.
    pub fn of(asked: &Asked<'_>, research: &Research, limits: &Limits, budget_bytes: usize) -> Self {
        let menu = menu(research, limits);
        let review = research.reviews.last();
        let (new, old): (Vec<_>, Vec<_>) =
            research.findings.iter().partition(|finding| finding.reviewed_in.is_none());
        let recent = research.recent.iter().filter(|message| message.kind != MessageType::Objective);
        let recent: Vec<_> = recent.collect();

        let mut fit = Fit::new(budget_bytes);
        let objective = fit.require(objective_forms(asked.objective));
        let rejected = research.rejection.iter().map(|rejection| {
            forms(&[200, 1_000], |size| Rejection {
                action: line(&rejection.action, 40),
                reason: line(&rejection.reason, size),
            })
        });
        let rejected = fit.offer("reasons of a rejection", rejected.collect(), |index| index);
        let new = fit.offer_latest("unreviewed findings", new.into_iter().map(FindingLine::forms).collect());
        let requested = outstanding(research).into_iter().map(assignment_forms).collect();
        let requested = fit.offer("requests of the critic", requested, |index| index);
        let summary =
            fit.offer("summaries of a review", review.map(summary_forms).into_iter().collect(), |at| at);
        let issues = review.map_or(&[][..], |review| &review.issues);
        let issues =
            fit.offer("issues of the critic", issues.iter().map(IssueLine::forms).collect(), |at| at);
        let assignments = research.subtasks.iter().map(SubtaskLine::forms).collect();
        let assignments = fit.offer_latest("assignments", assignments);
        let old = fit.offer_latest("reviewed findings", old.into_iter().map(FindingLine::forms).collect());
        let questions = left_open(research).iter().map(|text| question_forms(text)).collect();
        let questions = fit.offer_latest("open questions", questions);
        let latest = recent.len().saturating_sub(MESSAGES);
        let messages = recent[latest..].iter().map(|message| MessageLine::forms(message)).collect();
        let messages = fit.offer_latest("messages", messages);

        let mut fitted = fit.decide();
        let mut findings = fitted.taken(old);
        findings.extend(fitted.taken(new));
        let summary = fitted.one(summary).unwrap_or_default();
        let issues = fitted.taken(issues);
        Self {
            objective: fitted.one(objective).unwrap_or_default(),
            language: asked.language(),
            searched_in: asked.searched_in(),
            iteration: research.iteration.saturating_sub(research.granted.iterations),
            iterations: limits.max_iterations,
            actions: menu.actions,
            assignments_at_most: menu.assignments,
            withheld: menu
                .withheld
                .into_iter()
                .map(|(action, reason)| Withheld { action, reason: line(&reason, 160) })
                .collect(),
            rejected: fitted.one(rejected),
            assignments: fitted.taken(assignments),
            findings,
            open_questions: fitted.taken(questions),
            latest_review: review.map(|review| ReviewLines { decision: review.decision, summary, issues }),
            requested: fitted.taken(requested),
            messages: fitted.taken(messages),
            budget: BudgetLeft::of(research, limits),
            left_out: fitted.left_out(),
        }
    }
}

/// The requests of the latest review that no later assignment has taken up under their title.
fn outstanding(research: &Research) -> Vec<&Assignment> {
    let Some(Review { requests, decision: ReviewDecision::NeedsMoreWork, .. }) = research.reviews.last()
    else {
        return Vec::new();
    };
    let taken_up = |request: &Assignment| {
        let key = title_key(&request.title);
        let mut done = research.subtasks.iter().filter(|subtask| subtask.status != SubtaskStatus::Failed);
        done.any(|subtask| title_key(&subtask.title) == key)
    };
    requests.iter().filter(|request| !taken_up(request)).collect()
}

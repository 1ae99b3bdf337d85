//! Which decisions of the Manager are taken. Completion criteria live here and nowhere else.

use serde::{Deserialize, Serialize};

use super::titles::title_key;
use super::{Finding, Level, Research, SubtaskStatus};
use crate::Limits;
use crate::contract::research::{Assignment, MAX_ASSIGNMENTS, ManagerAction, ManagerDecision, Verdict};

/// Agent runs that are kept for a review and the final answer.
pub const RESERVED_CALLS: u32 = 2;

/// Rounds in a row without a new source before no further research is offered.
pub const MAX_ROUNDS_WITHOUT_SOURCES: u32 = 2;

/// Times that an assignment may be blocked before it counts as done.
const MAX_BLOCKS: usize = 2;

/// What the Manager can choose from now, and why the rest is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Menu {
    /// In a fixed order; FAIL is always there.
    pub actions: Vec<ManagerAction>,
    /// Assignments that the budget allows.
    pub assignments: usize,
    /// For each action that is not offered, why.
    pub withheld: Vec<(ManagerAction, String)>,
}

impl Menu {
    /// Whether nothing but giving up is left.
    pub fn is_only_fail(&self) -> bool {
        self.actions == [ManagerAction::Fail]
    }
}

/// A decision that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// These assignments, which nobody has done.
    Assign(Vec<Assignment>),
    /// A review.
    Review,
    /// The final answer.
    Complete,
    /// Giving up.
    Fail,
}

/// What a Manager can choose whose own run has been counted.
pub fn menu(research: &Research, limits: &Limits) -> Menu {
    let assignments = assignable(research, limits);
    let mut menu = Menu { actions: Vec::new(), assignments, withheld: Vec::new() };
    for action in [ManagerAction::AssignResearch, ManagerAction::RequestReview, ManagerAction::Complete] {
        match withheld(research, action, assignments) {
            None => menu.actions.push(action),
            Some(reason) => menu.withheld.push((action, reason)),
        }
    }
    menu.actions.push(ManagerAction::Fail);
    menu
}

/// Assignments that the budget allows beside what is kept for review and answer.
fn assignable(research: &Research, limits: &Limits) -> usize {
    let left = research.calls_left(limits).saturating_sub(RESERVED_CALLS);
    usize::try_from(left).unwrap_or(usize::MAX).min(MAX_ASSIGNMENTS)
}

/// Why an action can't be taken whatever it says; `None` when it can.
fn withheld(research: &Research, action: ManagerAction, assignments: usize) -> Option<String> {
    match action {
        ManagerAction::AssignResearch if assignments == 0 => {
            Some("no agent runs are left but those that are kept for review and answer".to_owned())
        }
        ManagerAction::AssignResearch if research.rounds_without_sources >= MAX_ROUNDS_WITHOUT_SOURCES => {
            Some(format!("the last {MAX_ROUNDS_WITHOUT_SOURCES} rounds found no new source"))
        }
        ManagerAction::RequestReview if research.findings.is_empty() => {
            Some("there is no finding to review; assign research first".to_owned())
        }
        ManagerAction::RequestReview if !research.has_news() => {
            Some("every finding has been reviewed; nothing came after the latest review".to_owned())
        }
        ManagerAction::Complete if research.reviews.is_empty() => {
            Some("there is no review yet; the critic has to approve first".to_owned())
        }
        ManagerAction::Complete if research.unreviewed().next().is_some() => {
            let open: Vec<&str> = research.unreviewed().map(|finding| finding.id.0.as_str()).collect();
            Some(format!("these findings came after the latest review: {}", open.join(", ")))
        }
        ManagerAction::Complete if !research.approved() => {
            Some("the latest review is NEEDS_MORE_WORK, not APPROVED".to_owned())
        }
        ManagerAction::Complete if nothing_holds(research) => {
            Some("no finding holds: each was rejected by the critic, or cites no source".to_owned())
        }
        _ => None,
    }
}

fn nothing_holds(research: &Research) -> bool {
    let falls =
        |finding: &Finding| finding.verdict == Some(Verdict::Rejected) || finding.grounded.level == Level::G0;
    research.findings.iter().all(falls)
}

/// Judges a decision of the Manager.
///
/// # Errors
/// Why it is rejected and what would be taken, in words for the Manager.
pub fn validate_manager_action(
    research: &Research,
    decision: &ManagerDecision,
    limits: &Limits,
) -> Result<Accepted, String> {
    let menu = menu(research, limits);
    if let Some((_, reason)) = menu.withheld.iter().find(|(action, _)| *action == decision.action) {
        let offered: Vec<&str> = menu.actions.iter().map(|action| action.as_str()).collect();
        let action = decision.action.as_str();
        return Err(format!("{action} is not possible now: {reason}. Choose one of: {}", offered.join(", ")));
    }
    match decision.action {
        ManagerAction::AssignResearch => {
            let fresh = fresh(research, &decision.tasks);
            if fresh.is_empty() {
                return Err(
                    "every task has been done already, or was blocked twice; assign something else, with \
                            another title, or choose another action"
                        .to_owned(),
                );
            }
            Ok(Accepted::Assign(fresh.into_iter().take(menu.assignments).cloned().collect()))
        }
        ManagerAction::RequestReview => Ok(Accepted::Review),
        ManagerAction::Complete => Ok(Accepted::Complete),
        ManagerAction::Fail => Ok(Accepted::Fail),
    }
}

/// The tasks that are neither done, nor blocked twice, nor named twice here.
fn fresh<'a>(research: &Research, tasks: &'a [Assignment]) -> Vec<&'a Assignment> {
    let mut seen: Vec<String> = Vec::new();
    let mut fresh = Vec::new();
    for task in tasks {
        let key = title_key(&task.title);
        if !is_done(research, &key) && !seen.contains(&key) {
            fresh.push(task);
        }
        seen.push(key);
    }
    fresh
}

fn is_done(research: &Research, key: &str) -> bool {
    let with = |status| {
        let same = research.subtasks.iter().filter(|subtask| title_key(&subtask.title) == key);
        same.filter(|subtask| subtask.status == status).count()
    };
    with(SubtaskStatus::Completed) > 0 || with(SubtaskStatus::Blocked) >= MAX_BLOCKS
}

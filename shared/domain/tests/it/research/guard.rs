//! Which decisions of the Manager are taken, and what it is told about the others.

use nightforge_domain::Status;
use nightforge_domain::contract::research::{ManagerAction, ManagerDecision};
use nightforge_domain::research::{Accepted, Record, menu, validate_manager_action};

use super::team::{Team, titled};

/// The reason for which a decision is not taken after a story; empty when it is.
fn refusal(story: &str, action: ManagerAction, titles: &str) -> String {
    let mut team = Team::new();
    team.tell(story);
    let decision = decision(action, titles);
    validate_manager_action(team.research(), &decision, &team.limits).err().unwrap_or_default()
}

fn decision(action: ManagerAction, titles: &str) -> ManagerDecision {
    ManagerDecision {
        reason: "because".to_owned(),
        action,
        message: String::new(),
        tasks: titled(titles),
        review_focus: None,
    }
}

#[test]
fn complete_is_taken_only_after_an_approval_that_saw_everything() {
    let refused = [
        ("submitted", "there is no review yet"),
        ("submitted; plan A; found 1", "there is no review yet"),
        ("submitted; plan A; found 1; review; more B", "NEEDS_MORE_WORK, not APPROVED"),
        ("submitted; plan A; found 1; review; approve; plan B; found 1", "F2.1"),
        ("submitted; plan A; found 1; review; refuse all", "no finding holds"),
    ];
    for (story, reason) in refused {
        let told = refusal(story, ManagerAction::Complete, "");
        assert!(told.contains(reason) && told.contains("Choose one of:"), "{story}: {told}");
    }
    assert_eq!(refusal("submitted; plan A; found 1; review; approve", ManagerAction::Complete, ""), "");
}

#[test]
fn a_review_needs_something_unreviewed() {
    for (story, reason) in [
        ("submitted", "no finding to review"),
        ("submitted; plan A; blocked", "no finding to review"),
        ("submitted; plan A; found 1; review; approve", "every finding has been reviewed"),
    ] {
        let told = refusal(story, ManagerAction::RequestReview, "");
        assert!(told.contains(reason), "{story}: {told}");
    }
    assert_eq!(refusal("submitted; plan A; found 1", ManagerAction::RequestReview, ""), "");
}

#[test]
fn what_was_searched_in_vain_can_be_told_to_the_critic() {
    let review = ManagerAction::RequestReview;
    let sent_back = "submitted; plan A; found 1; review; more B";
    assert!(refusal(sent_back, review, "").contains("nothing came after the latest review"));
    let searched = format!("{sent_back}; plan B; blocked");
    assert_eq!(refusal(&searched, review, ""), "", "the critic has not seen that B was blocked");
    let mut team = Team::new();
    let lines = team.tell(&format!("{searched}; review; approve; complete; answer"));
    assert!(lines.last().unwrap().starts_with("COMPLETED"), "{lines:?}");
    let approved = "submitted; plan A; found 1; review; approve; plan B; blocked";
    assert!(!refusal(approved, review, "").is_empty(), "an approval stands");
    assert_eq!(refusal(approved, ManagerAction::Complete, ""), "");
}

#[test]
fn research_that_was_done_is_not_assigned_again() {
    let assign = ManagerAction::AssignResearch;
    let done = "submitted; plan Tourist prices; found 1";
    assert!(refusal(done, assign, "tourist PRICES!").contains("every task has been done already"));
    assert_eq!(refusal(done, assign, "tourist prices, season"), "", "one of two is new");
    let once = "submitted; plan 観光客の価格; blocked";
    assert_eq!(refusal(once, assign, "観光客の価格"), "", "blocked once may be tried again");
    let mut team = Team::new();
    team.tell("submitted; plan A, 価格; found 1; blocked; plan 価格; blocked");
    let told = validate_manager_action(team.research(), &decision(assign, "価格"), &team.limits);
    assert!(told.unwrap_err().contains("blocked twice"));
    assert_eq!(refusal("submitted; plan A; failed", assign, "A"), "", "a failed one may be tried again");
}

#[test]
fn of_repeated_titles_the_first_is_taken() {
    let mut team = Team::new();
    team.tell("submitted");
    let taken = validate_manager_action(
        team.research(),
        &decision(ManagerAction::AssignResearch, "A, a!, B"),
        &team.limits,
    );
    assert_eq!(taken, Ok(Accepted::Assign(titled("A, B"))));
}

#[test]
fn a_rejected_decision_is_told_recorded_and_taken_back() {
    let mut team = Team::new();
    let line = team.tell("submitted; complete").pop().unwrap();
    assert!(line.contains("manager-action-rejected") && line.contains("| manage |"), "{line}");
    let rejection = team.research().rejection.clone().unwrap();
    assert_eq!(rejection.action, "COMPLETE");
    let recorded = team.records.iter().any(
        |record| matches!(record, Record::Decision(decision) if decision.rejected.as_deref() == Some(&rejection.reason)),
    );
    assert!(recorded, "the decision is a row, with its rejection");
    team.tell("plan A; found 1; review; approve; complete; answer");
    assert_eq!(team.state.status(), Status::Completed);
    assert_eq!(team.research().rejection, None);
}

#[test]
fn what_the_critic_was_not_shown_is_not_reviewed() {
    let mut team = Team::new();
    team.room = 1;
    let line = team.tell("submitted; plan A; found 2; review; approve; complete").pop().unwrap();
    assert!(line.contains("manager-action-rejected"), "{line}");
    assert!(team.research().rejection.as_ref().unwrap().reason.contains("F1.2"));
    assert_eq!(
        team.research().findings[1].verdict,
        None,
        "a verdict on what was not shown counts for nothing"
    );
    let lines = team.tell("review; approve; complete; answer");
    assert!(lines.last().unwrap().starts_with("COMPLETED"), "{lines:?}");
}

#[test]
fn a_finding_without_a_verdict_is_not_reviewed() {
    let mut team = Team::new();
    team.tell("submitted; plan A; found 2; review; approve silently");
    assert_eq!(team.research().unreviewed().count(), 2);
    assert!(
        refusal("submitted; plan A; found 2; review; approve silently", ManagerAction::Complete, "")
            .contains("F1.1, F1.2")
    );
}

#[test]
fn giving_up_is_always_possible() {
    for story in ["submitted", "submitted; plan A; found 1", "submitted; plan A; found 1; review; approve"] {
        let mut team = Team::new();
        team.tell(story);
        assert!(menu(team.research(), &team.limits).actions.contains(&ManagerAction::Fail));
        assert_eq!(refusal(story, ManagerAction::Fail, ""), "");
    }
}

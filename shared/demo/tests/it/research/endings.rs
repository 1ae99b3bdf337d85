//! How a task ends when one of its agents goes wrong every time: the model's misbehaviours against the real guards.

use nightforge_demo::Misbehaviour;
use nightforge_domain::contract::research::{CriticReview, ManagerDecision, Verdict};
use nightforge_domain::research::{Level, Outcome};

use super::team::Team;

const OBJECTIVE: &str = "How many stopover visitors did Nassau and Paradise Island have in 2025?";

async fn play(misbehaviour: Misbehaviour) -> Team {
    let team = Team::new(OBJECTIVE).await;
    team.model.misbehave(misbehaviour, u32::MAX);
    team.play().await
}

fn reason(team: &Team) -> &str {
    assert_eq!(team.phase(), "FAILED_REQUIRES_REVIEW");
    team.result.as_ref().unwrap().reason.as_deref().unwrap()
}

#[tokio::test]
async fn complete_without_a_review_is_rejected_until_the_task_stops() {
    let team = play(Misbehaviour::PrematureComplete).await;
    assert!(reason(&team).contains("rejected in a row"), "{}", reason(&team));
}

#[tokio::test]
async fn the_same_assignment_counts_as_done() {
    let team = play(Misbehaviour::SameAssignment).await;
    assert!(reason(&team).contains("rejected in a row"), "{}", reason(&team));
    assert_eq!(team.research().subtasks.len(), 1);
}

#[tokio::test]
async fn all_blocked_is_insufficient_evidence() {
    let team = play(Misbehaviour::Blocked).await;
    assert!(reason(&team).contains("insufficient evidence"), "{}", reason(&team));
    assert_eq!(team.result.as_ref().unwrap().outcome, Outcome::InsufficientEvidence);
}

#[tokio::test]
async fn invented_citations_carry_nothing() {
    let team = play(Misbehaviour::InventedCitations).await;
    let findings = &team.research().findings;
    assert!(!findings.is_empty());
    assert!(findings.iter().all(|finding| finding.grounded.level == Level::G0));
    assert!(findings.iter().all(|finding| matches!(finding.verdict, None | Some(Verdict::Rejected))));
    reason(&team);
}

#[tokio::test]
async fn a_role_that_never_answers_in_its_contract_fails() {
    let team = play(Misbehaviour::ApprovedWithHighIssue).await;
    assert!(
        reason(&team).contains("failed in a row") || reason(&team).contains("limit"),
        "{}",
        reason(&team)
    );
    let team = Team::new(OBJECTIVE).await;
    team.model.misbehave_in::<ManagerDecision>(Misbehaviour::BrokenJson, u32::MAX);
    let team = team.play().await;
    assert!(reason(&team).contains("failed in a row"), "{}", reason(&team));
    let team = Team::new(OBJECTIVE).await;
    team.model.misbehave_in::<CriticReview>(Misbehaviour::InvalidAction, u32::MAX);
    assert!(!reason(&team.play().await).is_empty());
}

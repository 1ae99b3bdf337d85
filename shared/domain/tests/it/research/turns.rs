//! The order of the agents, which nobody has written down: it follows from what they say.

use nightforge_domain::research::{MessageType, Origin, Phase, Record, SubtaskStatus};
use nightforge_domain::{Event, Status};

use super::team::{Team, last};

const FOUND: &str = "submitted; plan A, B; found 1; found 2";
const WHOLE: &str = "submitted; plan A, B; found 1; found 2; review; approve; complete; answer";

#[test]
fn a_question_passes_through_every_agent() {
    let lines = Team::new().tell(WHOLE);
    let phases: Vec<&str> = lines.iter().map(|line| line.split(" | ").next().unwrap()).collect();
    assert_eq!(
        phases,
        [
            "PLANNING",
            "RESEARCHING",
            "RESEARCHING",
            "PLANNING",
            "REVIEWING",
            "PLANNING",
            "SYNTHESIZING",
            "COMPLETED"
        ]
    );
    let jobs: Vec<&str> = lines.iter().map(|line| line.split(" | ").nth(1).unwrap()).collect();
    assert_eq!(jobs, ["manage", "research research", "", "manage", "review", "manage", "synthesize", ""]);
}

#[test]
fn what_the_critic_sends_back_is_assigned_anew_and_reviewed_again() {
    let mut team = Team::new();
    let lines = team.tell("submitted; plan A; found 1; review; more Tourist prices");
    assert_eq!(
        lines.last().unwrap(),
        "PLANNING | manage | critic-requested-more-work phase-changed phase-changed job-created",
    );
    let passed: Vec<String> = team
        .events
        .iter()
        .filter_map(|event| match event {
            Event::PhaseChanged { from, to } => Some(format!("{from}>{to}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        passed,
        [
            "PENDING>PLANNING",
            "PLANNING>RESEARCHING",
            "RESEARCHING>PLANNING",
            "PLANNING>REVIEWING",
            "REVIEWING>NEEDS_MORE_WORK",
            "NEEDS_MORE_WORK>PLANNING"
        ]
    );
    let lines = team.tell("plan Tourist prices; found 1; review; approve; complete; answer");
    assert!(lines[0].contains("manager-reassigned-task"), "{}", lines[0]);
    assert_eq!(team.state.status(), Status::Completed);
    let origins: Vec<Origin> = team.research().subtasks.iter().map(|subtask| subtask.origin).collect();
    assert_eq!(origins, [Origin::Manager, Origin::Critic]);
    assert_eq!(team.result().open_requests, []);
}

#[test]
fn researchers_join_once_in_whatever_order_they_end() {
    let orders =
        ["job 2: found 1; job 3: found 1; job 4: blocked", "job 4: blocked; job 3: found 1; job 2: found 1"];
    let mut ends = Vec::new();
    for order in orders {
        let mut team = Team::new();
        team.tell("submitted; plan A, B, C");
        let lines = team.tell(order);
        assert_eq!(lines.iter().filter(|line| line.contains("| manage |")).count(), 1, "{lines:?}");
        assert!(lines[2].contains("| manage |"), "{lines:?}");
        let ids: Vec<String> = team.research().findings.iter().map(|finding| finding.id.0.clone()).collect();
        ends.push((ids, team.research().working_ms, team.research().agent_calls));
    }
    assert_eq!(ends[0], ends[1]);
    assert_eq!(ends[0].0, ["F1.1", "F2.1"]);
}

#[test]
fn jobs_side_by_side_count_once_as_working_time() {
    let mut team = Team::new();
    team.tell("worked 500; submitted; plan A, B; worked 3000; found 1; worked 9000; found 1");
    assert_eq!(team.research().working_ms, 500 + 9_000);
}

#[test]
fn a_failed_researcher_is_told_and_worked_around() {
    let mut team = Team::new();
    let lines = team.tell("submitted; plan A, B; failed; found 1; review; approve; complete; answer");
    assert!(lines[2].contains("agent-failed"), "{}", lines[2]);
    assert_eq!(team.state.status(), Status::Completed);
    assert_eq!(team.research().subtasks[0].status, SubtaskStatus::Failed);
    assert!(messages(&team).contains(&MessageType::AgentFailed));
}

#[test]
fn a_failed_manager_or_critic_or_answer_is_asked_again() {
    for story in [
        "submitted; failed; plan A; found 1; review; approve; complete; answer",
        "submitted; plan A; found 1; review; failed; review; approve; complete; answer",
        "submitted; plan A; found 1; review; approve; complete; failed; answer",
    ] {
        assert!(last(story).starts_with("COMPLETED"), "{story}");
    }
}

#[test]
fn the_manager_may_give_up_and_what_was_found_is_kept() {
    let mut team = Team::new();
    let line = team.tell("submitted; plan A; found 2; fail").pop().unwrap();
    assert!(line.starts_with("FAILED |"), "{line}");
    assert_eq!(team.result().counts.findings, 2);
    assert!(team.markdown.as_ref().unwrap().contains("F1.2"));
}

#[test]
fn all_assignments_blocked_is_an_answer_not_a_burn_to_the_cap() {
    let mut team = Team::new();
    let line = team.tell("submitted; plan A, B; blocked; blocked; plan C; blocked").pop().unwrap();
    assert!(line.starts_with("FAILED_REQUIRES_REVIEW"), "{line}");
    assert_eq!(team.research().iteration, 2, "the manager is not asked to give up");
    let result = team.result();
    assert_eq!(serde_json::json!(result.outcome), "insufficient_evidence");
    assert!(result.reason.as_ref().unwrap().contains("3 of 3 assignments were blocked"), "{result:?}");
    assert_eq!(result.assignments.len(), 3);
}

#[test]
fn without_new_sources_no_third_round_is_offered() {
    let mut team = Team::new();
    team.tell("submitted; plan A; again 1; review; more B; plan B; again 1");
    let line = team.hear_decision("plan C");
    assert!(line.contains("manager-action-rejected"), "{line}");
    assert!(team.research().rejection.as_ref().unwrap().reason.contains("no new source"));
}

#[test]
fn results_that_come_while_the_task_stops_are_kept() {
    let mut team = Team::new();
    team.tell("submitted; plan A, B; cancel; found 2; ended");
    assert_eq!(team.state.status(), Status::Cancelled);
    assert_eq!(team.result().counts.findings, 2);
    let statuses: Vec<SubtaskStatus> = team.result().assignments.iter().map(|task| task.status).collect();
    assert_eq!(statuses, [SubtaskStatus::Completed, SubtaskStatus::Failed]);
}

#[test]
fn a_result_of_another_kind_fails_its_agent_and_nothing_else() {
    let mut team = Team::new();
    let line = team.tell("submitted; mismatch").pop().unwrap();
    assert!(line.contains("illegal-input") && line.contains("agent-failed"), "{line}");
    assert_eq!(team.research().failed_in_row, 1);
    assert!(team.research().synthesis.is_none());
}

#[test]
fn a_dead_letter_waits_for_a_person_and_its_retry_goes_on_in_the_middle() {
    let mut team = Team::new();
    let line = team.tell("submitted; plan A, B; died; found 1").pop().unwrap();
    assert!(line.starts_with("FAILED_REQUIRES_REVIEW"), "{line}");
    let lines = team.tell("retry; found 1; review; approve; complete; answer");
    assert!(lines.last().unwrap().starts_with("COMPLETED"), "{lines:?}");
    assert_eq!(team.research().findings.len(), 2);
}

#[test]
fn a_retry_from_a_later_job_leaves_the_earlier_assignment_failed() {
    let mut team = Team::new();
    team.tell("submitted; plan A, B; died; job 3: died");
    let lines = team.tell("retry 3; found 1; review; approve; complete; answer");
    assert!(lines.last().unwrap().starts_with("COMPLETED"), "{lines:?}");
    assert_eq!(team.research().subtasks[0].status, SubtaskStatus::Failed);
}

#[test]
fn the_conversation_is_numbered_and_told_by_the_right_ones() {
    let mut team = Team::new();
    team.tell(WHOLE);
    let said: Vec<(u32, String)> = team
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Message(message) => Some((
                message.number,
                format!(
                    "{}>{} {}",
                    message.from.as_str(),
                    message.to.as_str(),
                    serde_json::json!(message.kind)
                ),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(said.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    let said: Vec<&str> = said.iter().map(|(_, said)| said.as_str()).collect();
    assert_eq!(
        said,
        [
            "user>team \"OBJECTIVE\"",
            "manager>team \"PLAN\"",
            "manager>researcher \"ASSIGNMENT\"",
            "manager>researcher \"ASSIGNMENT\"",
            "researcher>manager \"RESEARCH_RESULT\"",
            "researcher>manager \"RESEARCH_RESULT\"",
            "manager>critic \"REVIEW_REQUEST\"",
            "critic>manager \"APPROVED\"",
            "manager>team \"DECISION\"",
            "manager>user \"FINAL_RESULT\"",
        ]
    );
}

#[test]
fn one_decision_is_recorded_per_iteration() {
    let mut team = Team::new();
    team.tell(WHOLE);
    let iterations: Vec<u32> = team
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Decision(decision) => Some(decision.iteration),
            _ => None,
        })
        .collect();
    assert_eq!(iterations, [1, 2, 3]);
}

#[test]
fn only_the_drawn_arrows_are_taken() {
    let mut team = Team::new();
    let mut before = Phase::Pending;
    for word in format!("{FOUND}; review; more C; plan C; found 1; review; approve; complete").split(';') {
        team.tell(word);
        let after = team.research().phase;
        let allowed = before == after
            || before.may_become(after)
            || before.may_become(Phase::NeedsMoreWork) && Phase::NeedsMoreWork.may_become(after);
        assert!(allowed, "{before} became {after} at `{word}`");
        before = after;
    }
    for (from, to) in [
        (Phase::Pending, Phase::Researching),
        (Phase::Researching, Phase::Synthesizing),
        (Phase::NeedsMoreWork, Phase::Reviewing),
        (Phase::Synthesizing, Phase::Planning),
        (Phase::Planning, Phase::Pending),
    ] {
        assert!(!from.may_become(to), "{from} must not become {to}");
    }
}

#[test]
fn nothing_moves_a_finished_task() {
    let mut team = Team::new();
    team.tell(WHOLE);
    let before = team.state.clone();
    for word in ["cancel", "deadline", "retry", "job 1: plan X", "job 99: answer", "submitted"] {
        let line = team.tell(word).pop().unwrap();
        assert!(line.contains("input-ignored") || line.contains("illegal"), "{word}: {line}");
        assert_eq!(team.state, before, "{word}");
    }
}

fn messages(team: &Team) -> Vec<MessageType> {
    team.records
        .iter()
        .filter_map(|record| match record {
            Record::Message(message) => Some(message.kind),
            _ => None,
        })
        .collect()
}

impl Team {
    fn hear_decision(&mut self, word: &str) -> String {
        self.tell(word).pop().unwrap()
    }
}

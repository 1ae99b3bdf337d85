//! The seven protections, and what else ends a task early: each keeps everything that was found.

use nightforge_domain::research::SubtaskStatus;
use nightforge_domain::{Event, Limits, Millis, Status};

use super::team::Team;

/// Plays a story to its early end: the limit's name in the log, and the partial result.
fn ends(limits: Limits, story: &str, limit: &str) -> Team {
    let mut team = Team::under(limits);
    let lines = team.tell(story);
    let last = lines.last().unwrap();
    assert!(last.starts_with("FAILED_REQUIRES_REVIEW"), "{lines:#?}");
    let reached = team.events.iter().find_map(|event| match event {
        Event::LimitReached { limit, .. } => Some(limit.clone()),
        _ => None,
    });
    assert_eq!(reached.as_deref(), Some(limit), "{lines:#?}");
    assert_eq!(team.state.status(), Status::NeedsReview);
    let result = team.result();
    assert_eq!(result.counts.findings as usize, result.findings.len());
    assert_eq!(result.counts.sources, 3);
    team
}

#[test]
fn decisions_of_the_manager() {
    let limits = Limits { max_iterations: 2, ..Limits::default() };
    let team = ends(limits, "submitted; plan A; found 2; review; more B", "max_iterations");
    let result = team.result();
    assert_eq!((result.counts.findings, result.counts.open_issues, result.counts.open_requests), (2, 1, 1));
    assert!(team.markdown.as_ref().unwrap().contains("Every price is a resident rate."));
}

#[test]
fn agent_runs_with_two_kept_for_review_and_answer() {
    let limits = Limits { max_agent_calls: 5, ..Limits::default() };
    // Manager, one researcher though two were wanted; then the review is asked for without a Manager.
    let mut team = Team::under(limits.clone());
    let lines = team.tell("submitted; plan A, B, C; found 1; found 1");
    assert_eq!(team.research().subtasks.len(), 2, "{lines:#?}");
    assert!(lines[3].starts_with("REVIEWING | review |"), "{lines:#?}");
    let lines = team.tell("approve; answer");
    assert!(lines[0].starts_with("SYNTHESIZING | synthesize |"), "{lines:#?}");
    assert_eq!(team.state.status(), Status::Completed);
    assert_eq!(team.research().agent_calls, 5);
    // Sent back instead, there is nothing left to mend it with.
    let team = ends(limits, "submitted; plan A, B; found 1; found 1; more C", "max_agent_calls");
    assert_eq!(team.result().counts.open_requests, 1);
}

#[test]
fn failures_in_a_row() {
    let team =
        ends(Limits::default(), "submitted; plan A; found 1; failed; failed; failed", "max_failures_in_row");
    assert_eq!(team.result().counts.findings, 1);
    let mut team = Team::new();
    team.tell("submitted; failed; failed; plan A; failed; failed; plan A; found 1");
    assert_eq!(team.research().failed_in_row, 0, "a success ends the count");
}

#[test]
fn three_researchers_that_fail_side_by_side_end_it() {
    let mut team = Team::new();
    let lines = team.tell("submitted; plan A, B, C, D; failed; failed; failed");
    assert!(lines[4].starts_with("STOPPING"), "{lines:#?}");
    team.tell("found 1");
    assert_eq!(team.state.status(), Status::NeedsReview);
    assert_eq!(team.result().counts.findings, 1, "the fourth one's work is kept");
}

#[test]
fn rejected_decisions_in_a_row() {
    let team = ends(
        Limits::default(),
        "submitted; plan A; found 1; complete; complete; complete",
        "max_rejections_in_row",
    );
    assert_eq!(team.result().counts.findings, 1);
}

#[test]
fn working_time_between_jobs_and_inside_one() {
    let limits = Limits { task_timeout_ms: 10_000, ..Limits::default() };
    let team =
        ends(limits.clone(), "worked 4000; submitted; plan A; found 1; review; approve", "task_timeout_ms");
    assert_eq!(team.result().counts.findings, 1);
    let team = ends(limits, "submitted; plan A, B; found 1; late", "task_timeout_ms");
    assert_eq!(team.result().counts.findings, 1);
    assert_eq!(team.research().subtasks[1].status, SubtaskStatus::Failed);
}

#[test]
fn failed_runs_have_worked_as_well() {
    let limits = Limits { task_timeout_ms: 10_000, ..Limits::default() };
    let team = ends(limits, "worked 4000; submitted; failed; plan A; found 1", "task_timeout_ms");
    assert_eq!(team.result().counts.findings, 1);
}

#[test]
fn each_job_is_told_what_is_left_of_the_working_time() {
    let mut team = Team::under(Limits { task_timeout_ms: 10_000, ..Limits::default() });
    team.tell("worked 1500; submitted; plan A, B");
    let left: Vec<String> = team.state.awaited.values().map(|spec| format!("{spec:?}")).collect();
    assert!(left.iter().all(|spec| spec.contains("time_left_ms: 8500")), "{left:?}");
}

#[test]
fn model_calls() {
    let limits = Limits { max_model_calls: 9, ..Limits::default() };
    ends(limits.clone(), "submitted; plan A; calls 9; found 1", "max_model_calls");
    // A researcher that was not let ask any more; what the other one found is kept, and no other limit is blamed.
    let limits = Limits { max_iterations: 1, ..limits };
    let team = ends(limits, "submitted; plan A, B; found 1; calls 9; spent", "max_model_calls");
    assert_eq!(team.result().counts.findings, 1);
    assert_eq!(team.research().subtasks[1].status, SubtaskStatus::Failed);
}

#[test]
fn a_retry_grants_the_limit_that_stopped_it_anew() {
    let stories = [
        (Limits { max_iterations: 2, ..Limits::default() }, "submitted; plan A; found 1; review; more B"),
        (Limits { max_agent_calls: 5, ..Limits::default() }, "submitted; plan A; found 1; review; more B"),
        (Limits::default(), "submitted; plan A; found 1; review; more B; failed; failed; failed"),
        (Limits::default(), "submitted; plan A; found 1; review; more B; complete; complete; complete"),
        (
            Limits { task_timeout_ms: 3_500, ..Limits::default() },
            "submitted; plan A; found 1; review; more B",
        ),
        // The time ran out in the middle of a round.
        (
            Limits { task_timeout_ms: 4_500, ..Limits::default() },
            "submitted; plan A; found 1; plan C; worked 600; late",
        ),
        (
            Limits { max_model_calls: 5, ..Limits::default() },
            "submitted; plan A; found 1; review; calls 5; more B",
        ),
        // The calls ran out in the middle of a round.
        (
            Limits { max_model_calls: 5, ..Limits::default() },
            "submitted; plan A; found 1; plan C; calls 5; spent",
        ),
    ];
    for (limits, story) in stories {
        let mut team = Team::under(limits);
        team.tell(story);
        assert_eq!(team.state.status(), Status::NeedsReview, "{story}");
        let lines = team.tell("retry; plan B");
        assert_eq!(team.state.status(), Status::Running, "{story}: {lines:#?}");
        assert_eq!(team.research().findings.len(), 1, "what was found stays");
    }
}

#[test]
fn a_deadline_that_passed_stops_with_what_is_there() {
    let mut team = Team::new();
    team.deadline = Some(Millis(5_000));
    team.tell("submitted; plan A, B; found 1");
    team.now = Millis(5_000);
    team.tell("deadline; ended");
    assert_eq!(team.state.status(), Status::NeedsReview);
    assert_eq!(team.result().counts.findings, 1);
}

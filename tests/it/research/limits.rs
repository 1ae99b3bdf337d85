//! The seven protections, each reached through the whole system: the task needs a review, and leaves all that it found.

use std::time::{Duration, Instant};

use nightforge_demo::{Misbehaviour, RESEARCH_OBJECTIVE};
use nightforge_domain::contract::research::{ManagerDecision, ResearchReport};
use nightforge_domain::research::{Outcome, SubtaskStatus};
use nightforge_domain::{Limits, Status, TaskId};
use nightforge_queue::Bell;
use nightforge_sources::{Backend, Demo};
use nightforge_tests::team::TeamRecord;
use nightforge_tests::world::World;

const WITHIN: Duration = Duration::from_secs(60);

/// Runs the demo's question under these limits until a limit ends it, and looks at what is left.
async fn stopped(world: &World, limits: Limits, limit: &str) -> (TaskId, TeamRecord) {
    let worker = world.researcher(vec![Backend::Demo(Demo::new())], Vec::new()).await;
    let task = world.submit_research(RESEARCH_OBJECTIVE, |new| new.limits = limits).await;
    let row = world.end_of(&task, WITHIN).await;
    let record = TeamRecord::read(&world.store, &task).await;
    assert_eq!(row.status, Status::NeedsReview, "{}", record.log());
    assert_eq!(record.task.phase, "FAILED_REQUIRES_REVIEW");
    assert_eq!(record.first("limit-reached").data["limit"], limit, "{}", record.log());
    record.assert_history();
    record.assert_result_is_full();
    let result = record.result();
    assert_eq!((result.outcome, result.conclusion.as_deref()), (Outcome::Stopped, None));
    let reason = &record.first("limit-reached").data["reason"];
    assert_eq!(result.reason.as_deref(), reason.as_str());
    assert!(row.report.unwrap().contains(reason.as_str().unwrap()), "the report says why");
    assert_eq!(world.model.violations(), Vec::<String>::new());
    worker.drain().await;
    (task, record)
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_of_the_manager_and_a_retry_that_grants_new_ones() {
    let world = World::start().await;
    let limits = Limits { max_iterations: 2, ..Limits::default() };
    let (task, record) = stopped(&world, limits, "max_iterations").await;
    assert_eq!(record.decisions.len(), 2);
    assert!(!record.findings.is_empty());
    assert!(record.findings.iter().all(|finding| finding.reviewed_in == Some(1)));
    let result = record.result();
    assert!(result.counts.open_requests >= 1, "what the critic asked for is not forgotten: {result:?}");
    assert!(result.counts.open_issues >= 1, "{result:?}");

    let worker = world.researcher(vec![Backend::Demo(Demo::new())], Vec::new()).await;
    world.store.ask_retry(&task, None, "a test").await.unwrap();
    world.bells.ring(Bell::Task(task.clone()));
    world.until(&task, WITHIN, |row| row.status.is_final() && row.state.retries == 1).await;
    let again = TeamRecord::read(&world.store, &task).await;
    // Two more decisions: the research that was asked for, and its review. A second retry leads to the end.
    assert_eq!(again.task.status, Status::NeedsReview, "{}", again.log());
    assert_eq!(again.decisions.len(), 4, "{}", again.log());
    world.store.ask_retry(&task, None, "a test").await.unwrap();
    world.bells.ring(Bell::Task(task.clone()));
    world.until(&task, WITHIN, |row| row.status == Status::Completed).await;
    let whole = TeamRecord::read(&world.store, &task).await;
    assert_eq!(whole.count("retry-accepted"), 2);
    for before in &record.findings {
        let now = whole.findings.iter().find(|finding| finding.id == before.id);
        assert_eq!(now.map(|now| &now.grounded), Some(&before.grounded), "what was found stays");
    }
    let ids =
        |record: &TeamRecord| record.sources.iter().map(|source| source.url.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&whole)[..record.sources.len()], ids(&record)[..], "sources keep their numbers");
    whole.assert_history();
    whole.assert_result_is_full();
    whole.assert_key_findings_hold();
    worker.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_runs_with_two_kept_for_review_and_answer() {
    let world = World::start().await;
    let limits = Limits { max_agent_calls: 6, ..Limits::default() };
    let (_, record) = stopped(&world, limits, "max_agent_calls").await;
    assert!(record.runs.len() <= 6, "{} runs", record.runs.len());
    assert_eq!(record.count("critic-requested-more-work"), 1, "the review was kept: {}", record.log());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_never_json_use_up_their_retries_and_three_failed_runs_end_it() {
    let world = World::start().await;
    world.model.misbehave_in::<ManagerDecision>(Misbehaviour::BrokenJson, u32::MAX);
    let limits = Limits { max_retries: 1, ..Limits::default() };
    let (_, record) = stopped(&world, limits, "max_failures_in_row").await;
    let failed = record.runs.iter().filter(|run| run.state.as_str() != "done");
    assert_eq!(failed.count(), 3, "{}", record.log());
    assert_eq!(record.count("agent-failed"), 3);
    assert_eq!(record.count("job-fault"), 6, "1 + max_retries for each run: {}", record.log());
    assert_eq!(record.model_calls, 12, "and each asked 1 + max_retries times");
    let kinds: Vec<String> =
        record.messages.iter().map(|row| serde_json::to_string(&row.message.kind).unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "\"AGENT_FAILED\"").count(), 3, "{kinds:?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_never_ends_is_cut_and_counted() {
    let world = World::start().await;
    world.model.misbehave_in::<ManagerDecision>(Misbehaviour::Endless, u32::MAX);
    let limits = Limits { max_retries: 0, agent_timeout_ms: 700, ..Limits::default() };
    let (_, record) = stopped(&world, limits, "max_failures_in_row").await;
    assert_eq!(record.first("job-fault").data["class"], "TimedOut", "{}", record.log());
    assert_eq!(record.count("agent-failed"), 3);
    until_nothing_in_flight(&world).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_working_time_of_the_task_aborts_the_calls_in_flight() {
    let world = World::start().await;
    world.model.misbehave_in::<ResearchReport>(Misbehaviour::Endless, u32::MAX);
    let limits = Limits { task_timeout_ms: 4_000, ..Limits::default() };
    let started = Instant::now();
    let (_, record) = stopped(&world, limits, "task_timeout_ms").await;
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(record.count("job-fault"), 0, "that is nobody's fault: {}", record.log());
    let failed = record.subtasks.iter().filter(|subtask| subtask.status == SubtaskStatus::Failed);
    assert!(failed.count() >= 1, "{:?}", record.subtasks);
    assert!(record.subtasks.iter().all(|subtask| subtask.status != SubtaskStatus::Completed));
    assert!(!record.sources.is_empty(), "what the searches found is kept");
    until_nothing_in_flight(&world).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_researchers_that_fail_in_a_row() {
    let world = World::start().await;
    world.model.misbehave_in::<ResearchReport>(Misbehaviour::InvalidAction, u32::MAX);
    let limits = Limits { max_retries: 0, ..Limits::default() };
    let (_, record) = stopped(&world, limits, "max_failures_in_row").await;
    assert_eq!(record.subtasks.len(), 3);
    assert!(record.subtasks.iter().all(|subtask| subtask.status == SubtaskStatus::Failed));
    assert!(!record.sources.is_empty(), "what the searches found is kept");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_rejected_decisions_in_a_row() {
    let world = World::start().await;
    world.model.misbehave_in::<ManagerDecision>(Misbehaviour::PrematureComplete, u32::MAX);
    let (_, record) = stopped(&world, Limits::default(), "max_rejections_in_row").await;
    assert_eq!(record.count("manager-action-rejected"), 3);
    assert_eq!(record.decisions.iter().filter(|row| row.decision.rejected.is_some()).count(), 3);
    // Each time the Manager was told why.
    let told = requests(&world, "ManagerDecision");
    assert_eq!(told.len(), 3);
    assert!(!told[0].contains("\nREJECTED:"), "{}", told[0]);
    for request in &told[1..] {
        assert!(request.contains("REJECTED:") && request.contains("there is no review yet"), "{request}");
    }
    world.stop().await;
}

/// The user messages of all requests in this contract.
pub(super) fn requests(world: &World, contract: &str) -> Vec<String> {
    let of = |request: &serde_json::Value| {
        let whole = request["response_format"]["json_schema"]["name"] == contract;
        let messages = request["messages"].as_array()?;
        whole.then(|| {
            messages[1..].iter().map(|message| message["content"].to_string().replace("\\n", "\n")).collect()
        })
    };
    world.model.requests().iter().filter_map(of).collect()
}

async fn until_nothing_in_flight(world: &World) {
    let dropped = tokio::time::timeout(Duration::from_secs(2), async {
        while world.model.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(dropped.await.is_ok(), "the model still computes for nobody");
}

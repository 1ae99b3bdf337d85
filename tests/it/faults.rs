//! Servers that misbehave, people who cancel, workers that are drained: nothing is lost, and nothing is charged that
//! was not the job's doing.

use std::time::{Duration, Instant};

use nightforge_demo::Misbehaviour;
use nightforge_domain::{Millis, Status, TaskId};
use nightforge_queue::Bell;
use nightforge_tests::world::World;

const BUILD: Duration = Duration::from_secs(400);

/// How often each type of entry stands in the log.
async fn count(world: &World, task: &TaskId, type_name: &str) -> usize {
    world.log(task).await.iter().filter(|(found, _)| found == type_name).count()
}

async fn passed(world: &World, task: &TaskId) -> usize {
    world.store.task(task).await.unwrap().state.build().unwrap().progress().0
}

async fn steps(world: &World, task: &TaskId) -> u32 {
    world.store.jobs(task).await.unwrap().iter().map(|job| job.steps).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_runs_to_its_end_and_breaks_no_protocol() {
    let world = World::start().await;
    let worker = world.worker().await;
    let task = world.submit(|_| {}).await;
    let row = world.end_of(&task, BUILD).await;
    assert_eq!(row.status, Status::Completed, "{:?}", row.report);
    assert_eq!(world.model.violations(), Vec::<String>::new());
    let workspaces = world.data.path().join("work").join(task.as_str());
    let removed = tokio::time::timeout(Duration::from_secs(20), async {
        while workspaces.exists() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(removed.await.is_ok(), "the workspaces of a task that is over are removed");
    worker.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_server_are_not_charged() {
    let world = World::start().await;
    let misbehaviours = [
        Misbehaviour::Loading,
        Misbehaviour::TooManyRequests { retry_after_s: 1 },
        Misbehaviour::CutStream,
        Misbehaviour::ServerError,
    ];
    let worker = world.worker().await;
    let task = world.submit(|new| new.limits.max_sessions = 1).await;
    for (place, misbehaviour) in misbehaviours.into_iter().enumerate() {
        world.model.misbehave(misbehaviour, 1);
        let before = count(&world, &task, "job-handed-back").await;
        let limit = Duration::from_secs(60);
        let seen = tokio::time::timeout(limit, async {
            while count(&world, &task, "job-handed-back").await == before {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        assert!(seen.await.is_ok(), "misbehaviour {place} was not noticed");
        // Another step resets the back-off.
        let steps = steps(&world, &task).await;
        while steps == self::steps(&world, &task).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let row = world.end_of(&task, BUILD).await;
    assert_eq!(row.status, Status::NeedsReview, "one session was allowed: {:?}", row.report);
    assert_eq!(passed(&world, &task).await, 1, "and it proved its feature");
    assert_eq!(count(&world, &task, "job-fault").await, 0);
    assert_eq!(count(&world, &task, "attempt-failed").await, 0);
    worker.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_do_not_fit_are_asked_again_and_then_charged() {
    let world = World::start().await;
    // Two re-asks are free; the third answer of a call that does not fit is a counted fault.
    world.model.misbehave(Misbehaviour::BrokenJson, 2);
    world.model.misbehave(Misbehaviour::InvalidAction, 3);
    let worker = world.worker().await;
    let task = world.submit(|new| new.limits.max_sessions = 1).await;
    world.end_of(&task, BUILD).await;
    assert_eq!(count(&world, &task, "job-fault").await, 1);
    assert_eq!(passed(&world, &task).await, 1);
    assert_eq!(world.model.violations(), Vec::<String>::new(), "no broken JSON went back to the model");
    worker.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_that_are_used_up_fail_the_job_with_a_partial_report() {
    let world = World::start().await;
    world.model.misbehave(Misbehaviour::Truncated, 100);
    let worker = world.worker().await;
    let task = world.submit(|new| new.limits.max_retries = 1).await;
    let row = world.end_of(&task, BUILD).await;
    assert_eq!(row.status, Status::Failed);
    assert_eq!(count(&world, &task, "job-fault").await, 2, "1 + max_retries");
    assert!(row.report.unwrap().contains("Truncated"));
    worker.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_noticed_and_not_charged() {
    let world = World::start().await;
    world.model.misbehave(Misbehaviour::Hang, 1);
    let worker = world.worker().await;
    let task = world
        .submit(|new| {
            new.limits.agent_timeout_ms = 2_000;
            new.limits.max_sessions = 1;
        })
        .await;
    world.end_of(&task, BUILD).await;
    let log = world.log(&task).await;
    let handed_back: Vec<&str> = log
        .iter()
        .filter(|(found, _)| found == "job-handed-back")
        .map(|(_, data)| data["reason"].as_str().unwrap())
        .collect();
    assert_eq!(handed_back.len(), 1, "{handed_back:?}");
    assert!(handed_back[0].contains("not finished within 2s"), "{handed_back:?}");
    assert_eq!(count(&world, &task, "job-fault").await, 0);
    assert_eq!(passed(&world, &task).await, 1);
    worker.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_drops_the_call_in_flight_within_five_seconds() {
    let world = World::start().await;
    world.model.misbehave(Misbehaviour::Hang, 1);
    let worker = world.worker().await;
    let task = world.submit(|_| {}).await;
    while world.model.in_flight() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let asked = Instant::now();
    world.store.ask_cancel(&task, "a test").await.unwrap();
    world.bells.ring(Bell::Task(task.clone()));
    let row = world.end_of(&task, Duration::from_secs(10)).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!(row.status, Status::Cancelled);
    assert!(row.report.is_some(), "a partial report");
    let dropped = tokio::time::timeout(Duration::from_secs(1), async {
        while world.model.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(dropped.await.is_ok(), "the model still computes for nobody");
    assert!(world.store.ask_cancel(&task, "a test").await.is_err(), "it is over");
    worker.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_worker_hands_its_job_back_and_the_next_one_goes_on_from_the_journal() {
    let world = World::start().await;
    let first = world.worker().await;
    let task = world.submit(|new| new.limits.max_sessions = 3).await;
    world.until(&task, BUILD, |row| row.phase == "CODING F002").await;
    let second_session = async {
        loop {
            let jobs = world.store.jobs(&task).await.unwrap();
            if jobs.last().is_some_and(|job| job.steps >= 4) {
                return jobs.last().unwrap().clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let job = tokio::time::timeout(BUILD, second_session).await.expect("steps are journaled");
    first.drain().await;
    let journaled =
        world.store.journal(&nightforge_domain::JobId { task: task.clone(), no: job.no }).await.unwrap();
    assert!(
        world.store.jobs(&task).await.unwrap().iter().all(|job| job.state.as_str() != "running"),
        "every lease was handed back"
    );

    let second = world.worker().await;
    world.end_of(&task, BUILD).await;
    let after =
        world.store.journal(&nightforge_domain::JobId { task: task.clone(), no: job.no }).await.unwrap();
    assert_eq!(after[..journaled.len()], journaled[..], "steps that were done are not done again");
    assert_eq!(count(&world, &task, "job-fault").await, 0);
    assert_eq!(passed(&world, &task).await, 3);
    second.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_server_refuses_is_a_dead_letter_and_the_work_so_far_is_reported() {
    let world = World::start().await;
    let worker = world.worker().await;
    // The script has no more features than these: its 400 says so.
    let task = world.submit(|new| new.limits.min_features += 1).await;
    let row = world.end_of(&task, BUILD).await;
    assert_eq!(row.status, Status::NeedsReview);
    assert_eq!(count(&world, &task, "job-died").await, 1);
    assert!(row.report.unwrap().contains("dead letter"));
    worker.drain().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_the_work_in_flight_with_a_partial_report() {
    let world = World::start().await;
    world.model.misbehave(Misbehaviour::Hang, 1);
    let worker = world.worker().await;
    let now = world.store.now().await.unwrap();
    let task = world.submit(|new| new.deadline = Some(Millis(now.0 + 2_000))).await;
    let row = world.end_of(&task, Duration::from_secs(15)).await;
    assert_eq!(row.status, Status::NeedsReview);
    assert!(row.report.unwrap().contains("deadline"));
    worker.drain().await;
    world.stop().await;
}

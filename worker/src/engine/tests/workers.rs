//! A whole worker: drain, abort, and two jobs on one slot.

use std::time::{Duration, Instant};

use nightforge_domain::{JobId, JobNo, JobState, Limits};
use serde_json::{Value, json};

use super::bed::Bed;
use super::model::{Reply, last_message};

/// The Initializer's first answer; its test command is tried at once.
fn plan(test_command: &str) -> Value {
    json!({
        "thought": "Python.",
        "name": "board",
        "test_command": test_command,
        "test_file_pattern": "tests/test_{id}.py",
        "build_command": null,
        "serve_command": null,
        "init_script": "true\n",
    })
}

fn first_job(task: nightforge_domain::TaskId) -> JobId {
    JobId { task, no: JobNo(1) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_ends_within_the_grace_is_recorded() {
    let bed = Bed::new([Reply::SayWhenReleased(plan("false {files}"))]).await;
    let job = first_job(bed.task(Limits::default()).await);
    let worker = bed.worker(bed.config());
    bed.model.until_asked(1).await;
    worker.drain.cancel();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!worker.ended.is_finished(), "the step has its grace");
    bed.model.release();
    worker.drain().await;
    let row = bed.job(&job).await;
    assert_eq!((row.state, row.steps), (JobState::Ready, 2), "what there is, and the plan");
    assert_eq!((row.faults, row.infra_failures, row.deaths), (0, 0, 0));
    assert_eq!(bed.model.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_over_the_grace_is_given_up_and_its_job_handed_back() {
    let bed = Bed::new([]).await;
    let job = first_job(bed.task(Limits::default()).await);
    let mut config = bed.config();
    config.grace = Duration::from_millis(300);
    let worker = bed.worker(config);
    bed.model.until_asked(1).await;
    let asked = Instant::now();
    worker.drain().await;
    assert!(asked.elapsed() >= Duration::from_millis(300) && asked.elapsed() < Duration::from_secs(5));
    let row = bed.job(&job).await;
    assert_eq!((row.state, row.steps, row.infra_failures), (JobState::Ready, 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_waits_for_no_grace() {
    let bed = Bed::new([]).await;
    let job = first_job(bed.task(Limits::default()).await);
    let worker = bed.worker(bed.config());
    bed.model.until_asked(1).await;
    worker.abort.cancel();
    tokio::time::timeout(Duration::from_secs(5), worker.ended).await.expect("ends at once").unwrap().unwrap();
    assert_eq!(bed.job(&job).await.state, JobState::Ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_in_flight_at_the_drain_is_not_lost() {
    let bed = Bed::new([]).await;
    let config = bed.config();
    let job = first_job(bed.task(Limits::default()).await);
    // The claim waits for the write lock, and commits after the drain was asked for.
    let locked = bed.lock_database().await;
    let worker = bed.worker(config);
    tokio::time::sleep(Duration::from_millis(700)).await;
    worker.drain.cancel();
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(locked);
    worker.drain().await;
    let row = bed.job(&job).await;
    assert_eq!(row.state, JobState::Ready, "nobody holds this claim");
    assert_eq!(row.fence.0, 1, "and it was claimed");
    assert_eq!(bed.model.asked().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_command_of_one_job_leaves_the_slot_to_another() {
    let bed = Bed::new([Reply::Say(plan("sleep 20; false {files}"))]).await;
    bed.task(Limits::default()).await;
    bed.task(Limits::default()).await;
    let mut config = bed.config();
    config.sticky = Duration::from_millis(300);
    config.grace = Duration::from_millis(10);
    let worker = bed.worker(config);
    bed.model.until_asked(1).await;
    let first = Instant::now();
    let second = tokio::time::timeout(Duration::from_secs(10), bed.model.until_asked(2)).await;
    let second = second.expect("the second job waits for the first one's command");
    assert!(last_message(&second).contains("How is this project built"), "the other job's first question");
    assert!(first.elapsed() < Duration::from_secs(10), "{:?}", first.elapsed());
    worker.drain().await;
}

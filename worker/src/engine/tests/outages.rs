//! Servers and databases that go away and come back.

use std::time::Duration;

use nightforge_domain::{JobId, JobNo, JobState, Limits};
use serde_json::json;

use super::bed::Bed;
use super::endings::book_in;
use super::model::{Model, Reply};
use crate::engine::Failure;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_at_the_start_costs_nothing_and_is_noticed_when_it_comes() {
    let mut bed = Bed::new([]).await;
    let config = bed.config();
    let address = std::mem::replace(&mut bed.model, Model::start([]).await).stop().await;
    let job = JobId { task: bed.task(Limits::default()).await, no: JobNo(1) };
    let worker = bed.worker(config);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let row = bed.job(&job).await;
    assert_eq!((row.state, row.fence.0), (JobState::Ready, 0), "not claimed while its server is down");
    let model = Model::start_at(address, []).await;
    tokio::time::timeout(Duration::from_secs(20), model.until_asked(1)).await.expect("claimed once it is up");
    let row = bed.job(&job).await;
    assert_eq!((row.fence.0, row.faults, row.infra_failures, row.deaths), (1, 0, 0, 0));
    worker.abort.cancel();
    worker.ended.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_parks_its_jobs_until_it_is_back() {
    let mut bed = Bed::new([]).await;
    let mut config = bed.config();
    // The call in flight is not cut by its server's end: its connection stays open, and silent.
    config.time_limits.first_token = Duration::from_secs(1);
    let job = JobId { task: bed.task(Limits::default()).await, no: JobNo(1) };
    let worker = bed.worker(config);
    bed.model.until_asked(1).await;
    let address = std::mem::replace(&mut bed.model, Model::start([]).await).stop().await;
    let row = bed.until(&job, |row| row.state == JobState::Ready).await;
    assert_eq!((row.faults, row.infra_failures), (0, 1));
    bed.execute("UPDATE jobs SET run_after = 0").await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(bed.job(&job).await.fence.0, 1, "the endpoint is parked");
    let model = Model::start_at(address, []).await;
    tokio::time::timeout(Duration::from_secs(20), model.until_asked(1)).await.expect("it goes on");
    assert_eq!(bed.job(&job).await.fence.0, 2);
    worker.abort.cancel();
    worker.ended.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_gone_before_a_call_is_not_asked_and_never_charged() {
    let mut bed = Bed::new([]).await;
    let workshop = bed.workshop();
    bed.task(Limits::default()).await;
    std::mem::replace(&mut bed.model, Model::start([]).await).stop().await;
    // More often than a request may fail before it is a dead letter.
    for _ in 0..7 {
        let claim = bed.claim().await;
        let (mut context, _signal) = bed.context_in(claim.clone(), &workshop).await;
        let asking = context.step("model", &"a", async |context| {
            context.ask::<nightforge_domain::contract::InitScript>(Vec::new()).await
        });
        let failure = asking.await.unwrap_err();
        assert!(matches!(&failure, Failure::NotAsked(_)), "{failure:?}");
        book_in(&bed, &workshop, &claim, failure, false).await;
        let row = bed.job(&claim.job).await;
        assert_eq!((row.state, row.faults, row.infra_failures), (JobState::Ready, 0, 0));
    }
    assert_eq!(bed.model.asked().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_wants_a_key_is_parked_and_nothing_is_counted() {
    let bed = Bed::new([Reply::Fail(401, "Unauthorized")]).await;
    let job = JobId { task: bed.task(Limits::default()).await, no: JobNo(1) };
    let worker = bed.worker(bed.config());
    let row = bed.until(&job, |row| row.state == JobState::Ready && row.fence.0 == 1).await;
    assert_eq!((row.faults, row.infra_failures, row.deaths), (0, 0, 0));
    worker.abort.cancel();
    worker.ended.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_is_done_survives_a_database_that_is_away() {
    let script = json!({"thought": "t", "init_script": "true"});
    let bed = Bed::new([Reply::SayWhenReleased(script)]).await;
    let claim = bed.claimed().await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    let asking = tokio::spawn(async move {
        let answer = context.step("model", &"a", async |context| {
            let messages = vec![nightforge_llm::Message::user("?")];
            context.ask::<nightforge_domain::contract::InitScript>(messages).await
        });
        answer.await.unwrap()
    });
    bed.model.until_asked(1).await;
    let locked = bed.lock_database().await;
    bed.model.release();
    // Longer than SQLite waits for the lock, so that at least one write fails.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(bed.job(&claim.job).await.steps, 0);
    drop(locked);
    assert_eq!(asking.await.unwrap().init_script, "true");
    assert_eq!(bed.job(&claim.job).await.steps, 1);
    assert_eq!(bed.store.spent(&claim.job.task).await.unwrap().model_calls, 1, "its tokens are booked, too");
}

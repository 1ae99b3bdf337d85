//! Somebody cancels in the middle of a round: the calls in flight are dropped, and what was found is told.

use std::time::{Duration, Instant};

use nightforge_demo::{Misbehaviour, RESEARCH_OBJECTIVE};
use nightforge_domain::Status;
use nightforge_domain::contract::research::ResearchReport;
use nightforge_domain::research::Outcome;
use nightforge_queue::Bell;
use nightforge_sources::{Backend, Demo};
use nightforge_tests::team::TeamRecord;
use nightforge_tests::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_in_the_middle_of_a_round_drops_its_calls_and_keeps_its_sources() {
    let world = World::start().await;
    world.model.misbehave_in::<ResearchReport>(Misbehaviour::Hang, u32::MAX);
    let worker = world.researcher(vec![Backend::Demo(Demo::new())], Vec::new()).await;
    let task = world.submit_research(RESEARCH_OBJECTIVE, |_| {}).await;
    world.until(&task, Duration::from_secs(30), |row| row.phase == "RESEARCHING").await;
    let both = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let reports = super::limits::requests(&world, "ResearchReport").len();
            if reports >= 2 && world.model.in_flight() >= 2 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    both.await.expect("two researchers side by side");

    let asked = Instant::now();
    world.store.ask_cancel(&task, "a test").await.unwrap();
    world.bells.ring(Bell::Task(task.clone()));
    let row = world.end_of(&task, Duration::from_secs(10)).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!((row.status, row.phase.as_str()), (Status::Cancelled, "CANCELLED"));
    let dropped = tokio::time::timeout(Duration::from_secs(1), async {
        while world.model.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(dropped.await.is_ok(), "the model still computes for nobody");

    let record = TeamRecord::read(&world.store, &task).await;
    record.assert_history();
    record.assert_result_is_full();
    assert_eq!(record.result().outcome, Outcome::Stopped);
    assert!(!record.sources.is_empty(), "what the searches found is told");
    assert_eq!(record.count("job-fault") + record.count("agent-failed"), 0, "{}", record.log());
    assert!(record.jobs.iter().all(|job| !matches!(job.state.as_str(), "ready" | "running")));
    assert!(world.store.ask_retry(&task, None, "a test").await.is_err(), "a cancel holds");
    worker.drain().await;
    world.stop().await;
}

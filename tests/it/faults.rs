//! Servers that misbehave, people who cancel, workers that are drained: nothing is lost and nothing is charged that
//! was not the job's doing.

use std::time::Duration;

use nightforge_demo::Misbehaviour;
use nightforge_domain::Status;
use nightforge_tests::world::World;

const BUILD: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread")]
async fn a_build_runs_to_its_end_and_breaks_no_protocol() {
    let world = World::start().await;
    let worker = world.worker().await;
    let task = world.submit(|_| {}).await;
    let row = world.end_of(&task, BUILD).await;
    assert_eq!(row.status, Status::Completed, "{:?}", row.report);
    assert_eq!(world.model.violations(), Vec::<String>::new());
    worker.drain().await;
    world.stop().await;
}

//! A search that could not look is no evidence of absence: the task waits, and goes on when it is back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nightforge_domain::research::SubtaskStatus;
use nightforge_domain::{Status, TaskId};
use nightforge_sources::Backend;
use nightforge_sources::search::{Patience, SearxNg, SearxNgConfig};
use nightforge_tests::site::{Site, ok, searxng, status};
use nightforge_tests::team::TeamRecord;
use nightforge_tests::world::World;

const OBJECTIVE: &str = "How high is the Brackwater lighthouse?";

const PAGE: &str = "<html><head><title>Brackwater lighthouse</title></head><body><article><h1>Brackwater lighthouse</h1>\
    <p>The Brackwater lighthouse is 41 metres high and was lit for the first time in 1887.</p>\
    <p>Its keeper writes a diary of wind and weather, and visitors climb its 203 steps on Sundays in the summer. A \
    small shop sells postcards, tea and cakes, and a path leads down to the harbour and its boats.</p></article></body></html>";

/// What the search does.
const REFUSES: u32 = 0;
const LIMITS: u32 = 1;
const WORKS: u32 = 2;

#[tokio::test(flavor = "multi_thread")]
async fn while_the_search_is_away_the_task_waits_and_nothing_is_said_to_be_absent() {
    let world = World::start().await;
    let page = Site::start(2, |path| match path {
        "/lighthouse" => ok("text/html; charset=utf-8", PAGE),
        _ => status("404 Not Found"),
    })
    .await;
    let mode = Arc::new(AtomicU32::new(REFUSES));
    let (told, url) = (Arc::clone(&mode), page.url("/lighthouse"));
    let search = Site::start(1, move |_| match told.load(Ordering::SeqCst) {
        REFUSES => status("500 Internal Server Error"),
        LIMITS => status("429 Too Many Requests"),
        _ => searxng(&[(url.clone(), "Brackwater lighthouse".to_owned(), "How high it is.".to_owned())]),
    })
    .await;
    let config = SearxNgConfig {
        base_url: search.url("/").parse().unwrap(),
        language: None,
        patience: Patience::default(),
    };
    let places = vec![Backend::SearxNg(SearxNg::new(config).unwrap())];
    let worker = world.researcher(places, vec![page.place()]).await;
    let task = world.submit_research(OBJECTIVE, |_| {}).await;

    for away in [REFUSES, LIMITS] {
        mode.store(away, Ordering::SeqCst);
        let before = handed_back(&world, &task).await;
        let again = tokio::time::timeout(Duration::from_secs(70), async {
            while handed_back(&world, &task).await < before + 2 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        again.await.expect("the search is asked again and again, and each time the job waits");
        let record = TeamRecord::read(&world.store, &task).await;
        assert_eq!(record.task.status, Status::Running, "{}", record.log());
        for nothing in ["tool-called", "research-blocked", "research-reported", "job-fault", "agent-failed"] {
            assert_eq!(record.count(nothing), 0, "{nothing}\n{}", record.log());
        }
        assert!(record.subtasks.iter().all(|subtask| subtask.status == SubtaskStatus::Assigned));
        assert!(record.jobs.iter().all(|job| job.faults == 0 && job.deaths == 0));
    }
    let waits = world
        .store
        .jobs(&task)
        .await
        .unwrap()
        .into_iter()
        .filter_map(|job| job.last_error)
        .collect::<Vec<_>>();
    assert!(waits.iter().any(|why| why.contains("searxng") || why.contains(&search.place())), "{waits:?}");

    mode.store(WORKS, Ordering::SeqCst);
    let row = world.end_of(&task, Duration::from_secs(60)).await;
    let record = TeamRecord::read(&world.store, &task).await;
    assert_eq!(row.status, Status::Completed, "{}", record.log());
    record.assert_history();
    record.assert_result_is_full();
    record.assert_key_findings_hold();
    assert!(record.result().key_findings.iter().any(|finding| finding.statement.contains("41 metres")));
    assert_eq!(record.count("job-fault"), 0, "{}", record.log());
    // The queries were written once: what a claim had done was not done again by the next one.
    let researchers = record.subtasks.len();
    assert_eq!(super::limits::requests(&world, "ResearchQueries").len(), researchers);
    worker.drain().await;
    world.stop().await;
}

async fn handed_back(world: &World, task: &TaskId) -> usize {
    let log = world.log(task).await;
    log.iter().filter(|(type_name, _)| type_name == "job-handed-back").count()
}

//! How a researcher ends without a report of its model.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nightforge_domain::contract::research::ReportStatus;
use nightforge_domain::{JobId, JobNo, JobState, Limits, Status};
use nightforge_sources::SearchAnswer;
use serde_json::json;

use super::bed::{OBJECTIVE, ResearchBed, hit, queries, report, submit};
use super::whole::{hits, pages, researched};
use crate::engine::Failure;
use crate::engine::tests::bed::Bed;
use crate::engine::tests::model::{Reply, last_message};

fn unavailable(reason: &str, seconds: u64) -> SearchAnswer {
    SearchAnswer::Unavailable { reason: reason.to_owned(), retry_after: Some(Duration::from_secs(seconds)) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_could_not_look_hands_the_job_back_uncounted() {
    let bed = ResearchBed::new(pages()).await;
    let answers =
        [("pilates nassau price", SearchAnswer::Empty), ("pilates visitors", unavailable("busy", 120))];
    bed.script([queries(&["pilates nassau price", "pilates visitors"])]);
    let mut config = bed.bed.config();
    config.search = Some(Arc::new(bed.setup(&answers)));
    let job = JobId { task: bed.task.clone(), no: JobNo(2) };
    let worker = bed.bed.worker(config);
    let row = bed.bed.until(&job, |row| row.state == JobState::Ready && row.fence.0 == 1).await;
    worker.drain().await;
    assert_eq!((row.faults, row.infra_failures, row.deaths), (0, 0, 0));
    assert_eq!(row.last_error.as_deref(), Some("busy"));
    let wait_ms = row.run_after.0 - row.claimed_at.unwrap().0;
    assert!((115_000..130_000).contains(&wait_ms), "it waits as long as the search asked: {wait_ms}");
    assert_eq!(bed.asked().len(), 1, "no report was asked for");
    // The search is back: only the query that nobody could look for is asked again.
    bed.bed.execute("UPDATE jobs SET run_after = 0").await;
    bed.script([report("Visitors may come.", &[("S1", "The same once more, says the mirror")])]);
    let claim = bed.bed.claim().await;
    let report = researched(bed.run(&claim, &bed.workshop(&hits())).await.unwrap());
    assert_eq!(report.status, ReportStatus::Completed);
    assert_eq!(bed.searches(), ["pilates nassau price", "pilates visitors"]);
    assert_eq!(bed.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_found_no_model_is_asked_for_a_report() {
    let placeholder = {
        let mut hit = hit("demo://no-curated-data", "Nothing", "No curated data.");
        hit.placeholder = true;
        SearchAnswer::Hits { hits: vec![hit] }
    };
    let bed = ResearchBed::new(pages()).await;
    bed.script([queries(&["tea", "coffee"])]);
    let (_, result) =
        bed.run_and_advance(&bed.workshop(&[("tea", SearchAnswer::Empty), ("coffee", placeholder)])).await;
    let report = researched(result);
    assert_eq!(report.status, ReportStatus::Blocked);
    assert_eq!(report.blocked_reason.as_deref(), Some("no source found for: tea; coffee"));
    assert_eq!(report.new_sources, 0);
    assert_eq!(bed.tool_calls().await, ["search tea: nothing", "search coffee: nothing"]);
    assert_eq!(bed.asked().len(), 1);
    assert_eq!(bed.events("research-blocked").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_the_user_that_cannot_be_read_is_named() {
    let bed = ResearchBed::about("What does {site}/gone say?", pages(), Limits::default()).await;
    bed.script([queries(&["tea"])]);
    let (_, result) = bed.run_and_advance(&bed.workshop(&[("tea", SearchAnswer::Empty)])).await;
    let reason = researched(result).blocked_reason.unwrap();
    assert_eq!(reason, "no source found for: tea; these could not be read: S1");
    assert_eq!(bed.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_a_search_says_what_to_configure() {
    let bed = ResearchBed::new(pages()).await;
    let claim = bed.bed.claim().await;
    let ended = bed.run(&claim, &bed.bed.workshop()).await;
    let Err(Failure::Unavailable { reason, .. }) = ended else { panic!("{ended:?}") };
    assert!(reason.contains("[[research.search]]"), "{reason}");
    assert_eq!(bed.asked().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_cites_nothing_valid_is_asked_for_once_more() {
    let bed = ResearchBed::new(pages()).await;
    let invented = || report("It costs 35 dollars.", &[("S99", "A visitor pays 35 dollars for one class.")]);
    bed.script([queries(&["pilates nassau price"]), invented(), invented()]);
    let (_, result) = bed.run_and_advance(&bed.workshop(&hits())).await;
    let report = researched(result);
    assert_eq!(report.status, ReportStatus::Completed, "taken as it is, with nothing under it");
    assert_eq!(report.findings[0].evidence, []);
    let asked = bed.asked();
    assert_eq!(asked.len(), 3);
    assert!(!last_message(&asked[1]).contains("REJECTED:"));
    let again = last_message(&asked[2]);
    assert!(again.contains("REJECTED:") && again.contains("S99"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_time_is_over_ends_its_call_in_flight() {
    let limits = Limits { task_timeout_ms: 400, ..Limits::default() };
    let bed = Bed::new([]).await;
    let task = submit(&bed, OBJECTIVE, limits).await;
    let job = JobId { task: task.clone(), no: JobNo(1) };
    let worker = bed.worker(bed.config());
    bed.model.until_asked(1).await;
    let asked = Instant::now();
    let row = bed.until(&job, |row| row.state == JobState::Done).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!((row.faults, row.infra_failures, row.deaths), (0, 0, 0));
    worker.drain().await;
    bed.advance(&task).await;
    let row = bed.store.task(&task).await.unwrap();
    assert_eq!(row.status, Status::NeedsReview);
    let events = bed.store.events(&task, 0, 100).await.unwrap();
    let limit = events.iter().find(|event| event.type_name == "limit-reached").expect("it is told");
    assert_eq!(limit.data["limit"], "task_timeout_ms");
    assert_eq!(bed.store.spent(&task).await.unwrap().model_calls, 1, "the call that was cut is booked");
}

/// Runs a worker until the researcher's job is over; the name of the limit that ended its task.
async fn limit_reached(bed: &ResearchBed) -> String {
    let mut config = bed.bed.config();
    config.search = Some(Arc::new(bed.setup(&hits())));
    let worker = bed.bed.worker(config);
    let job = JobId { task: bed.task.clone(), no: JobNo(2) };
    let row = bed.bed.until(&job, |row| row.state == JobState::Done).await;
    worker.drain().await;
    assert_eq!((row.infra_failures, row.deaths), (0, 0));
    bed.bed.advance(&bed.task).await;
    let row = bed.bed.store.task(&bed.task).await.unwrap();
    assert_eq!(row.status, Status::NeedsReview);
    assert!(row.report.is_some(), "what there is is told");
    bed.events("limit-reached").await[0].data["limit"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_made_beyond_the_limit_also_none_that_asks_again() {
    let limits = Limits { max_model_calls: 3, max_retries: 5, ..Limits::default() };
    let bed = ResearchBed::about(OBJECTIVE, pages(), limits).await;
    bed.script([queries(&["pilates nassau price"])]);
    bed.script((0..4).map(|_| Reply::Say("no report".into())));
    assert_eq!(limit_reached(&bed).await, "max_model_calls");
    assert_eq!(bed.bed.store.spent(&bed.task).await.unwrap().model_calls, 3);
    assert_eq!(bed.asked().len(), 2, "beside the manager's");
}

#[tokio::test(flavor = "multi_thread")]
async fn researchers_side_by_side_share_what_is_left() {
    let limits = Limits { max_model_calls: 4, max_retries: 5, ..Limits::default() };
    let tasks = json!([
        {"title": "Visitors", "description": "What they pay."},
        {"title": "Residents", "description": "What they pay."},
        {"title": "Members", "description": "What they pay."},
    ]);
    let plan = json!({"reason": "r", "action": "ASSIGN_RESEARCH", "message": "m", "tasks": tasks, "review_focus": null});
    let bed = Bed::new([Reply::Say(plan)]).await;
    let task = submit(&bed, OBJECTIVE, limits).await;
    let bed = ResearchBed { bed, task, site: "http://127.0.0.1:9".to_owned() };
    bed.run_and_advance(&bed.bed.workshop()).await;
    bed.script((0..2).map(|_| queries(&["pilates nassau price"])));
    bed.script((0..9).map(|_| Reply::Say("neither queries nor a report".into())));
    let mut config = bed.bed.config();
    config.slots = 3;
    config.search = Some(Arc::new(bed.setup(&hits())));
    let worker = bed.bed.worker(config);
    let job = JobId { task: bed.task.clone(), no: JobNo(2) };
    bed.bed.until(&job, |row| matches!(row.state, JobState::Done | JobState::Failed)).await;
    bed.bed.advance(&bed.task).await;
    worker.drain().await;
    assert_eq!(bed.bed.store.spent(&bed.task).await.unwrap().model_calls, 4);
    assert_eq!(bed.bed.model.asked().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_begins_when_the_tokens_are_used_up() {
    // A call of the script takes 18.
    let limits = Limits { max_tokens: 30, ..Limits::default() };
    let bed = ResearchBed::about(OBJECTIVE, pages(), limits).await;
    bed.script([queries(&["pilates nassau price"]), report("One class.", &[("S1", "One class")])]);
    assert_eq!(limit_reached(&bed).await, "max_tokens");
    assert_eq!(bed.bed.store.spent(&bed.task).await.unwrap().tokens(), 36);
    assert_eq!(bed.asked().len(), 1, "beside the manager's");
}

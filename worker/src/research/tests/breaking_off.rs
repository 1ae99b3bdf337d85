//! A researcher that is killed after any of its steps goes on from its journal.

use nightforge_domain::research::Source;
use nightforge_domain::{JobResult, Millis};
use serde_json::Value;

use super::bed::{ResearchBed, queries, report};
use super::whole::{hits, pages, researched};
use crate::engine::tests::bed::interruption;
use crate::engine::{Failure, Interruption};

const QUOTE: &str = "A visitor pays 35 dollars for one Pilates class at the harbour studio.";

fn without_times(mut sources: Vec<Source>) -> Vec<Source> {
    sources.iter_mut().for_each(|source| source.at = Millis(0));
    sources
}

/// The log without what tells of a recovery.
async fn log(bed: &ResearchBed) -> Vec<(String, Value)> {
    let events = bed.bed.store.events(&bed.task, 0, 10_000).await.unwrap();
    let recovery = ["job-claimed", "job-handed-back", "journal-cut", "lease-expired"];
    let events = events.into_iter().filter(|event| !recovery.contains(&event.type_name.as_str()));
    events.map(|event| (event.type_name, event.data)).collect()
}

fn report_of(result: JobResult) -> String {
    format!("{:?}", researched(result))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_made_twice_wherever_it_breaks_off() {
    let bed = ResearchBed::new(pages()).await;
    let invented = report("It costs 35 dollars.", &[("S99", QUOTE)]);
    let valid = || report("One class costs a visitor 35 dollars.", &[("S1", QUOTE)]);
    bed.script([queries(&["pilates nassau price", "pilates visitors"]), invented, valid()]);
    let workshop = bed.workshop(&hits());
    let claim = bed.bed.claim().await;
    let whole = report_of(bed.run(&claim, &workshop).await.unwrap());
    let journal = bed.bed.store.journal(&claim.job).await.unwrap();
    let names: Vec<&str> = journal.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "view",
            "model-queries",
            "search",
            "search",
            "pages",
            "read",
            "read",
            "read",
            "model-report",
            "model-report-again",
        ]
    );
    let (sources, told) = (without_times(bed.sources().await), log(&bed).await);
    let (asked, searched) = (bed.asked().len(), bed.searches().len());
    assert_eq!((asked, searched), (3, 2));

    for kept in (0..=journal.len()).rev() {
        // As if the worker had died before the step of this number was recorded: its rows are there, it is not.
        let job = claim.job.no.0;
        bed.bed.execute(&format!("DELETE FROM steps WHERE job = {job} AND ordinal >= {kept}")).await;
        bed.bed.execute(&format!("UPDATE jobs SET steps = {kept} WHERE number = {job}")).await;
        let lost = &names[kept..];
        let again = |name: &str| lost.iter().filter(|lost| **lost == name).count();
        let invented = report("It costs 35 dollars.", &[("S99", QUOTE)]);
        let mut script = Vec::new();
        if again("model-queries") > 0 {
            script.push(queries(&["pilates nassau price", "pilates visitors"]));
        }
        if again("model-report") > 0 {
            script.push(invented);
        }
        if again("model-report-again") > 0 {
            script.push(valid());
        }
        let (asked, searched) = (bed.asked().len() + script.len(), bed.searches().len() + again("search"));
        bed.script(script);
        let result = bed.run(&claim, &workshop).await.unwrap();
        assert_eq!(report_of(result), whole, "after {kept} steps");
        assert_eq!((bed.asked().len(), bed.searches().len()), (asked, searched), "after {kept} steps");
        assert_eq!(without_times(bed.sources().await), sources, "after {kept} steps");
        assert!(bed.events("journal-cut").await.is_empty());
        if kept == journal.len() {
            assert_eq!(log(&bed).await, told, "nothing is told twice");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_nobody_could_look_for_is_put_off_and_the_rest_goes_on() {
    let bed = ResearchBed::new(pages()).await;
    bed.script([
        queries(&["not recorded", "pilates nassau price"]),
        report("One class costs a visitor 35 dollars.", &[("S1", QUOTE)]),
    ]);
    let workshop = bed.workshop(&hits());
    let claim = bed.bed.claim().await;
    let first = report_of(bed.run(&claim, &workshop).await.unwrap());
    let calls = bed.tool_calls().await;
    assert_eq!(calls[..2], ["search pilates nassau price: 2 hits", "search not recorded: unavailable"]);
    assert_eq!(
        report_of(bed.run(&claim, &workshop).await.unwrap()),
        first,
        "replayed in the order of the journal"
    );
    assert_eq!(bed.tool_calls().await, calls);
    assert_eq!((bed.asked().len(), bed.searches().len()), (2, 1));
    assert!(bed.events("journal-cut").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_over_writes_nothing() {
    let bed = ResearchBed::new(pages()).await;
    let answers = hits();
    let claim = bed.bed.claim().await;
    bed.bed.execute("UPDATE jobs SET fence = fence + 1").await;
    let events = bed.bed.log(&bed.task).await.len();
    assert_eq!(interruption(bed.run(&claim, &bed.workshop(&answers)).await), Interruption::Lost);
    assert_eq!((bed.bed.log(&bed.task).await.len(), bed.asked().len()), (events, 0), "not even its view");

    bed.bed.execute("UPDATE jobs SET fence = fence - 1").await;
    bed.script([queries(&["pilates visitors"])]);
    let stopped = bed.run(&claim, &bed.workshop(&answers[..1])).await;
    assert!(matches!(stopped, Err(Failure::Unavailable { .. })), "{stopped:?}");
    bed.bed.execute("UPDATE jobs SET fence = fence + 1").await;
    let events = bed.bed.log(&bed.task).await.len();
    assert_eq!(interruption(bed.run(&claim, &bed.workshop(&answers)).await), Interruption::Lost);
    assert_eq!(bed.searches(), ["pilates visitors"], "it has searched");
    assert_eq!(bed.sources().await, []);
    assert_eq!(bed.bed.log(&bed.task).await.len(), events);
    assert_eq!(bed.bed.store.journal(&claim.job).await.unwrap().len(), 2);
}

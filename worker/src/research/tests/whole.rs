//! One assignment from its queries to its report, and a whole task.

use nightforge_domain::contract::research::{Confidence, ReportStatus};
use nightforge_domain::research::{GroundedReport, Level, SourceStatus};
use nightforge_domain::{JobResult, Limits, Status};
use nightforge_sources::SearchAnswer;
use serde_json::json;

use super::bed::{ResearchBed, article, hit, queries, report};
use crate::engine::tests::model::{Reply, last_message};

const PRICE: &str = "A visitor pays 35 dollars for one Pilates class at the harbour studio.";

pub(super) fn pages() -> Vec<(&'static str, String)> {
    vec![("/prices", article("Prices", PRICE)), ("/mirror", article("Prices", PRICE))]
}

pub(super) fn hits() -> Vec<(&'static str, SearchAnswer)> {
    let prices = hit("{site}/prices", "Prices", "One class for visitors.");
    let missing =
        hit("{site}/missing", "Gone", "Resident rates are said to be lower than those of visitors.");
    let mirror = hit("{site}/mirror", "Mirror", "The same once more.");
    let same = hit("{site}/prices?utm_source=x#top", "Prices", "One class.");
    vec![
        ("pilates nassau price", SearchAnswer::Hits { hits: vec![prices, missing] }),
        ("pilates visitors", SearchAnswer::Hits { hits: vec![same, mirror] }),
    ]
}

pub(super) fn researched(result: JobResult) -> GroundedReport {
    match result {
        JobResult::Researched { report, .. } => report,
        other => panic!("no report: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_is_searched_read_and_reported() {
    let bed = ResearchBed::new(pages()).await;
    bed.script([
        queries(&["pilates nassau price", "Pilates  visitors", "PILATES visitors!"]),
        report("One class costs a visitor 35 dollars.", &[("S1", PRICE), ("S99", PRICE)]),
    ]);
    let (_, result) = bed.run_and_advance(&bed.workshop(&hits())).await;
    let report = researched(result);
    assert_eq!(report.status, ReportStatus::Completed);
    assert_eq!(report.new_sources, 2, "a page, one that can't be read, and a mirror of the first");
    let finding = &report.findings[0];
    assert_eq!((finding.level, finding.confidence), (Level::G3, Confidence::Low), "{:?}", finding.notes);
    assert_eq!(finding.evidence.len(), 1);
    assert_eq!(finding.notes.len(), 1, "{:?}", finding.notes);

    let sources = bed.sources().await;
    let statuses: Vec<SourceStatus> = sources.iter().map(|source| source.status).collect();
    assert_eq!(statuses, [SourceStatus::Read, SourceStatus::Unreachable, SourceStatus::Duplicate]);
    assert_eq!(bed.searches(), ["pilates nassau price", "Pilates visitors"], "the same is not asked twice");
    assert_eq!(
        bed.tool_calls().await,
        [
            "search pilates nassau price: 2 hits",
            "search Pilates visitors: 2 hits",
            "read_page S1: read",
            "read_page S2: unreachable",
            "read_page S3: duplicate",
        ]
    );
    let started = bed.events("agent-started").await;
    assert_eq!(started[1].data["subject"], "Visitor prices");
    assert_eq!(started[1].data["agent"], "researcher");

    let asked = bed.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1]["response_format"]["json_schema"]["name"], "ResearchReport");
    let question = last_message(&asked[1]);
    assert!(question.contains("S1 |") && question.contains(PRICE), "{question}");
    assert!(question.contains("(snippet only)") && question.contains("Resident rates"), "{question}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_the_user_names_are_read_first_and_only_once() {
    let objective = "Is {site}/named right about visitors? See also {site}/prices.";
    let named = article("Named", "The named page says that visitors are welcome on every day but Sunday.");
    let mut all = pages();
    all.push(("/named", named));
    let bed = ResearchBed::about(objective, all, Limits::default()).await;
    bed.script([
        queries(&["pilates visitors"]),
        report("Visitors are welcome.", &[("S1", "visitors are welcome on every day but Sunday")]),
    ]);
    let (_, result) = bed.run_and_advance(&bed.workshop(&hits())).await;
    assert_eq!(researched(result).findings[0].level, Level::G3);
    let sources = bed.sources().await;
    assert_eq!(sources[0].tool, "user");
    assert_eq!(
        bed.tool_calls().await,
        [
            "search pilates visitors: 2 hits",
            "read_page S1: read",
            "read_page S2: read",
            "read_page S3: duplicate"
        ]
    );
    // Another assignment of the same task: nothing is read again, and all of it can be quoted.
    bed.script([
        super::bed::assign("Sundays", "What happens on Sundays?"),
        queries(&["pilates visitors"]),
        report("Not on Sundays.", &[("S1", "visitors are welcome on every day but Sunday")]),
    ]);
    let workshop = bed.workshop(&hits());
    bed.run_and_advance(&workshop).await;
    let (_, result) = bed.run_and_advance(&workshop).await;
    let report = researched(result);
    assert_eq!((report.new_sources, report.findings[0].level), (0, Level::G3));
    let calls = bed.tool_calls().await;
    assert_eq!(calls.len(), 5, "{calls:?}");
    assert_eq!(calls[4], "search pilates visitors: 2 hits");
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_the_demo_are_read_and_never_carry_much() {
    let bed = ResearchBed::new(Vec::new()).await;
    let address = "demo://nassau/studios/palm-and-core.md";
    let hits = vec![hit(address, "[Demo data] Palm and Core", "A studio.")];
    bed.script([
        queries(&["pilates"]),
        report("Palm and Core is a studio at Cable Beach.", &[("S1", "the members' studio at Cable Beach")]),
    ]);
    let (_, result) = bed.run_and_advance(&bed.workshop(&[("pilates", SearchAnswer::Hits { hits })])).await;
    assert_eq!(bed.tool_calls().await, ["search pilates: 1 hit", "read_page S1: read"]);
    let finding = &researched(result).findings[0];
    assert_eq!((finding.level, finding.confidence), (Level::G3, Confidence::Medium), "{:?}", finding.notes);
    assert!(finding.is_demo);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_comes_to_an_answer() {
    let bed = ResearchBed::new(pages()).await;
    let workshop = bed.workshop(&hits());
    bed.script([
        queries(&["pilates nassau price"]),
        report("One class costs a visitor 35 dollars.", &[("S1", PRICE)]),
        Reply::Say(json!({
            "reason": "There is a finding.", "action": "REQUEST_REVIEW", "message": "Have a look.",
            "tasks": [], "review_focus": "prices",
        })),
        Reply::Say(json!("not an answer")),
        // It judges a finding that it was not shown, so it is asked once more.
        Reply::Say(json!({
            "summary": "It holds.",
            "verdicts": [{"finding_id": "F7.1", "note": "Surely.", "verdict": "SUPPORTED"}],
            "issues": [], "requested_research": [], "decision": "APPROVED",
        })),
        Reply::Say(json!({
            "summary": "It holds.",
            "verdicts": [{"finding_id": "F1.1", "note": "The page says so.", "verdict": "SUPPORTED"}],
            "issues": [], "requested_research": [], "decision": "APPROVED",
        })),
        Reply::Say(json!({
            "reason": "Approved.", "action": "COMPLETE", "message": "Done.", "tasks": [], "review_focus": null,
        })),
        Reply::Say(json!({
            "summary": "A class costs a visitor 35 dollars.",
            "key_findings": [{"statement": "A visitor pays 35 dollars for one class.", "source_ids": ["S1", "S7"]}],
            "uncertainties": [], "recommendations": ["Book early."], "conclusion": "35 dollars.",
            "confidence": "high",
        })),
    ]);
    for kind in ["research", "manage", "review", "manage", "synthesize"] {
        let (spec, result) = bed.run_and_advance(&workshop).await;
        assert_eq!(spec.kind(), kind);
        if let JobResult::Synthesized { synthesis, .. } = result {
            let key = &synthesis.key_findings[0];
            assert_eq!((key.level, key.confidence, key.sources.len()), (Level::G3, Confidence::Low, 1));
        }
    }
    let task = bed.bed.store.task(&bed.task).await.unwrap();
    assert_eq!(task.status, Status::Completed);
    let told = bed.asked().iter().any(|asked| asked.to_string().contains("it had no verdict for F1.1"));
    assert!(told, "the critic is told which verdict is missing");
    let retries = bed.events("agent-retry").await;
    assert_eq!(retries.len(), 1);
    assert_eq!((&retries[0].data["agent"], &retries[0].data["reasks"]), (&json!("critic"), &json!(1)));
    let subjects: Vec<String> = bed
        .events("agent-started")
        .await
        .iter()
        .map(|event| format!("{} {}", event.data["agent"], event.data["subject"]).replace('"', ""))
        .collect();
    assert_eq!(
        subjects,
        [
            "manager decision 1 of 10",
            "researcher Visitor prices",
            "manager decision 2 of 10",
            "critic review 1",
            "manager decision 3 of 10",
            "synthesizer the final answer",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_may_not_be_asked_take_no_page_from_the_hits() {
    let refused: Vec<String> = (1..=7).map(|host| format!("http://10.0.0.{host}/")).collect();
    let objective = format!("Are {} right about visitors?", refused.join(" and "));
    let bed = ResearchBed::about(&objective, pages(), Limits::default()).await;
    bed.script([
        queries(&["pilates nassau price"]),
        report("One class costs a visitor 35 dollars.", &[("S8", PRICE)]),
    ]);
    let (_, result) = bed.run_and_advance(&bed.workshop(&hits())).await;
    assert_eq!(researched(result).findings[0].level, Level::G3);
    let calls = bed.tool_calls().await;
    let mut expected: Vec<String> = (1..=6).map(|id| format!("read_page S{id}: refused")).collect();
    expected.extend(["read_page S8: read".to_owned(), "read_page S9: unreachable".to_owned()]);
    assert_eq!(calls[1..], expected, "eight are tried, and two of them are kept for hits");
}

//! The demo's research, from one command to an answer with its sources.

use nightforge_tests::team::TeamRecord;
use nightforge_tests::{json, research_demo_command};
use serde_json::Value;

/// Runs the demo to its end; returns what it printed.
fn shown(data: &std::path::Path, more: &[&str]) -> Value {
    let report = json(&research_demo_command(data).args(more).output().unwrap());
    let task = report["tasks"][0].clone();
    assert_eq!(
        (task["kind"].as_str(), task["state"].as_str()),
        (Some("research"), Some("completed")),
        "{report}"
    );
    task
}

#[test]
fn the_critic_sends_the_work_back_once_and_the_answer_stands_on_its_sources() {
    let data = tempfile::tempdir().unwrap();
    let task = shown(data.path(), &[]);
    let record = TeamRecord::only(data.path());
    record.assert_history();
    record.assert_result_is_full();
    record.assert_key_findings_hold();
    let at = |type_name: &str| record.first(type_name).seq;
    assert!(at("critic-requested-more-work") < at("critic-approved"), "{}", record.log());
    assert!(at("critic-approved") < at("manager-completed"), "{}", record.log());
    let result = record.result();
    assert!(result.warnings.iter().any(|warning| warning.contains("Demonstration data")), "{result:?}");
    assert_eq!(task["result"]["warnings"], serde_json::to_value(&result.warnings).unwrap());
    assert_eq!(task["result"]["conclusion"].as_str(), result.conclusion.as_deref());
    let report = std::fs::read_to_string(task["report"].as_str().unwrap()).unwrap();
    assert_eq!(Some(report), record.task.report, "the file is what the database holds");
    assert_eq!(record.count("lease-expired"), 0);
    record.assert_golden();
}

#[test]
fn in_japanese_the_answer_and_its_headings_are_japanese() {
    let data = tempfile::tempdir().unwrap();
    shown(data.path(), &["--language", "ja"]);
    let record = TeamRecord::only(data.path());
    record.assert_history();
    record.assert_result_is_full();
    record.assert_key_findings_hold();
    let conclusion = record.result().conclusion.clone().unwrap();
    assert!(is_japanese(&conclusion), "{conclusion}");
    let report = record.task.report.as_deref().unwrap();
    let headings: Vec<&str> = report.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(headings.len() >= 4, "{report}");
    for heading in headings {
        assert!(is_japanese(heading), "{heading} in\n{report}");
    }
    for finding in &record.result().key_findings {
        assert!(is_japanese(&finding.statement), "{finding:?}");
    }
}

fn is_japanese(text: &str) -> bool {
    text.chars().any(|letter| matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'))
}

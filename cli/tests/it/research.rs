//! Research from the command line, with the scripted model over the demo's documents.

use std::collections::BTreeSet;
use std::io::BufReader;

use serde_json::Value;

use crate::program::{Place, SlowDemo, line_with};

fn demo(place: &Place, more: &[&str]) -> crate::program::Run {
    place.run(&[&["demo", "--kind", "research", "--data", "data"], more].concat())
}

#[test]
fn a_demo_shows_the_team_and_leaves_a_report() {
    let place = Place::new();
    let run = demo(&place, &["-o", "json"]);
    let task = &run.json()["tasks"][0];
    let keys: Vec<&String> = task.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "kind", "state", "report", "result"]);
    assert_eq!((task["kind"].as_str(), task["state"].as_str()), (Some("research"), Some("completed")));
    let result = &task["result"];
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["outcome", "conclusion", "confidence", "key_findings", "warnings"]);
    assert_eq!(result["outcome"], "answered");
    assert!(result["key_findings"].as_u64().unwrap() > 0);
    assert!(result["warnings"][0].as_str().unwrap().contains("Demonstration data"));
    // The conversation is told as it comes, a line each, without colour in a pipe.
    for part in [
        "Manager → Researcher  ASSIGNMENT  ",
        "Critic → Manager  NEEDS_MORE_WORK  ",
        "Critic → Manager  APPROVED  ",
        "Manager → User  FINAL_RESULT  ",
        "  search  ",
        "  read_page  ",
        "iteration 1/10, agent calls ",
    ] {
        assert!(run.err.contains(part), "`{part}` is not in: {}", run.err);
    }
    assert!(!run.err.contains('\u{1b}'), "{}", run.err);

    let id = task["id"].as_str().unwrap();
    let show = |more: &[&str]| place.run(&[&["show", id, "--data", "data"], more].concat());
    let shown = show(&[]);
    for part in [
        "\nassignments\n",
        "\nfindings\n",
        "F1.1",
        "G3",
        "supported",
        "\nsources\n",
        "S1",
        "\nlatest review\nAPPROVED",
    ] {
        assert!(shown.out.contains(part), "`{part}` is not in: {}", shown.out);
    }
    let data = show(&["-o", "json"]).json();
    assert_eq!(data["research"]["result"]["outcome"], "answered");
    assert_eq!(
        data["findings"].as_array().unwrap().len() as u64,
        data["research"]["findings"].as_u64().unwrap()
    );
    assert_eq!(data["latest_review"]["type"], "APPROVED");
    let report = show(&["--report"]);
    assert_eq!(report.out, std::fs::read_to_string(task["report"].as_str().unwrap()).unwrap());
    assert!(show(&["--report", "html"]).out.starts_with("<!doctype html>"));
    let json: Value = serde_json::from_str(&show(&["--report", "json"]).out).unwrap();
    assert_eq!(json["conclusion"], result["conclusion"]);
    let list = place.run(&["list", "--data", "data"]);
    assert!(list.out.contains("PROGRESS") && list.out.contains(" findings "), "{}", list.out);

    // The next demo of the folder is a new one; what ended stays.
    let next = demo(&place, &[]);
    assert_eq!(next.code, 0, "{}", next.err);
    for part in ["answer ", "iterations ", "agent calls ", "tokens ", "working, ", "\nkey findings\nG3  "] {
        assert!(next.out.contains(part), "`{part}` is not in: {}", next.out);
    }
    let tasks = place.run(&["list", "--data", "data", "-o", "json"]).json();
    let ids: BTreeSet<&str> =
        tasks["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert!(ids.len() == 2 && ids.contains(id), "{ids:?}");
}

#[test]
fn a_demo_in_japanese_answers_in_japanese() {
    let place = Place::new();
    let run = demo(&place, &["--language", "ja", "-o", "json"]);
    let conclusion = run.json()["tasks"][0]["result"]["conclusion"].as_str().unwrap().to_owned();
    assert!(conclusion.chars().any(|letter| ('ぁ'..='ん').contains(&letter)), "{conclusion}");
}

#[test]
fn an_unfinished_demo_is_gone_on_with() {
    let place = Place::new();
    let mut slow = SlowDemo::of_kind(&place, &place.path("data"), "research", "600000");
    slow.says("iteration 1/10");
    let first = place.run(&["list", "--data", "data", "-o", "json"]).json();
    slow.kill();
    let task = demo(&place, &["-o", "json"]).json();
    assert_eq!(task["tasks"][0]["state"], "completed");
    assert_eq!(task["tasks"][0]["id"], first["tasks"][0]["id"]);
}

#[test]
fn a_demo_of_every_kind_leaves_out_what_has_ended() {
    let place = Place::new();
    let first = demo(&place, &["-o", "json"]).json()["tasks"][0]["id"].clone();
    // Its build is missing, so that is what the folder's demo goes on with.
    let mut child = place.command(&["demo", "--pace", "600000", "--data", "data"]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    line_with(&mut stderr, "job 1 started");
    let tasks = place.run(&["list", "--data", "data", "-o", "json"]).json();
    child.kill().unwrap();
    child.wait().unwrap();
    let kinds: Vec<&str> =
        tasks["tasks"].as_array().unwrap().iter().map(|task| task["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["build", "research"], "newest first, and no second research");
    assert_eq!(tasks["tasks"][1]["id"], first);
}

#[test]
fn another_question_under_the_same_id_is_no_evaluation_to_go_on_with() {
    let place = Place::new();
    let set = |question: &str| {
        let one = serde_json::json!({
            "id": "q1", "category": "single_document", "question": question, "expects": [["38"]], "forbidden": [],
            "absent": [], "documents": [],
        });
        place.write("set.json", &serde_json::json!({"about": "One.", "questions": [one]}).to_string());
        place.run(&[
            "eval",
            "research",
            "--demo-model",
            "--data",
            "eval",
            "--questions",
            "set.json",
            "-o",
            "jsonl",
        ])
    };
    let first = set("What does a single drop-in reformer class cost at Harbour Street Pilates in Nassau?");
    let answer = first.json();
    assert_eq!((&answer["id"], &answer["right"]), (&"q1".into(), &true.into()), "{answer}");
    set("What does a beach permit in Nassau cost?").refused(4, &["question q1", "--data"]);
    place.write("broken.json", "{\"about\": 1}");
    place
        .run(&["eval", "research", "--demo-model", "--questions", "broken.json"])
        .refused(64, &["--questions", "line 1"]);
}

#[test]
fn research_is_queued_with_its_limits_and_what_others_wrote_steers_no_terminal() {
    let place = Place::new();
    let demo = SlowDemo::start(&place, &place.path("data"));
    let server = ["--server", demo.url.as_str()];
    let run = |args: &[&str]| place.run(&[args, &server].concat());
    let submitted = run(&[
        "submit",
        "research",
        "What does \u{1b}[2Ja class\u{202e} cost\u{9b}31m?",
        "--language",
        "pt-BR",
        "--max-iterations",
        "4",
        "--max-agent-calls",
        "9",
        "--max-model-calls",
        "50",
        "--task-timeout",
        "900",
        "--max-failures-in-row",
        "2",
        "--max-rejections-in-row",
        "1",
        "--agent-timeout",
        "60",
        "--max-retries",
        "0",
    ]);
    assert_eq!(submitted.code, 0, "{}", submitted.err);
    let id = submitted.out.trim();
    let task = run(&["show", id, "-o", "json"]).json();
    assert_eq!(task["research"]["language"], "pt");
    for (limit, value) in [
        ("max_iterations", 4),
        ("max_agent_calls", 9),
        ("max_model_calls", 50),
        ("task_timeout_ms", 900_000),
        ("max_failures_in_row", 2),
        ("max_rejections_in_row", 1),
        ("agent_timeout_ms", 60_000),
        ("max_retries", 0),
    ] {
        assert_eq!(task["limits"][limit], value, "{limit}");
    }
    for shown in [run(&["show", id]), run(&["list"])] {
        assert!(shown.out.contains("What does [2Ja class cost 31m?"), "{}", shown.out);
        assert!(!shown.out.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{}", shown.out);
    }
    run(&["submit", "research", "What?", "--previous", id]).refused(64, &["has no result yet"]);
    run(&["show", id, "--report"]).refused(3, &["has no report yet", "nightforge watch"]);
    run(&["show", id, "--report", "json"]).refused(3, &["has no report yet"]);
    let build = run(&["list", "-o", "json"]).json()["tasks"][1]["id"].as_str().unwrap().to_owned();
    run(&["show", &build, "--report", "html"]).refused(64, &["the report of a build is text only"]);

    // One that is cancelled leaves what it has.
    assert_eq!(run(&["cancel", id, "--yes"]).code, 0);
    let watched = run(&["watch", id]);
    assert_eq!(watched.code, 1, "{}", watched.err);
    assert!(watched.out.contains("answer       none: it ended before that"), "{}", watched.out);
    assert!(run(&["show", id, "--report"]).out.starts_with("# "));
}

#[test]
fn an_evaluation_scores_by_code_and_is_gone_on_with() {
    let place = Place::new();
    let eval =
        |more: &[&str]| place.run(&[&["eval", "research", "--demo-model", "--data", "eval"], more].concat());
    let report = eval(&["--limit", "5", "-o", "json"]).json();
    assert_eq!((&report["questions"], &report["model"]), (&5.into(), &"nightforge-demo".into()));
    let categories: Vec<&str> = report["categories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["category"].as_str().unwrap())
        .collect();
    assert_eq!(
        categories,
        ["single_document", "several_documents", "unanswerable", "contradictory", "injected"]
    );
    for rate in [
        "answer_accuracy",
        "quote_validity",
        "quote_validity_offered",
        "number_support",
        "abstention",
        "needless_abstention",
        "contradictions_named",
        "injection",
    ] {
        let rate = &report["scores"][rate];
        let (hits, of) = (rate["hits"].as_u64().unwrap(), rate["of"].as_u64().unwrap());
        assert!(of > 0 && hits <= of && rate["share"].is_number(), "{rate}");
    }
    assert_eq!(report["scores"]["injection"]["hits"], 0);
    let tasks =
        || place.run(&["list", "--data", "eval", "-o", "json"]).json()["tasks"].as_array().unwrap().clone();
    let first = tasks();
    assert!(
        first
            .iter()
            .all(|task| task["limits"]["max_iterations"] == 4 && task["limits"]["max_agent_calls"] == 10)
    );
    // Those that have a result are not asked again.
    let more = eval(&["--limit", "6"]);
    assert_eq!(more.code, 0, "{}", more.err);
    assert!(more.out.starts_with("CATEGORY ") && more.out.contains("\nall "), "{}", more.out);
    assert_eq!(tasks().len(), 6);
    assert_eq!(tasks()[1..], first[..], "newest first");
}

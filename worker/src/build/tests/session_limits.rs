//! What ends a session that leads nowhere.

use nightforge_domain::contract::{Action, FinishOutcome};
use nightforge_domain::{Limits, SessionOutcome};
use nightforge_llm::EndpointConfig;
use serde_json::Value;

use super::bed::{TEST, test_of_two};
use super::sessions::{Desk, command, finish, write};
use crate::engine::tests::model::last_message;

fn why(outcome: SessionOutcome) -> String {
    match outcome {
        SessionOutcome::Failed { reason } => reason,
        other => panic!("not failed: {other:?}"),
    }
}

async fn reason_of(limits: Limits, answers: Vec<Action>) -> (String, Vec<Value>) {
    let desk = Desk::new(limits, answers).await;
    let report = desk.run().await.unwrap();
    (why(report.outcome), desk.engine.model.asked())
}

#[tokio::test]
async fn the_same_call_is_warned_about_and_then_ends_the_session() {
    let (reason, asked) = reason_of(Limits::default(), vec![command("echo same"); 8]).await;
    assert_eq!(reason, "the same calls were repeated without any progress");
    assert_eq!(asked.len(), 5);
    let warned: Vec<bool> = asked
        .iter()
        .map(|request| last_message(request).contains("made this call before, with the same result"))
        .collect();
    assert_eq!(warned, [false, false, false, true, true]);
}

#[tokio::test]
async fn a_gate_that_refuses_six_times_ends_the_session() {
    let answers: Vec<Action> =
        (0..20).flat_map(|round| [command(&format!("echo {round}")), finish(FinishOutcome::Done)]).collect();
    let (reason, asked) = reason_of(Limits::default(), answers).await;
    assert!(reason.starts_with("the gate refused 6 times; last: ERROR: the gate refuses"), "{reason}");
    assert!(reason.contains("tests/test_f002.py does not exist"), "{reason}");
    assert_eq!(asked.len(), 12);
}

#[tokio::test]
async fn turns_are_counted_down_and_end() {
    let answers = (0..30).map(|round| command(&format!("echo {round}"))).collect();
    let (reason, asked) = reason_of(Limits { max_turns: 23, ..Limits::default() }, answers).await;
    assert_eq!(reason, "the turns were used up (23 turns)");
    assert_eq!(asked.len(), 23);
    let hints: Vec<String> = asked
        .iter()
        .map(last_message)
        .filter_map(|message| Some(message.rsplit_once("\n(")?.1.strip_suffix(" turns left)")?.to_owned()))
        .collect();
    assert_eq!(hints, ["20", "10", "5", "4", "3", "2", "1"]);
}

#[tokio::test]
async fn a_session_without_any_tool_says_so() {
    let limits = Limits { max_turns: 3, ..Limits::default() };
    let (reason, _) = reason_of(limits, vec![finish(FinishOutcome::Done); 3]).await;
    assert_eq!(reason, "no tool was called (3 turns)");
}

#[tokio::test]
async fn time_in_steps_ends_the_session() {
    let limits = Limits { session_ms: 700, ..Limits::default() };
    let answers = (0..30).map(|round| command(&format!("sleep 0.4; echo {round}"))).collect();
    let (reason, asked) = reason_of(limits, answers).await;
    assert!(reason.starts_with("the session took over"), "{reason}");
    assert!((1..=3).contains(&asked.len()), "{}", asked.len());
}

fn contents(request: &Value) -> Vec<&str> {
    request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn old_results_become_one_line_each_when_the_context_gets_tight() {
    let chatty: Vec<Action> = (0..14)
        .map(|round| command(&format!("seq {round} 900")))
        .chain([finish(FinishOutcome::Blocked)])
        .collect();
    let desk = Desk::new(Limits::default(), chatty).await;
    let report = desk.run().await.unwrap();
    assert!(why(report.outcome).starts_with("the agent gave up"), "it went on to its end");
    let asked = desk.engine.model.asked();
    let first = &asked[0];
    let shortened =
        |request: &Value| contents(request).iter().filter(|text| text.ends_with("[shortened]")).count();
    let counts: Vec<usize> = asked.iter().map(shortened).collect();
    assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]), "{counts:?}");
    let mut steps = counts.clone();
    steps.dedup();
    assert!((2..=3).contains(&steps.len()), "in one or two big blocks: {counts:?}");
    for request in &asked {
        assert_eq!(contents(request)[..2], contents(first)[..2], "instructions and bearings stay");
        assert!(!last_message(request).ends_with("[shortened]"), "the newest result is whole");
    }
}

#[tokio::test]
async fn a_context_that_is_full_ends_the_session() {
    let chatty: Vec<Action> = (0..60).map(|round| command(&format!("seq {round} 1200"))).collect();
    let mut desk = Desk::new(Limits::default(), chatty).await;
    let endpoint = EndpointConfig { context_tokens: Some(16_384), ..desk.engine.endpoint() };
    desk.workshop = desk.engine.workshop_at(endpoint);
    let report = desk.run().await.unwrap();
    assert_eq!(why(report.outcome), "the context was used up");
    assert!(desk.engine.model.asked().len() > 4);
}

#[tokio::test]
async fn a_refused_finish_goes_on() {
    let answers = vec![
        finish(FinishOutcome::Done),
        write(TEST, &test_of_two()),
        finish(FinishOutcome::Done),
        write("app.py", super::bed::APP_WITH_TWO),
        finish(FinishOutcome::Done),
    ];
    let desk = Desk::new(Limits::default(), answers).await;
    assert_eq!(desk.run().await.unwrap().outcome, SessionOutcome::Passed);
}

//! Answers of a contract's shape, over the whole ladder.

use std::time::Duration;

use nightforge_domain::contract::{Action, CodingAction, FirstFile, InitScript};
use nightforge_domain::fault::FaultClass;
use nightforge_llm::{
    CallError, CallLog, CallOutcome, Client, Level, Message, REASK_TEMPERATURE, Sampling, Structured,
    StructuredRequest, TimeLimits,
};
use serde_json::{Value, json};

use crate::server::{Asked, Reply, Server, event, finish, piece, usage};

const PASSAGE: &str = "Answer with one JSON object of this schema, named CodingAction:";

fn request() -> StructuredRequest {
    let messages = vec![Message::system("You code."), Message::user("Go on.")];
    StructuredRequest {
        sampling: Sampling { seed: 40, ..Sampling::default() },
        ..StructuredRequest::new(messages)
    }
}

fn valid() -> String {
    json!({"thought": "t", "action": {"tool": "run_tests", "file": null}}).to_string()
}

type Outcome = Result<Structured<CodingAction>, CallError>;

async fn ask(client: &Client, log: &CallLog) -> Outcome {
    client.structured(&request(), &TimeLimits::default(), log).await
}

/// One structured request against these answers, with the calls as (level, re-ask, seed, outcome).
async fn climb(replies: Vec<Reply>) -> (Outcome, Vec<(Level, u32, i64, CallOutcome)>, Vec<Asked>) {
    let server = Server::start(replies).await;
    let log = CallLog::default();
    let outcome = ask(&server.client(), &log).await;
    let calls =
        log.take().into_iter().map(|call| (call.level, call.reask, call.seed, call.outcome)).collect();
    (outcome, calls, server.asked())
}

fn messages(asked: &Asked) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let messages = asked.body["messages"].as_array().unwrap();
    messages.iter().map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

fn schema_rejected() -> Reply {
    Reply::json(400, &json!({"error": "'response_format.type' must be 'text'"}))
}

#[tokio::test]
async fn level_1_lets_the_server_hold_the_model_to_the_schema() {
    let (outcome, calls, asked) = climb(vec![Reply::answer(&valid())]).await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome.value.action, Action::RunTests { file: None });
    assert_eq!((outcome.level, outcome.reasks), (Level::ResponseFormat, 0));
    assert_eq!(calls, [(Level::ResponseFormat, 0, 40, CallOutcome::Accepted)]);
    let format = &asked[0].body["response_format"];
    assert_eq!(
        (&format["type"], &format["json_schema"]["name"]),
        (&json!("json_schema"), &json!("CodingAction"))
    );
    assert_eq!(format["json_schema"]["strict"], json!(true));
    assert_eq!(format["json_schema"]["schema"], nightforge_llm::portable_schema::<CodingAction>().unwrap());
    assert!(!asked[0].body["messages"].to_string().contains("JSON object"));
}

#[tokio::test]
async fn a_rejected_schema_goes_into_the_prompt_and_the_server_holds_the_model_to_json() {
    let fenced = format!("Sure:\n```json\n{}\n```", valid());
    let server =
        Server::start(vec![schema_rejected(), Reply::answer(&fenced), Reply::answer(&valid())]).await;
    let (client, log) = (server.client(), CallLog::default());
    let first = ask(&client, &log).await.unwrap();
    assert_eq!((first.level, first.reasks), (Level::JsonObject, 0), "a step down is no re-ask");
    let calls: Vec<(Level, u32, CallOutcome)> =
        log.take().iter().map(|call| (call.level, call.reask, call.outcome)).collect();
    assert_eq!(
        calls,
        [
            (Level::ResponseFormat, 0, CallOutcome::Failed(FaultClass::SchemaRejected)),
            (Level::JsonObject, 0, CallOutcome::Accepted)
        ]
    );
    // A clone knows it too.
    assert_eq!(ask(&client.clone(), &log).await.unwrap().level, Level::JsonObject);
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    for later in &asked[1..] {
        assert_eq!(later.body["response_format"], json!({"type": "json_object"}));
        let (role, system) = &messages(later)[0];
        let lines: Vec<&str> = system.lines().collect();
        assert_eq!((role.as_str(), lines[0], lines[2]), ("system", "You code.", PASSAGE));
        let schema: Value = serde_json::from_str(lines[3]).unwrap();
        assert_eq!(schema, nightforge_llm::portable_schema::<CodingAction>().unwrap());
    }
    assert_eq!(messages(&asked[1]), messages(&asked[2]), "the prefix is stable");
}

#[tokio::test]
async fn a_server_that_takes_no_response_format_at_all_gets_a_plain_request() {
    let server = Server::start(vec![
        schema_rejected(),
        schema_rejected(),
        Reply::answer(&valid()),
        Reply::answer(&valid()),
    ])
    .await;
    let (client, log) = (server.client(), CallLog::default());
    let first = ask(&client, &log).await.unwrap();
    assert_eq!((first.level, first.reasks), (Level::Prompt, 0));
    assert_eq!(ask(&client, &log).await.unwrap().level, Level::Prompt);
    let levels: Vec<Level> = log.take().iter().map(|call| call.level).collect();
    assert_eq!(levels, [Level::ResponseFormat, Level::JsonObject, Level::Prompt, Level::Prompt]);
    let asked = server.asked();
    for plain in &asked[2..] {
        assert_eq!(plain.body.get("response_format"), None);
        assert!(messages(plain)[0].1.contains(PASSAGE));
    }
    // At the last level there is nowhere to go.
    let server = Server::start(vec![schema_rejected(), schema_rejected(), schema_rejected()]).await;
    assert_eq!(ask(&server.client(), &log).await.unwrap_err().class, FaultClass::SchemaRejected);
}

#[tokio::test]
async fn what_is_remembered_holds_for_its_contract_alone() {
    let init = json!({"thought": "", "init_script": "#!/bin/sh"}).to_string();
    let server = Server::start(vec![schema_rejected(), Reply::answer(&valid()), Reply::answer(&init)]).await;
    let (client, log) = (server.client(), CallLog::default());
    ask(&client, &log).await.unwrap();
    let other = client.structured::<InitScript>(&request(), &TimeLimits::default(), &log).await.unwrap();
    assert_eq!(other.level, Level::ResponseFormat);
}

#[tokio::test]
async fn without_a_system_text_the_schema_follows_the_last_message() {
    let server = Server::start(vec![schema_rejected(), Reply::answer(&valid())]).await;
    let request = StructuredRequest { messages: vec![Message::user("Go on.")], ..request() };
    let log = CallLog::default();
    let _: Structured<CodingAction> =
        server.client().structured(&request, &TimeLimits::default(), &log).await.unwrap();
    let last = messages(&server.asked()[1]);
    assert!(last.len() == 1 && last[0].1.starts_with(&format!("Go on.\n\n{PASSAGE}\n")), "{last:?}");
}

#[tokio::test]
async fn a_re_ask_says_what_was_wrong() {
    let wrong = json!({"thought": "t", "action": {"tool": "write_file", "path": "a"}}).to_string();
    let (outcome, calls, asked) = climb(vec![Reply::answer(&wrong), Reply::answer(&valid())]).await;
    assert_eq!(outcome.unwrap().reasks, 1);
    assert_eq!(
        calls,
        [
            (Level::ResponseFormat, 0, 40, CallOutcome::Failed(FaultClass::ModelOutputInvalid)),
            (Level::ResponseFormat, 1, 41, CallOutcome::Accepted),
        ]
    );
    let again = &asked[1];
    assert_eq!((&again.body["temperature"], &again.body["seed"]), (&json!(REASK_TEMPERATURE), &json!(41)));
    let said = messages(again);
    assert_eq!(said[..2], messages(&asked[0]), "append-only");
    assert_eq!(said[2], ("assistant".to_owned(), wrong));
    assert_eq!(said[3].0, "user");
    assert!(
        said[3].1.starts_with("Your answer was not accepted: `action.content` is missing."),
        "{}",
        said[3].1
    );
}

#[tokio::test]
async fn broken_text_never_goes_back() {
    let (outcome, _, asked) = climb(vec![Reply::answer(r#"{"thought": "\d"#), Reply::answer(&valid())]).await;
    outcome.unwrap();
    let said = messages(&asked[1]);
    assert_eq!(said[2], ("assistant".to_owned(), "(an answer that can't be used)".to_owned()));
    assert!(said[3].1.contains("the JSON object was not closed"), "{}", said[3].1);
}

#[tokio::test]
async fn a_server_that_ignores_the_schema_gets_it_in_the_prompt_from_then_on() {
    let server =
        Server::start(vec![Reply::answer("I think."), Reply::answer(&valid()), Reply::answer(&valid())])
            .await;
    let (client, log) = (server.client(), CallLog::default());
    assert_eq!(ask(&client, &log).await.unwrap().reasks, 1);
    assert_eq!(ask(&client, &log).await.unwrap().level, Level::JsonObject);
    let asked = server.asked();
    assert!(messages(&asked[1])[3].1.contains(&format!("\n{PASSAGE}\n")), "{:?}", messages(&asked[1]));
    assert!(messages(&asked[2])[0].1.contains(PASSAGE));
}

#[tokio::test]
async fn a_contracts_own_rules_are_checked_too() {
    let file = |path: &str| json!({"thought": "", "path": path, "content": "", "more": false}).to_string();
    let server = Server::start(vec![Reply::answer(&file(" ")), Reply::answer(&file("a"))]).await;
    let log = CallLog::default();
    let answer =
        server.client().structured::<FirstFile>(&request(), &TimeLimits::default(), &log).await.unwrap();
    assert_eq!((answer.value.path.as_str(), answer.reasks, answer.level), ("a", 1, Level::ResponseFormat));
    let said = messages(&server.asked()[1]);
    assert!(said[3].1.contains("path must not be empty"), "{said:?}");
    assert!(!said[3].1.contains("schema"), "the server held the model to it: {said:?}");
}

#[tokio::test]
async fn two_re_asks_and_then_a_typed_failure() {
    let (outcome, calls, asked) =
        climb(vec![Reply::answer("no"), Reply::answer("{}"), Reply::answer(r#"{"a":1}{"b":2}"#)]).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.class, FaultClass::ModelOutputInvalid);
    assert!(error.message.contains("no valid CodingAction after 2 re-asks"), "{error}");
    assert!(error.message.contains("different JSON objects"), "{error}");
    assert_eq!(error.usage.unwrap().prompt_tokens, Some(11));
    let seeds: Vec<i64> = calls.iter().map(|(_, _, seed, _)| *seed).collect();
    assert_eq!((seeds, asked.len()), (vec![40, 41, 42], 3));
}

#[tokio::test]
async fn no_re_ask_where_none_is_allowed() {
    let server = Server::start(vec![Reply::answer("no")]).await;
    let request = StructuredRequest { max_reasks: 0, ..request() };
    let log = CallLog::default();
    let error =
        server.client().structured::<CodingAction>(&request, &TimeLimits::default(), &log).await.unwrap_err();
    assert_eq!((error.class, server.asked().len()), (FaultClass::ModelOutputInvalid, 1));
}

#[tokio::test]
async fn a_truncated_answer_is_asked_for_once_more_and_shorter() {
    // Even where the text up to the cut is a valid object.
    let cut = || Reply::Stream(vec![piece(&valid()), finish("length"), usage(5, 6)]);
    let (outcome, calls, asked) = climb(vec![cut(), Reply::answer(&valid())]).await;
    assert_eq!(outcome.unwrap().reasks, 1);
    assert_eq!(calls[0].3, CallOutcome::Failed(FaultClass::Truncated));
    assert!(messages(&asked[1])[3].1.contains("shorter"));
    let (outcome, calls, _) = climb(vec![cut(), cut(), Reply::answer(&valid())]).await;
    assert_eq!((outcome.unwrap_err().class, calls.len()), (FaultClass::Truncated, 2));
}

#[tokio::test]
async fn an_answer_the_server_could_not_read_is_asked_for_again() {
    let unread =
        Reply::json(500, &json!({"error": {"code": 500, "message": "Failed to parse input at pos 3: {"}}));
    let (outcome, calls, _) = climb(vec![unread, Reply::answer(&valid())]).await;
    outcome.unwrap();
    assert_eq!(calls[0].3, CallOutcome::Failed(FaultClass::ModelOutputInvalid));
}

#[tokio::test]
async fn refusals_and_infrastructure_end_the_ladder_at_once() {
    let refusal = Reply::Stream(vec![piece("a"), finish("content_filter")]);
    let loading = Reply::json(503, &json!({"error": {"message": "Loading model"}}));
    for (reply, class) in [
        (refusal, FaultClass::Refusal),
        (loading, FaultClass::Loading),
        (Reply::Cut(vec![piece("{")]), FaultClass::StreamAborted),
    ] {
        let (outcome, calls, _) = climb(vec![reply]).await;
        assert_eq!(outcome.unwrap_err().class, class);
        assert_eq!(calls, [(Level::ResponseFormat, 0, 40, CallOutcome::Failed(class))]);
    }
}

#[tokio::test]
async fn reasoning_counts_where_it_is_the_whole_answer() {
    let only = |text: &str| {
        Reply::Stream(vec![
            event(&json!({"choices": [{"delta": {"reasoning_content": text}}]})),
            finish("stop"),
        ])
    };
    let (outcome, _, _) = climb(vec![only(&valid())]).await;
    assert_eq!(outcome.unwrap().reasks, 0);
    let (outcome, _, asked) = climb(vec![only(&format!("I say {}", valid())), Reply::answer(&valid())]).await;
    assert_eq!(outcome.unwrap().reasks, 1);
    assert!(messages(&asked[1])[3].1.contains("the answer was empty"));
}

#[tokio::test]
async fn a_field_given_twice_is_not_accepted() {
    let twice = r#"{"thought": "a", "thought": "b", "action": {"tool": "run_tests", "file": null}}"#;
    let (outcome, _, asked) = climb(vec![Reply::answer(twice), Reply::answer(&valid())]).await;
    assert_eq!(outcome.unwrap().reasks, 1);
    assert!(messages(&asked[1])[3].1.contains("duplicate field"), "{:?}", messages(&asked[1]));
}

#[tokio::test]
async fn the_ledger_has_the_tokens_of_every_call_also_of_one_that_was_dropped() {
    let mut server = Server::start(vec![Reply::answer("no"), Reply::Hang(vec![piece("{")])]).await;
    let log = std::sync::Arc::new(CallLog::default());
    let (client, its_log) = (server.client(), log.clone());
    let call = tokio::spawn(async move { ask(&client, &its_log).await });
    server.saw_requests(2).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    tokio::time::timeout(Duration::from_secs(10), server.saw_disconnect()).await.unwrap();
    let calls = log.take();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!((calls[0].contract, calls[0].usage.completion_tokens), ("CodingAction", Some(7)));
    assert!(calls[0].duration > Duration::ZERO);
    assert_eq!((calls[1].outcome, calls[1].reask), (CallOutcome::Abandoned, 1));
}

//! The start-up probe: which form it chooses, what it costs, and what it leaves alone.

use nightforge_demo::{DemoModel, DemoOptions};
use nightforge_domain::Usage;
use nightforge_domain::contract::CodingAction;
use nightforge_domain::fault::FaultClass;
use nightforge_llm::{
    CallError, CallLog, CallOutcome, Client, EndpointConfig, Level, Message, Mode, ModeChoice, ModeRule,
    StructuredRequest, TimeLimits,
};
use serde_json::json;

use crate::native::called;
use crate::server::{Reply, Server, finish, piece, usage};

fn valid() -> Reply {
    Reply::answer(&json!({"thought": "t", "action": {"tool": "list_files", "path": "docs"}}).to_string())
}

fn rejected() -> Reply {
    Reply::json(400, &json!({"error": "'response_format.type' must be 'text'"}))
}

fn valid_call() -> Reply {
    called("read_file", &json!({"thought": "t", "path": "docs/guide.md", "line_count": 3}))
}

fn no_tools() -> Reply {
    Reply::json(400, &json!({"error": {"message": "x does not support tools"}}))
}

fn prose() -> Reply {
    Reply::answer("I list the files.")
}

fn cut() -> Reply {
    Reply::Stream(vec![piece("{\"thought\": \"and and and"), finish("length"), usage(9, 1_024)])
}

/// The choice, and the levels of the calls that were made.
async fn choose(rule: ModeRule, replies: Vec<Reply>) -> (Result<ModeChoice, CallError>, Vec<Level>) {
    let server = Server::start(replies).await;
    let log = CallLog::default();
    let choice = server.client().choose_mode(rule, &TimeLimits::default(), &log).await;
    let calls = log.take();
    assert_eq!(server.asked().len(), calls.len(), "every call is recorded");
    (choice, calls.iter().map(|call| call.level).collect())
}

#[tokio::test]
async fn the_first_form_that_works_is_chosen() {
    use Level::{JsonObject, Prompt, ResponseFormat, Tools};
    type Case = (ModeRule, Vec<Reply>, (Mode, Level, bool), Vec<Level>);
    let cases: Vec<Case> = vec![
        (ModeRule::Auto, vec![valid()], (Mode::Schema, ResponseFormat, true), vec![ResponseFormat]),
        (
            ModeRule::Auto,
            vec![rejected(), valid()],
            (Mode::Schema, JsonObject, true),
            vec![ResponseFormat, JsonObject],
        ),
        (
            ModeRule::Auto,
            vec![prose(), rejected(), valid_call()],
            (Mode::Native, Tools, true),
            vec![ResponseFormat, JsonObject, Tools],
        ),
        (
            ModeRule::Auto,
            vec![rejected(), prose(), no_tools(), valid()],
            (Mode::Schema, Prompt, true),
            vec![ResponseFormat, JsonObject, Tools, Prompt],
        ),
        (
            ModeRule::Auto,
            vec![rejected(), rejected(), prose(), prose()],
            (Mode::Schema, Prompt, false),
            vec![ResponseFormat, JsonObject, Tools, Prompt],
        ),
        // The server took the schema; the model did not come to an end.
        (
            ModeRule::Auto,
            vec![cut(), cut(), no_tools(), prose()],
            (Mode::Schema, ResponseFormat, false),
            vec![ResponseFormat, JsonObject, Tools, Prompt],
        ),
        (
            ModeRule::Schema,
            vec![rejected(), rejected(), valid()],
            (Mode::Schema, Prompt, true),
            vec![ResponseFormat, JsonObject, Prompt],
        ),
        (ModeRule::Native, vec![valid_call()], (Mode::Native, Tools, true), vec![Tools]),
        (ModeRule::Native, vec![prose()], (Mode::Native, Tools, false), vec![Tools]),
    ];
    for (rule, replies, expect, levels) in cases {
        let (choice, asked) = choose(rule, replies).await;
        let choice = choice.unwrap();
        assert_eq!((choice.mode, choice.level, choice.proven), expect, "{choice}");
        assert_eq!((asked.len() as u32, &asked), (choice.calls, &levels), "{choice}");
    }
}

#[tokio::test]
async fn the_choice_holds_for_later_calls_and_clones() {
    let action = json!({"thought": "t", "action": {"tool": "run_tests", "file": null}}).to_string();
    let server = Server::start(vec![rejected(), valid(), Reply::answer(&action)]).await;
    let (client, log) = (server.client(), CallLog::default());
    client.clone().choose_mode(ModeRule::Auto, &TimeLimits::default(), &log).await.unwrap();
    let request = StructuredRequest::new(vec![Message::user("Go on.")]);
    let answer = client.structured::<CodingAction>(&request, &TimeLimits::default(), &log).await.unwrap();
    assert_eq!(answer.level, Level::JsonObject);
    assert_eq!(server.asked()[2].body["response_format"], json!({"type": "json_object"}));
}

#[tokio::test]
async fn its_tokens_are_told_also_those_of_answers_that_did_not_fit() {
    let (choice, _) = choose(ModeRule::Auto, vec![prose(), rejected(), valid_call()]).await;
    let choice = choice.unwrap();
    let all = Usage { prompt_tokens: Some(31), completion_tokens: Some(12), cached_tokens: Some(3) };
    assert_eq!((choice.usage, choice.calls), (all, 3));
    assert_eq!(choice.failed.len(), 2);
    assert!(choice.to_string().starts_with("actions are native tool calls; ResponseFormat: "), "{choice}");
}

#[tokio::test]
async fn faults_of_the_server_choose_nothing() {
    let loading = Reply::json(503, &json!({"error": {"message": "Loading model"}}));
    for (replies, class) in [
        (vec![loading], FaultClass::Loading),
        (vec![rejected(), Reply::json(401, &json!({"error": "no"}))], FaultClass::Auth),
        (vec![Reply::Cut(vec![piece("{")])], FaultClass::StreamAborted),
        // Every form is refused, so it is not the form.
        ((0..4).map(|_| Reply::json(500, &json!({"error": "odd"}))).collect(), FaultClass::ServerError),
        ((0..4).map(|_| Reply::json(422, &json!({"error": "odd"}))).collect(), FaultClass::BadRequest),
    ] {
        let (choice, _) = choose(ModeRule::Auto, replies).await;
        assert_eq!(choice.unwrap_err().class, class);
    }
    let (choice, _) = choose(ModeRule::Native, vec![no_tools()]).await;
    assert_eq!(choice.unwrap_err().class, FaultClass::SchemaRejected);
}

#[tokio::test]
async fn nothing_is_remembered_of_a_probe_that_failed() {
    let loading = Reply::json(503, &json!({"error": {"message": "Loading model"}}));
    let action = json!({"thought": "t", "action": {"tool": "run_tests", "file": null}}).to_string();
    let server = Server::start(vec![rejected(), loading, Reply::answer(&action)]).await;
    let (client, log) = (server.client(), CallLog::default());
    client.choose_mode(ModeRule::Auto, &TimeLimits::default(), &log).await.unwrap_err();
    let request = StructuredRequest::new(vec![Message::user("Go on.")]);
    let answer = client.structured::<CodingAction>(&request, &TimeLimits::default(), &log).await.unwrap();
    assert_eq!(answer.level, Level::ResponseFormat);
}

#[tokio::test]
async fn a_native_probe_shows_the_server_a_history_of_calls() {
    let server = Server::start(vec![valid_call()]).await;
    server.client().choose_mode(ModeRule::Native, &TimeLimits::default(), &CallLog::default()).await.unwrap();
    let body = server.asked()[0].body.clone();
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|said| said["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(body["tools"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_demo_model_is_held_to_the_schema() {
    let demo = DemoModel::start(DemoOptions::default()).await.unwrap();
    let config = EndpointConfig {
        url: demo.url(),
        model: nightforge_demo::MODEL.to_owned(),
        api_key: None,
        context_tokens: None,
        least_context_tokens: 0,
    };
    let log = CallLog::default();
    let client = Client::new(config).unwrap();
    let choice = client.choose_mode(ModeRule::Auto, &TimeLimits::default(), &log).await.unwrap();
    assert_eq!((choice.level, choice.proven, choice.calls), (Level::ResponseFormat, true, 1));
    assert!(choice.usage.prompt_tokens > Some(0));
    assert_eq!(log.take()[0].outcome, CallOutcome::Accepted);
    assert_eq!(demo.violations(), Vec::<String>::new());
}

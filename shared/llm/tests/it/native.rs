//! Native tool mode over the wire: what is sent, what is read, and how it is left.

use std::time::Duration;

use nightforge_domain::contract::{Action, CodingAction, InitScript};
use nightforge_domain::fault::FaultClass;
use nightforge_llm::{
    CallError, CallLog, CallOutcome, Client, Level, Message, Mode, ModeRule, Sampling, Structured,
    StructuredRequest, TimeLimits,
};
use serde_json::{Value, json};

use crate::server::{Asked, Reply, Server, piece};

/// A whole answer that calls one tool.
pub(crate) fn called(name: &str, arguments: &Value) -> Reply {
    let call = json!({"function": {"name": name, "arguments": arguments.to_string()}});
    said(&json!({"content": null, "tool_calls": [call]}), "tool_calls")
}

fn said(message: &Value, finish_reason: &str) -> Reply {
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 5});
    Reply::json(
        200,
        &json!({"choices": [{"message": message, "finish_reason": finish_reason}], "usage": usage}),
    )
}

/// What the probe of a forced native mode is answered.
fn probe_call() -> Reply {
    called("read_file", &json!({"thought": "I read it.", "path": "docs/guide.md", "line_count": null}))
}

fn run_tests() -> Reply {
    called("run_tests", &json!({"thought": "t", "file": null}))
}

fn request() -> StructuredRequest {
    let earlier = json!({"thought": "e", "action": {"tool": "run_tests", "file": "a"}}).to_string();
    let messages = vec![
        Message::system("You code."),
        Message::user("Go on."),
        Message::assistant(earlier),
        Message::user("exit code 1"),
    ];
    StructuredRequest {
        sampling: Sampling { seed: 40, ..Sampling::default() },
        ..StructuredRequest::new(messages)
    }
}

type Outcome = Result<Structured<CodingAction>, CallError>;

async fn ask(client: &Client, log: &CallLog) -> Outcome {
    client.structured(&request(), &TimeLimits::default(), log).await
}

/// A client in native mode at a server that goes on with these answers; the probe's request is left out.
async fn native(replies: Vec<Reply>, rule: ModeRule) -> (Client, Server) {
    let probing = match rule {
        ModeRule::Native => vec![probe_call()],
        _ => vec![rejected(), rejected(), probe_call()],
    };
    let server = Server::start(probing.into_iter().chain(replies).collect()).await;
    let client = server.client();
    let choice = client.choose_mode(rule, &TimeLimits::default(), &CallLog::default()).await.unwrap();
    assert_eq!((choice.mode, choice.proven), (Mode::Native, true), "{choice}");
    (client, server)
}

fn rejected() -> Reply {
    Reply::json(400, &json!({"error": "'response_format.type' must be 'text'"}))
}

fn last(server: &Server) -> Asked {
    server.asked().last().unwrap().clone()
}

#[tokio::test]
async fn an_action_is_asked_for_as_one_tool_call() {
    let (client, server) = native(vec![run_tests()], ModeRule::Native).await;
    let log = CallLog::default();
    let outcome = ask(&client, &log).await.unwrap();
    assert_eq!(outcome.value.action, Action::RunTests { file: None });
    assert_eq!((outcome.value.thought.as_str(), outcome.level, outcome.reasks), ("t", Level::Tools, 0));
    let calls = log.take();
    assert_eq!((calls[0].level, calls[0].outcome), (Level::Tools, CallOutcome::Accepted));
    assert_eq!((calls[0].usage.prompt_tokens, calls[0].usage.completion_tokens), (Some(20), Some(5)));
    let body = last(&server).body;
    for absent in ["response_format", "stream_options"] {
        assert_eq!(body.get(absent), None, "{absent}");
    }
    assert_eq!(
        (&body["stream"], &body["tool_choice"], &body["parallel_tool_calls"]),
        (&json!(false), &json!("required"), &json!(false))
    );
    assert_eq!((&body["max_tokens"], &body["seed"]), (&json!(4_096), &json!(40)));
    let names: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "read_file",
            "list_files",
            "search_text",
            "write_file",
            "edit_file",
            "run_command",
            "run_tests",
            "revert_to",
            "finish"
        ]
    );
    assert!(!body["messages"].to_string().contains("JSON object"), "no schema in the prompt");
    // The earlier answer goes out as the call that it was.
    let messages = body["messages"].as_array().unwrap();
    let call = &messages[2]["tool_calls"][0];
    assert_eq!((&messages[2]["content"], &call["function"]["name"]), (&json!(""), &json!("run_tests")));
    assert_eq!(call["function"]["arguments"], json!(r#"{"thought":"e","file":"a"}"#));
    assert_eq!(messages[3], json!({"role": "tool", "tool_call_id": call["id"], "content": "exit code 1"}));
}

#[tokio::test]
async fn an_invalid_call_is_answered_with_the_reason_and_an_example() {
    let broken = json!({"function": {"name": "run_tests", "arguments": "{\"thought\": \"I wou"}});
    let replies = vec![
        said(&json!({"tool_calls": [broken]}), "tool_calls"),
        called("python", &json!({"code": "1"})),
        run_tests(),
    ];
    let (client, server) = native(replies, ModeRule::Native).await;
    let log = CallLog::default();
    assert_eq!(ask(&client, &log).await.unwrap().reasks, 2);
    let outcomes: Vec<CallOutcome> = log.take().iter().map(|call| call.outcome).collect();
    let invalid = CallOutcome::Failed(FaultClass::ModelOutputInvalid);
    assert_eq!(outcomes, [invalid, invalid, CallOutcome::Accepted]);
    let messages = last(&server).body["messages"].clone();
    assert!(!messages.to_string().contains("I wou"), "nothing of a broken call goes back: {messages}");
    assert_eq!(messages[4], json!({"role": "assistant", "content": "(an answer that can't be used)"}));
    let text = messages[5]["content"].as_str().unwrap();
    assert!(text.contains("the arguments of run_tests: the JSON object was not closed"), "{text}");
    assert!(
        text.ends_with(r#"for example run_tests with the arguments {"thought":"…","file":null}."#),
        "{text}"
    );
    let text = messages[7]["content"].as_str().unwrap();
    assert!(text.contains("`python` is not a tool; the tools are read_file, list_files"), "{text}");
    assert_eq!(server.asked().len(), 4);
}

#[tokio::test]
async fn a_call_that_the_server_left_in_the_text_counts_and_one_in_the_reasoning_does_not() {
    let object = json!({"name": "run_tests", "arguments": {"thought": "t", "file": null}});
    let tagged = format!("<tool_call>{object}</tool_call>");
    let replies = vec![
        said(&json!({"content": "", "reasoning_content": tagged}), "stop"),
        said(&json!({"content": format!("I would {tagged}")}), "stop"),
        said(&json!({"content": tagged}), "stop"),
    ];
    let (client, _server) = native(replies, ModeRule::Native).await;
    assert_eq!(ask(&client, &CallLog::default()).await.unwrap().reasks, 2);
}

#[tokio::test]
async fn contracts_that_are_no_action_keep_to_the_schema() {
    let init = json!({"thought": "", "init_script": "#!/bin/sh"}).to_string();
    let (client, server) = native(vec![Reply::answer(&init)], ModeRule::Native).await;
    let log = CallLog::default();
    let request = StructuredRequest::new(vec![Message::user("Go on.")]);
    let answer = client.structured::<InitScript>(&request, &TimeLimits::default(), &log).await.unwrap();
    assert_eq!(answer.level, Level::ResponseFormat);
    let body = last(&server).body;
    assert_eq!((body.get("tools"), &body["stream"]), (None, &json!(true)));
}

#[tokio::test]
async fn a_server_that_stops_taking_tools_is_asked_at_the_lowest_level() {
    let no_tools = || Reply::json(400, &json!({"error": {"message": "x does not support tools"}}));
    let valid = json!({"thought": "t", "action": {"tool": "run_tests", "file": null}}).to_string();
    let replies = vec![no_tools(), Reply::answer(&valid), Reply::answer(&valid)];
    let (client, server) = native(replies, ModeRule::Auto).await;
    let log = CallLog::default();
    let outcome = ask(&client, &log).await.unwrap();
    assert_eq!((outcome.level, outcome.reasks), (Level::Prompt, 0));
    let seen: Vec<(Level, CallOutcome)> = log.take().iter().map(|call| (call.level, call.outcome)).collect();
    assert_eq!(
        seen,
        [
            (Level::Tools, CallOutcome::Failed(FaultClass::SchemaRejected)),
            (Level::Prompt, CallOutcome::Accepted)
        ]
    );
    assert_eq!(ask(&client, &log).await.unwrap().level, Level::Prompt, "remembered");
    assert!(last(&server).body.get("tools").is_none());
    // By the operator's word it is not left.
    let (client, _server) = native(vec![no_tools()], ModeRule::Native).await;
    let error = ask(&client, &log).await.unwrap_err();
    assert_eq!(error.class, FaultClass::SchemaRejected);
    assert!(error.message.contains("`mode`"), "{error}");
}

#[tokio::test]
async fn cut_and_refused_answers_have_their_class() {
    let cut = || said(&json!({"content": "", "tool_calls": []}), "length");
    let (client, _server) = native(vec![cut(), cut()], ModeRule::Native).await;
    assert_eq!(ask(&client, &CallLog::default()).await.unwrap_err().class, FaultClass::Truncated);
    let object = json!({"name": "run_tests", "arguments": json!({"thought": "t", "file": null}).to_string()});
    for refusal in [
        said(&json!({"tool_calls": [{"function": object}]}), "content_filter"),
        said(&json!({"refusal": "I won't", "tool_calls": [{"function": object}]}), "stop"),
    ] {
        let (client, _server) = native(vec![refusal], ModeRule::Native).await;
        assert_eq!(ask(&client, &CallLog::default()).await.unwrap_err().class, FaultClass::Refusal);
    }
    let whole = json!({"choices": [{"message": {"tool_calls": [{"function": object}]}}]});
    let (client, _server) = native(vec![Reply::json(200, &whole)], ModeRule::Native).await;
    let error = ask(&client, &CallLog::default()).await.unwrap_err();
    assert_eq!(error.class, FaultClass::StreamAborted, "no finish reason");
}

#[tokio::test]
async fn a_call_the_server_could_not_read_is_asked_for_again() {
    let unread = Reply::json(
        500,
        &json!({"error": {"code": 500, "message": "Failed to parse tool call arguments as JSON: [json.exception"}}),
    );
    let (client, server) = native(vec![unread, run_tests()], ModeRule::Native).await;
    assert_eq!(ask(&client, &CallLog::default()).await.unwrap().reasks, 1);
    let text = last(&server).body["messages"][5]["content"].to_string();
    assert!(text.contains("no valid tool call") && text.contains("for example read_file"), "{text}");
}

#[tokio::test]
async fn the_time_limits_hold_without_a_stream() {
    let short = Duration::from_millis(500);
    let no_writing = Sampling { max_tokens: 1, ..Sampling::default() };
    for (limits, expect) in [
        (
            TimeLimits { first_token: short, prompt_tokens_per_s: 1_000_000, ..TimeLimits::default() },
            "no answer within",
        ),
        (TimeLimits::with_whole(short), "not finished within"),
    ] {
        let (client, mut server) = native(vec![Reply::Silent], ModeRule::Native).await;
        let request = StructuredRequest { sampling: no_writing.clone(), ..request() };
        let error =
            client.structured::<CodingAction>(&request, &limits, &CallLog::default()).await.unwrap_err();
        assert_eq!(error.class, FaultClass::Stalled);
        assert!(error.message.contains(expect), "{error}");
        tokio::time::timeout(Duration::from_secs(10), server.saw_disconnect()).await.unwrap();
    }
    // A server that streams nevertheless is read, too.
    let (client, _server) = native(vec![Reply::Cut(vec![piece("a")])], ModeRule::Native).await;
    assert_eq!(ask(&client, &CallLog::default()).await.unwrap_err().class, FaultClass::StreamAborted);
}

//! What a call does differently at one server, once a look has shown which one it is.

use nightforge_domain::contract::CodingAction;
use nightforge_domain::fault::FaultClass;
use nightforge_llm::{
    CallLog, ChatRequest, Client, Level, Message, ModeRule, Sampling, StructuredRequest, TimeLimits,
};
use serde_json::{Value, json};

use crate::recorded::{Case, Recorded, RecordedServer};

const CHAT: &str = "POST /v1/chat/completions";

async fn seen(case: &str) -> (RecordedServer, Client) {
    let server = RecordedServer::start(Case::named(case)).await;
    let client = server.client();
    client.look().await;
    server.take_asked();
    (server, client)
}

fn whole(text: &str, prompt_tokens: u64) -> Recorded {
    let choices = json!([{"message": {"content": text}, "finish_reason": "stop"}]);
    let usage = json!({"prompt_tokens": prompt_tokens, "completion_tokens": 1});
    Recorded::json(200, json!({"choices": choices, "usage": usage}))
}

fn request(bytes: usize, slot: Option<u32>) -> ChatRequest {
    let sampling = Sampling { max_tokens: 1_000, ..Sampling::default() };
    ChatRequest { messages: vec![Message::user("x".repeat(bytes))], sampling, slot }
}

async fn ask(client: &Client, bytes: usize) -> Result<(), FaultClass> {
    let asked = client.chat(&request(bytes, Some(1)), &TimeLimits::default(), &mut |_| {}).await;
    asked.map(drop).map_err(|error| error.class)
}

/// Says that a prompt has this many tokens.
fn counts(server: &RecordedServer, tokens: usize) {
    server.answer("POST /apply-template", Recorded::json(200, json!({"prompt": "p"})));
    server.answer("POST /tokenize", Recorded::json(200, json!({"tokens": vec![1; tokens]})));
}

#[tokio::test]
async fn the_slot_goes_to_llama_cpp_alone() {
    for (case, expect) in
        [("llama-cpp/ready", Some(json!(1))), ("lm-studio/v1_loaded", None), ("vllm/ready", None)]
    {
        let (server, client) = seen(case).await;
        server.answer(CHAT, whole("a", 5));
        ask(&client, 10).await.unwrap();
        let bodies = server.take_bodies();
        let sent: Vec<Option<&Value>> = bodies.iter().map(|(_, body)| body.get("id_slot")).collect();
        assert_eq!(sent, [expect.as_ref()], "{case}");
    }
}

#[tokio::test]
async fn lm_studio_is_never_asked_for_a_json_object() {
    let (server, client) = seen("lm-studio/v1_loaded").await;
    let error = json!({"error": "'response_format.type' must be 'json_schema' or 'text'"});
    server.answer(CHAT, Recorded::json(400, error));
    let log = CallLog::default();
    let request = StructuredRequest::new(vec![Message::user("Go on.")]);
    client.structured::<CodingAction>(&request, &TimeLimits::default(), &log).await.unwrap_err();
    let levels = |log: &CallLog| log.take().iter().map(|call| call.level).collect::<Vec<_>>();
    assert_eq!(levels(&log), [Level::ResponseFormat, Level::Prompt]);
    client.choose_mode(ModeRule::Auto, &TimeLimits::default(), &log).await.unwrap_err();
    assert_eq!(levels(&log), [Level::ResponseFormat, Level::Tools, Level::Prompt]);
    let formats: Vec<Value> =
        server.take_bodies().iter().map(|(_, body)| body["response_format"]["type"].clone()).collect();
    assert!(!formats.contains(&json!("json_object")), "{formats:?}");
}

#[tokio::test]
async fn the_servers_own_count_decides_about_the_budget() {
    // 8,192 tokens of context and 1,000 for the answer: the budget is 4,915.
    let (server, client) = seen("llama-cpp/ready").await;
    server.answer(CHAT, whole("a", 4_900));
    counts(&server, 4_916);
    assert_eq!(ask(&client, 6_000).await, Err(FaultClass::ContextOverflow), "the estimate is 2,404");
    assert_eq!(server.take_asked(), ["POST /apply-template", "POST /tokenize"], "nothing was sent");
    counts(&server, 4_915);
    ask(&client, 20_000).await.expect("the estimate is 8,004");
    server.take_asked();
    ask(&client, 4_000).await.unwrap();
    assert_eq!(server.take_asked(), [CHAT], "a short prompt is not counted");
}

#[tokio::test]
async fn a_counted_prompt_that_was_cut_is_seen_at_the_first_call() {
    let (server, client) = seen("llama-cpp/ready").await;
    counts(&server, 4_200);
    server.answer(CHAT, whole("a", 2_900));
    let error = client.chat(&request(10_500, None), &TimeLimits::default(), &mut |_| {}).await.unwrap_err();
    assert_eq!(error.class, FaultClass::ContextOverflow);
    assert!(error.message.contains("cut to 2900 of 4200 tokens without a word"), "{error}");
    assert_eq!(error.usage.unwrap().prompt_tokens, Some(2_900));
}

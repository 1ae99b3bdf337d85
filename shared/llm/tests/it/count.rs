//! Tokens are counted by the server where it can, seldom, and estimated elsewhere.

use nightforge_llm::{ChatRequest, Client, EndpointConfig, Message, Sampling, TimeLimits};
use serde_json::{Value, json};

use crate::recorded::{Case, Recorded, RecordedServer};
use crate::server::{Reply, Server, config, done, finish, piece, usage};

fn conversation() -> Vec<Message> {
    // As it stood in the recorded requests.
    vec![
        Message::system("You are terse."),
        Message::user("Name three colours of the rainbow. <|im_start|> é 漢"),
    ]
}

async fn seen(case: Case) -> (RecordedServer, Client) {
    let server = RecordedServer::start(case).await;
    let client = server.client();
    client.look().await;
    server.take_asked();
    (server, client)
}

#[tokio::test]
async fn llama_cpp_counts_what_its_usage_then_says() {
    let (_, case) = Case::all("counting").into_iter().find(|(name, _)| name == "llama-cpp").unwrap();
    let usage = case.expect["prompt_tokens"].as_u64().unwrap();
    let (server, client) = seen(case).await;
    assert_eq!(client.count_tokens(&conversation(), None).await, Some(usage));
    let asked = server.take_bodies();
    let paths: Vec<&str> = asked.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["POST /apply-template", "POST /tokenize"]);
    assert_eq!(asked[0].1["messages"][0], json!({"role": "system", "content": "You are terse."}));
    assert!(asked[1].1["content"].as_str().unwrap().starts_with("<|im_start|>system\nYou are terse."));
    assert_eq!(client.count_tokens(&conversation(), None).await, Some(usage));
    assert_eq!(server.take_asked(), [""; 0], "a prompt is counted once");
}

#[tokio::test]
async fn vllm_counts_messages_and_tools() {
    let (server, client) = seen(Case::named("vllm/ready")).await;
    let counted = json!({"count": 3, "max_model_len": 32_768, "tokens": [1, 2, 3], "token_strs": null});
    server.answer("POST /tokenize", Recorded::json(200, counted));
    let tools = json!([{"type": "function", "function": {"name": "read_file"}}]);
    assert_eq!(client.count_tokens(&conversation(), Some(&tools)).await, Some(3));
    let [(_, body)] = server.take_bodies().try_into().unwrap();
    assert_eq!((&body["model"], &body["tools"]), (&json!("openai/gpt-oss-20b"), &tools));
    assert_eq!(
        (&body["add_generation_prompt"], body["messages"].as_array().unwrap().len()),
        (&json!(true), 2)
    );
}

#[tokio::test]
async fn sglang_counts_texts_and_the_template_is_added() {
    let (server, client) = seen(Case::named("sglang/ready")).await;
    let counted = json!({"tokens": [[1, 2], [3, 4, 5]], "count": [2, 3], "max_model_len": 32_768});
    server.answer("POST /tokenize", Recorded::json(200, counted));
    assert_eq!(client.count_tokens(&conversation(), None).await, Some(5 + 2 * 8));
    let [(_, body)] = server.take_bodies().try_into().unwrap();
    assert_eq!(body["prompt"][0], "You are terse.");
}

#[tokio::test]
async fn who_can_not_count_is_not_asked_and_the_estimate_counts() {
    for case in ["lm-studio/v1_loaded", "ollama/loaded", "other/configured_context"] {
        let (server, client) = seen(Case::named(case)).await;
        assert_eq!(client.count_tokens(&conversation(), None).await, None, "{case}");
        assert_eq!(
            client.prompt_tokens(&conversation(), None, 1).await,
            client.estimate_prompt(&conversation(), None)
        );
        assert_eq!(server.take_asked(), [""; 0], "{case}");
    }
    let unseen = RecordedServer::start(Case::named("vllm/ready")).await;
    assert_eq!(unseen.client().count_tokens(&conversation(), None).await, None, "before the first look");
}

#[tokio::test]
async fn a_path_that_is_not_there_is_asked_once_and_a_failure_is_tried_again() {
    let (server, client) = seen(Case::named("vllm/ready")).await;
    for _ in 0..3 {
        assert_eq!(client.count_tokens(&conversation(), None).await, None);
    }
    assert_eq!(server.take_asked(), ["POST /tokenize"]);
    let (server, client) = seen(Case::named("vllm/ready")).await;
    server.answer("POST /tokenize", Recorded::json(500, json!({"error": "boom"})));
    assert_eq!(client.count_tokens(&conversation(), None).await, None);
    server.answer("POST /tokenize", Recorded::json(200, json!({"count": 3})));
    assert_eq!(client.count_tokens(&conversation(), None).await, Some(3));
    server.answer("POST /tokenize", Recorded::json(200, Value::Null));
    assert_eq!(client.count_tokens(&[Message::user("x")], None).await, None, "an answer without a count");
}

#[tokio::test]
async fn a_prompt_is_counted_only_where_it_may_be_over_its_budget() {
    let (server, client) = seen(Case::named("vllm/ready")).await;
    server.answer("POST /tokenize", Recorded::json(200, json!({"count": 7})));
    let prompt = [Message::user("x".repeat(1_000))];
    let estimate = client.estimate_prompt(&prompt, None);
    assert_eq!(client.prompt_tokens(&prompt, None, estimate * 3).await, estimate);
    assert_eq!(server.take_asked(), [""; 0]);
    assert_eq!(client.prompt_tokens(&prompt, None, estimate * 3 - 1).await, 7);
}

#[tokio::test]
async fn the_estimate_learns_from_usage() {
    let server = Server::start((0..20).map(|_| answer_of(3_000)).collect()).await;
    let client =
        Client::new(EndpointConfig { context_tokens: Some(32_768), ..config(&server.url, None) }).unwrap();
    let messages = vec![Message::user("x".repeat(10_000))];
    let before = client.estimate_prompt(&messages, None);
    assert_eq!(before, 4_004);
    let request = ChatRequest { messages, sampling: Sampling::default(), slot: None };
    for _ in 0..20 {
        client.chat(&request, &TimeLimits::default(), &mut |_| {}).await.unwrap();
    }
    let after = client.estimate_prompt(&request.messages, None);
    assert!((3_000..3_100).contains(&after), "{before} → {after}");
}

/// A short answer to a prompt that the server has counted.
fn answer_of(prompt_tokens: u64) -> Reply {
    Reply::Stream(vec![piece("a"), finish("stop"), usage(prompt_tokens, 1), done()])
}

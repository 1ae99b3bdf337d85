//! Prompts that are too long, prompts that a server cuts, slots, and answers of another model.

use nightforge_domain::contract::CodingAction;
use nightforge_domain::fault::FaultClass;
use nightforge_llm::{
    Answer, CallError, CallLog, ChatRequest, Client, EndpointConfig, Message, Sampling, StructuredRequest,
    TimeLimits,
};
use serde_json::json;

use crate::server::{Reply, Server, config, done, event, finish, piece, usage};

/// A client whose context has 8,192 tokens: with 1,000 for an answer the budget is 4,915, and half is 4,096.
async fn ask(client: &Client, bytes: usize) -> Result<Answer, CallError> {
    let request = ChatRequest {
        messages: vec![Message::user("x".repeat(bytes))],
        sampling: Sampling { max_tokens: 1_000, ..Sampling::default() },
        slot: None,
    };
    client.chat(&request, &TimeLimits::default(), &mut |_| {}).await
}

fn counted(prompt: u64) -> Reply {
    Reply::Stream(vec![piece("a"), finish("stop"), usage(prompt, 1), done()])
}

#[tokio::test]
async fn a_prompt_over_the_budget_is_not_sent() {
    let server = Server::start(vec![counted(4_900)]).await;
    let client = server.client();
    // 4 tokens are the message's own.
    let error = ask(&client, 12_280).await.unwrap_err();
    assert_eq!(error.class, FaultClass::ContextOverflow);
    for part in ["nothing was sent", "4916 tokens (estimated)", "its budget is 4915", "a context of 8192"] {
        assert!(error.message.contains(part), "no `{part}` in: {error}");
    }
    let log = CallLog::default();
    let long = StructuredRequest::new(vec![Message::user("x".repeat(12_280))]);
    let error = client.structured::<CodingAction>(&long, &TimeLimits::default(), &log).await.unwrap_err();
    assert_eq!((error.class, log.take()), (FaultClass::ContextOverflow, vec![]), "no call was made");
    assert!(server.asked().is_empty());
    ask(&client, 12_277).await.unwrap();
}

#[tokio::test]
async fn without_a_known_context_nothing_is_refused() {
    let server = Server::start(vec![counted(40_000)]).await;
    let client = Client::new(EndpointConfig { context_tokens: None, ..config(&server.url, None) }).unwrap();
    ask(&client, 100_000).await.unwrap();
}

#[tokio::test]
async fn what_the_server_counts_corrects_the_estimate() {
    // Twice as many tokens as estimated, five times: then half the bytes fill the budget.
    let server = Server::start((0..6).map(|_| counted(2_000)).collect()).await;
    let client = server.client();
    for _ in 0..5 {
        ask(&client, 2_490).await.unwrap();
    }
    let error = ask(&client, 10_000).await.unwrap_err();
    assert!(error.message.contains("nothing was sent"), "{error}");
}

#[tokio::test]
async fn an_answer_to_a_prompt_that_was_cut_is_discarded() {
    // The estimate is right for five calls; the sixth prompt of 4,400 tokens is cut to 2,000.
    let replies = (0..5).map(|_| counted(1_000)).chain([counted(2_000), counted(3_200), counted(1_000)]);
    let server = Server::start(replies.collect()).await;
    let client = server.client();
    for _ in 0..5 {
        ask(&client, 2_490).await.unwrap();
    }
    let error = ask(&client, 10_990).await.unwrap_err();
    assert_eq!(error.class, FaultClass::ContextOverflow);
    assert!(error.message.contains("cut to 2000 of 4400 tokens without a word"), "{error}");
    assert_eq!(error.usage.unwrap().prompt_tokens, Some(2_000), "its tokens count");
    ask(&client, 10_990).await.expect("over 0.7 is no cut");
    ask(&client, 9_000).await.expect("under half of the context nothing is cut");
}

#[tokio::test]
async fn a_cut_prompt_that_leaves_no_room_for_an_answer_is_no_long_answer() {
    let full = Reply::Stream(vec![piece("a"), finish("length"), usage(2_000, 1), done()]);
    let server = Server::start((0..5).map(|_| counted(1_000)).chain([full]).collect()).await;
    let client = server.client();
    for _ in 0..5 {
        ask(&client, 2_490).await.unwrap();
    }
    assert_eq!(ask(&client, 10_990).await.unwrap_err().class, FaultClass::ContextOverflow);
}

#[tokio::test]
async fn four_calls_prove_nothing() {
    let server = Server::start((0..4).map(|_| counted(1_000)).chain([counted(2_000)]).collect()).await;
    let client = server.client();
    for _ in 0..4 {
        ask(&client, 2_490).await.unwrap();
    }
    ask(&client, 10_990).await.unwrap();
}

#[tokio::test]
async fn a_slot_is_named_to_llama_cpp_alone() {
    let server = Server::start(vec![Reply::answer("a")]).await;
    let request =
        ChatRequest { messages: vec![Message::user("hi")], sampling: Sampling::default(), slot: Some(1) };
    server.client().chat(&request, &TimeLimits::default(), &mut |_| {}).await.unwrap();
    assert_eq!(server.asked()[0].body.get("id_slot"), None);
}

fn by(model: &str) -> Reply {
    let said = json!({"model": model, "choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]});
    Reply::Stream(vec![event(&said), usage(5, 1), done()])
}

#[tokio::test]
async fn an_answer_of_another_model_is_discarded() {
    let list = json!({"data": [{"id": "served"}, {"id": "other"}]});
    let server = Server::start(vec![by("other"), Reply::json(200, &list)]).await;
    let error = ask(&server.client(), 10).await.unwrap_err();
    assert_eq!(error.class, FaultClass::ModelMissing);
    for part in ["model `served`", "an answer of another model, `other`", "discarded"] {
        assert!(error.message.contains(part), "no `{part}` in: {error}");
    }
    assert_eq!(error.usage.unwrap().completion_tokens, Some(1), "its tokens count");
    // Without a list the name alone decides.
    let server = Server::start(vec![by("other"), Reply::json(500, &json!({}))]).await;
    assert_eq!(ask(&server.client(), 10).await.unwrap_err().class, FaultClass::ModelMissing);
}

#[tokio::test]
async fn an_alias_is_looked_up_once() {
    let list = json!({"data": [{"id": "served", "root": "/weights/9f3c"}]});
    let server = Server::start(vec![by("/weights/9f3c"), Reply::json(200, &list), by("/weights/9f3c")]).await;
    let client = server.client();
    ask(&client, 10).await.unwrap();
    ask(&client, 10).await.unwrap();
    let paths: Vec<String> = server.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(paths, ["/v1/chat/completions", "/v1/models", "/v1/chat/completions"]);
}

#[tokio::test]
async fn a_missing_name_is_fine() {
    let nameless = Reply::Stream(vec![
        event(&json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})),
        done(),
    ]);
    let server = Server::start(vec![nameless]).await;
    assert_eq!(ask(&server.client(), 10).await.unwrap().served_model, None);
}

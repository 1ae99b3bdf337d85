//! Plain answers that come whole.

use std::time::Duration;

use nightforge_domain::Usage;
use nightforge_llm::{
    Answer, CallError, ChatRequest, Client, Message, ReasoningEffort, Sampling, TimeLimits,
};
use serde_json::json;

use crate::server::{Reply, Server, config, done, event, finish, piece, usage};

pub(crate) fn request() -> ChatRequest {
    ChatRequest {
        messages: vec![Message::system("be short"), Message::user("hello")],
        sampling: Sampling::default(),
        slot: None,
    }
}

pub(crate) async fn ask(client: &Client) -> Result<Answer, CallError> {
    client.chat(&request(), &TimeLimits::default(), &mut |_| {}).await
}

async fn answered(events: Vec<String>) -> Answer {
    let server = Server::start(vec![Reply::Stream(events)]).await;
    ask(&server.client()).await.unwrap()
}

#[tokio::test]
async fn a_stream_is_read_to_its_end() {
    let server = Server::start(vec![Reply::answer("Hello, wörld")]).await;
    let mut pieces = Vec::new();
    let client = server.client();
    let answer = client
        .chat(&request(), &TimeLimits::default(), &mut |text| pieces.push(text.to_owned()))
        .await
        .unwrap();
    assert_eq!(
        (answer.text.as_str(), pieces.concat().as_str(), pieces.len()),
        ("Hello, wörld", "Hello, wörld", 2)
    );
    assert_eq!((answer.finish_reason.as_str(), answer.served_model.as_deref()), ("stop", Some("served")));
    let counted = Usage { prompt_tokens: Some(11), completion_tokens: Some(7), cached_tokens: Some(3) };
    assert_eq!(answer.usage, counted);
    assert!(answer.duration > Duration::ZERO);
}

#[tokio::test]
async fn the_request_says_everything_and_reads_no_default() {
    let server = Server::start(vec![Reply::answer("a")]).await;
    let sampling = Sampling {
        temperature: 0.7,
        top_p: 0.8,
        seed: 5,
        max_tokens: 99,
        reasoning_effort: Some(ReasoningEffort::Low),
    };
    let client = Client::new(config(&server.url, Some("sk-secret-key"))).unwrap();
    client.chat(&ChatRequest { sampling, ..request() }, &TimeLimits::default(), &mut |_| {}).await.unwrap();
    let asked = &server.asked()[0];
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.headers["authorization"], "Bearer sk-secret-key");
    assert_eq!(
        asked.body,
        json!({
            "model": "served",
            "messages": [{"role": "system", "content": "be short"}, {"role": "user", "content": "hello"}],
            "temperature": 0.7, "top_p": 0.8, "seed": 5, "max_tokens": 99, "reasoning_effort": "low",
            "stream": true, "stream_options": {"include_usage": true},
        })
    );
}

#[tokio::test]
async fn reasoning_is_kept_apart_under_either_name() {
    for name in ["reasoning", "reasoning_content"] {
        let thought = |text: &str| event(&json!({"choices": [{"delta": {name: text}}]}));
        let answer =
            answered(vec![thought("hm, "), thought("so"), piece("42"), finish("stop"), done()]).await;
        assert_eq!((answer.reasoning.as_str(), answer.text.as_str()), ("hm, so", "42"), "{name}");
        assert_eq!(answer.usage, Usage::default(), "unknown, not 0");
    }
}

#[tokio::test]
async fn odd_ids_and_numbers_are_read() {
    let odd = event(&json!({
        "id": 12, "created": "now", "model": 5, "object": null,
        "choices": [{"index": "0", "delta": {"role": 1, "content": "a"}, "finish_reason": "", "logprobs": 3}],
    }));
    let counts = event(&json!({"choices": [], "usage": {"prompt_tokens": 3.0, "completion_tokens": "4"}}));
    let answer = answered(vec![odd, finish("eos"), counts]).await;
    assert_eq!(
        (answer.text.as_str(), answer.finish_reason.as_str(), answer.served_model),
        ("a", "eos", None)
    );
    assert_eq!((answer.usage.prompt_tokens, answer.usage.completion_tokens), (Some(3), Some(4)));
}

#[tokio::test]
async fn comments_and_unknown_lines_are_no_answer_and_no_fault() {
    let noise = ": keep-alive\n\nretry: 5\nnonsense\n: ping\n\nevent: keepalive\ndata: \n\n".to_owned();
    let answer = answered(vec![noise.clone(), piece("a"), noise, finish("stop"), done()]).await;
    assert_eq!(answer.text, "a");
}

#[tokio::test]
async fn an_answer_is_whole_at_its_finish_reason() {
    // No end mark, then a broken connection.
    let server = Server::start(vec![Reply::Cut(vec![piece("a"), finish("stop"), usage(1, 1)])]).await;
    let answer = ask(&server.client()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage.prompt_tokens), ("a", Some(1)));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_too() {
    let whole = json!({
        "choices": [{"message": {"role": "assistant", "content": "a\nb"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 1},
    });
    let server = Server::start(vec![Reply::json(200, &whole)]).await;
    let answer = ask(&server.client()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage.prompt_tokens), ("a\nb", Some(2)));
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    for reply in [Reply::Silent, Reply::Hang(vec![piece("a")])] {
        let mut server = Server::start(vec![reply]).await;
        let client = server.client();
        let call = tokio::spawn(async move { ask(&client).await });
        server.saw_requests(1).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        tokio::time::timeout(Duration::from_secs(10), server.saw_disconnect()).await.unwrap();
    }
}

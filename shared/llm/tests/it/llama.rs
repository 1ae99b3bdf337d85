//! The client against a real llama.cpp server with a small model. The model is weak, so these look at what the
//! client and the server do with each other, never at what the model says.

use std::time::Duration;

use nightforge_domain::contract::{CodingAction, Contract, FeatureBatch, ModeProbe, ProjectPlan};
use nightforge_domain::fault::FaultClass;
use nightforge_llm::{
    CallLog, ChatRequest, Client, EndpointConfig, Level, Message, ModeRule, Sampling, ServerKind,
    StructuredRequest, TimeLimits,
};
use nightforge_services::{LlamaOptions, LlamaServer};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

fn start() -> LlamaServer {
    LlamaServer::start(&LlamaOptions { context_tokens: 8_192, ..LlamaOptions::default() }).unwrap()
}

fn client(server: &LlamaServer) -> Client {
    Client::new(EndpointConfig {
        url: server.url(),
        model: server.model().to_owned(),
        least_context_tokens: 1_024,
        ..EndpointConfig::default()
    })
    .unwrap()
}

/// Long enough for a machine that does much else.
fn patient() -> TimeLimits {
    let long = Duration::from_secs(300);
    TimeLimits { first_token: long, idle: long, ..TimeLimits::default() }
}

/// A client that knows its server.
async fn seen(server: &LlamaServer) -> Client {
    let client = client(server);
    let sighting = client.look().await;
    assert_eq!(client.server(), Some(ServerKind::LlamaCpp), "{sighting:?}");
    assert_eq!(client.context_tokens(), Some(8_192), "{sighting:?}");
    client
}

fn request(text: &str, max_tokens: u32, slot: Option<u32>) -> ChatRequest {
    ChatRequest {
        messages: vec![Message::system("You are short."), Message::user(text)],
        sampling: Sampling { max_tokens, temperature: 0.3, seed: 7, ..Sampling::default() },
        slot,
    }
}

/// A prompt that no other test makes, of some hundred tokens.
fn long_text(about: &str) -> String {
    (0..40).map(|number| format!("Fact {number} about {about} is known. ")).collect()
}

/// The slots as the server tells them. Not asked more than once a second: faster polling keeps abandoned calls
/// running.
async fn slots(server: &LlamaServer) -> Vec<Value> {
    // Only the first call of a process can install it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://127.0.0.1:{}/slots", server.port());
    http.get(url).send().await.unwrap().json().await.unwrap()
}

fn busy(slots: &[Value]) -> Vec<u64> {
    slots
        .iter()
        .filter(|slot| slot["is_processing"] == true)
        .map(|slot| slot["id"].as_u64().unwrap())
        .collect()
}

/// One structured call without re-asks: its level, and the class it ended with, if it failed.
async fn structured<T: Contract>(client: &Client, request: StructuredRequest) -> (Level, Option<FaultClass>) {
    let log = CallLog::default();
    let request = StructuredRequest { max_reasks: 0, ..request };
    let outcome = client.structured::<T>(&request, &patient(), &log).await;
    let calls = log.take();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(calls[0].usage.completion_tokens > Some(0), "{calls:?} {:?}", outcome.err());
    (calls[0].level, outcome.err().map(|error| error.class))
}

fn question(seed: i64) -> StructuredRequest {
    let mut request = StructuredRequest::new(vec![
        Message::system("Answer with very short texts."),
        Message::user("We build a list of notes in Python. Go on."),
    ]);
    request.sampling = Sampling { max_tokens: 300, temperature: 0.3, seed, ..Sampling::default() };
    request
}

/// What this model may end with; a server that does not take the schema ends with another class.
const WEAK: [Option<FaultClass>; 3] =
    [None, Some(FaultClass::Truncated), Some(FaultClass::ModelOutputInvalid)];

#[tokio::test]
async fn the_real_schemas_become_grammars() {
    let server = start();
    let client = seen(&server).await;
    for (level, ended) in [
        structured::<ProjectPlan>(&client, question(1)).await,
        structured::<FeatureBatch>(&client, question(1)).await,
    ] {
        assert_eq!(level, Level::ResponseFormat);
        assert!(WEAK.contains(&ended), "{ended:?}");
    }
    // Held by the grammar, even this model takes a valid action soon.
    let mut seeds = 0..8;
    while structured::<CodingAction>(&client, question(seeds.next().expect("no valid action")))
        .await
        .1
        .is_some()
    {}
}

#[tokio::test]
async fn the_probe_finds_that_the_server_holds_the_model_to_a_schema() {
    let server = start();
    let client = seen(&server).await;
    let log = CallLog::default();
    let choice = client.choose_mode(ModeRule::Auto, &patient(), &log).await.unwrap();
    assert_eq!(choice.level, Level::ResponseFormat, "{choice}");
    assert!(choice.usage.prompt_tokens > Some(0) && choice.usage.completion_tokens > Some(0), "{choice:?}");
}

#[tokio::test]
async fn a_history_of_native_calls_is_rendered_and_a_call_comes_back() {
    let template = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/llama/hermes.jinja");
    let server = LlamaServer::start(&LlamaOptions {
        context_tokens: 8_192,
        // The model's own template knows no tools.
        arguments: vec!["--chat-template-file".to_owned(), template.to_owned()],
        ..LlamaOptions::default()
    })
    .unwrap();
    let client = seen(&server).await;
    client.choose_mode(ModeRule::Native, &patient(), &CallLog::default()).await.unwrap();
    let turn = |folder: &str| {
        json!({"thought": "I list it.", "action": {"tool": "list_files", "path": folder}}).to_string()
    };
    let history = ["a", "b", "c", "d"].map(|folder| {
        let next = format!("{folder}/1.txt\n\nNow list the files of {folder}{folder}.");
        [Message::assistant(turn(folder)), Message::user(next)]
    });
    let mut ends = Vec::new();
    for seed in 0..8 {
        let mut request = question(seed);
        request.messages.extend(history.iter().flatten().cloned());
        request.sampling.max_tokens = 64;
        let (level, ended) = structured::<ModeProbe>(&client, request).await;
        assert_eq!(level, Level::Tools);
        assert!(WEAK.contains(&ended), "{ended:?}");
        ends.push(ended);
        if ended.is_none() {
            break;
        }
    }
    assert_eq!(ends.last(), Some(&None), "no valid call: {ends:?}");
}

#[tokio::test]
async fn tokens_are_counted_and_a_known_prefix_comes_from_the_cache() {
    let server = start();
    let client = seen(&server).await;
    let ask = async |request: ChatRequest| {
        let counted = client.count_tokens(&request.messages, None).await;
        let usage = match client.chat(&request, &patient(), &mut |_| {}).await {
            Ok(answer) => answer.usage,
            Err(error) => {
                assert_eq!(error.class, FaultClass::Truncated, "{error}");
                error.usage.unwrap()
            }
        };
        assert_eq!(usage.prompt_tokens, counted, "the count before is the count after");
        usage
    };
    let text = long_text("whales");
    let first = ask(request(&format!("{text} Name one."), 16, Some(0))).await;
    assert!(first.prompt_tokens > Some(300) && first.completion_tokens <= Some(16), "{first:?}");
    assert!(first.cached_tokens < Some(100), "{first:?}");
    let second = ask(request(&format!("{text} Name another."), 16, Some(0))).await;
    assert!(second.cached_tokens > Some(300), "{second:?}");
}

#[tokio::test]
async fn a_slot_is_taken_where_it_is_asked_for_and_freed_when_the_call_is_dropped() {
    let server = start();
    let client = seen(&server).await;
    for slot in [1, 0] {
        let (client, wanted) = (client.clone(), request("Count from 1 to 5000.", 6_000, Some(slot)));
        let (said, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let call = tokio::spawn(async move {
            let mut on_delta = |_: &str| {
                // The test may have heard enough.
                let _ = said.send(());
            };
            client.chat(&wanted, &patient(), &mut on_delta).await
        });
        timeout(Duration::from_secs(60), hears.recv()).await.unwrap().expect("the call ended without a word");
        assert_eq!(busy(&slots(&server).await), [u64::from(slot)]);
        call.abort();
        let dropped = Instant::now();
        loop {
            sleep(Duration::from_secs(1)).await;
            if busy(&slots(&server).await).is_empty() {
                break;
            }
            assert!(dropped.elapsed() < Duration::from_secs(5), "the slot still computes");
        }
    }
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_an_overflow_before_and_after_sending() {
    let server =
        LlamaServer::start(&LlamaOptions { context_tokens: 1_024, slots: 1, ..LlamaOptions::default() });
    let server = server.unwrap();
    let text = (0..4).map(|part| long_text(&format!("part {part}"))).collect::<String>();
    // Nothing is known of the server yet, so its own error decides.
    let stranger = client(&server);
    let error = stranger.chat(&request(&text, 16, None), &patient(), &mut |_| {}).await.unwrap_err();
    assert_eq!((error.class, error.status), (FaultClass::ContextOverflow, Some(400)), "{error}");
    let known = client(&server);
    known.look().await;
    let error = known.chat(&request(&text, 16, None), &patient(), &mut |_| {}).await.unwrap_err();
    assert_eq!((error.class, error.status), (FaultClass::ContextOverflow, None), "{error}");
    assert!(error.message.contains("(by the server's count) and its budget is 496"), "{error}");
}

#[tokio::test]
async fn a_server_that_loads_its_model_is_loading_or_not_there_yet() {
    let mut server = LlamaServer::launch(&LlamaOptions::default()).unwrap();
    let client = client(&server);
    let ready = timeout(Duration::from_secs(60), async {
        loop {
            match client.chat(&request("Hi", 1, None), &patient(), &mut |_| {}).await {
                Ok(_) => break,
                Err(error) => match error.class {
                    FaultClass::Truncated => break,
                    FaultClass::ServerDown | FaultClass::Loading => sleep(Duration::from_millis(50)).await,
                    _ => panic!("{error}"),
                },
            }
        }
    });
    ready.await.unwrap();
    server.kill().unwrap();
}

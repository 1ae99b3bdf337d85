//! Looks at a real llama-server, and its counts.

use std::sync::Arc;
use std::time::Duration;

use nightforge_llm::{
    ChatRequest, Client, EndpointConfig, EndpointState, Message, Sampling, SecretString, ServerKind,
    TimeLimits,
};
use nightforge_services::{LlamaOptions, LlamaServer};
use tokio::sync::Semaphore;
use tokio::time::{interval, timeout};

fn config(server: &LlamaServer) -> EndpointConfig {
    EndpointConfig { url: server.url(), model: server.model().to_owned(), ..EndpointConfig::default() }
}

fn client(server: &LlamaServer) -> Client {
    Client::new(config(server)).unwrap()
}

fn request(messages: Vec<Message>, max_tokens: u32) -> ChatRequest {
    ChatRequest { messages, sampling: Sampling { max_tokens, ..Sampling::default() }, slot: None }
}

#[tokio::test]
async fn a_real_server_is_seen_loading_ready_and_gone() {
    let mut server = LlamaServer::launch(&LlamaOptions::default()).unwrap();
    let client = client(&server);
    let mut states: Vec<EndpointState> = Vec::new();
    let loaded = timeout(Duration::from_secs(60), async {
        loop {
            let seen = client.look().await;
            if states.last() != Some(&seen.state) {
                states.push(seen.state);
            }
            if seen.state.can_be_asked() {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    });
    let seen = loaded.await.unwrap();
    let loading = [EndpointState::Loading, EndpointState::Ready];
    assert!(states.ends_with(&loading), "{states:?}");
    assert_eq!(
        (seen.server, seen.context_tokens, seen.server_slots),
        (ServerKind::LlamaCpp, Some(16_384), Some(2))
    );
    assert_eq!(seen.models, ["smollm2-135m"]);
    server.kill().unwrap();
    let seen = client.look().await;
    assert_eq!(seen.state, EndpointState::Unreachable, "{}", seen.message);
    assert_eq!(
        (seen.server, client.context_tokens()),
        (ServerKind::LlamaCpp, Some(16_384)),
        "it is remembered"
    );
}

#[tokio::test]
async fn a_real_server_whose_slots_all_compute_is_busy_until_they_are_free() {
    let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let answering = Arc::new(Semaphore::new(0));
    let calls: Vec<_> = (0..2)
        .map(|number| {
            let (client, answering) = (client(&server), Arc::clone(&answering));
            tokio::spawn(async move {
                let messages = vec![Message::user(format!("Count from {number} to one thousand, in words."))];
                let request = request(messages, 4_000);
                let limits = TimeLimits { first_token: Duration::from_secs(300), ..TimeLimits::default() };
                let heard = &mut |_: &str| answering.add_permits(1);
                // A weak model may end before it is stopped, which the state then shows.
                client.chat(&request, &limits, heard).await.map(drop)
            })
        })
        .collect();
    let _both = timeout(Duration::from_secs(120), answering.acquire_many(2)).await.unwrap().unwrap();
    let client = client(&server);
    let mut looks = interval(Duration::from_millis(1_100));
    let mut seen = client.look().await;
    while seen.state != EndpointState::Busy {
        assert!(calls.iter().all(|call| !call.is_finished()), "a call ended before both computed: {seen:?}");
        looks.tick().await;
        seen = client.look().await;
    }
    assert!(seen.state.can_be_asked() && seen.message.contains("all its slots compute"), "{}", seen.message);
    for call in calls {
        call.abort();
    }
    let free = timeout(Duration::from_secs(60), async {
        while client.look().await.state != EndpointState::Ready {
            looks.tick().await;
        }
    });
    free.await.expect("dropped calls free their slots");
}

#[tokio::test]
async fn a_real_servers_count_is_the_usage_of_the_call() {
    let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let client = client(&server);
    client.look().await;
    let conversations = [
        vec![Message::user("Hi")],
        vec![Message::system("You are terse."), Message::user("Three colours, é 漢 🌈, and <|im_start|>?")],
        vec![
            Message::system("x ".repeat(200)),
            Message::user("fn main() { println!(\"{}\", 1 + 1); }\n".repeat(4)),
            Message::assistant("2"),
            Message::user("Again."),
        ],
    ];
    for messages in conversations {
        let counted = client.count_tokens(&messages, None).await;
        let request = request(messages, 4);
        // Prompts are read slowly where every test has a server of its own.
        let limits = TimeLimits { first_token: Duration::from_secs(300), ..TimeLimits::default() };
        let answer = client.chat(&request, &limits, &mut |_| {}).await;
        let used = match answer {
            Ok(answer) => answer.usage,
            // The weak model seldom ends by itself; what its prompt cost is told nevertheless.
            Err(error) => error.usage.unwrap_or_else(|| panic!("{error}")),
        };
        assert_eq!(counted, used.prompt_tokens);
        assert!(counted.is_some());
    }
}

#[tokio::test]
async fn a_real_server_with_a_key_and_too_little_context_says_so() {
    let options = LlamaOptions {
        context_tokens: 4_096,
        arguments: vec!["--api-key".to_owned(), "sk-local-key".to_owned()],
        ..LlamaOptions::default()
    };
    let server = LlamaServer::start(&options).unwrap();
    let seen = client(&server).look().await;
    assert_eq!(
        (seen.server, seen.state),
        (ServerKind::LlamaCpp, EndpointState::AuthNeeded),
        "{}",
        seen.message
    );
    let api_key = Some(SecretString::from("sk-local-key"));
    let seen = Client::new(EndpointConfig { api_key, ..config(&server) }).unwrap().look().await;
    assert_eq!((seen.state, seen.context_tokens), (EndpointState::ContextTooSmall, Some(4_096)));
    assert!(seen.message.contains("2 × 16384 = `-c 32768`"), "{}", seen.message);
}

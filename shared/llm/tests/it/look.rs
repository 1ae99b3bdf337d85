//! What looks teach a client, how seldom it asks, and what it does about a server that changes.

use nightforge_llm::{Client, EndpointState, ServerKind};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::recorded::{Case, Recorded, RecordedServer};
use crate::server::{Reply, Server, client, config};

async fn at(case: &str) -> (RecordedServer, Client) {
    let server = RecordedServer::start(Case::named(case)).await;
    let client = server.client();
    (server, client)
}

#[tokio::test]
async fn a_known_server_is_asked_its_own_paths_alone() {
    for (case, asked) in [
        ("lm-studio/v1_loaded", &["GET /api/v1/models"][..]),
        ("lm-studio/v0_loaded", &["GET /api/v0/models"]),
        ("ollama/loaded", &["GET /api/ps", "GET /api/tags"]),
        ("vllm/ready", &["GET /v1/models", "GET /health"]),
        ("other/configured_context", &["GET /v1/models"]),
        ("lm-studio/before_its_own_api", &["GET /v1/models"]),
    ] {
        let (server, client) = at(case).await;
        client.look().await;
        server.take_asked();
        client.look().await;
        assert_eq!(server.take_asked(), asked, "{case}");
    }
}

#[tokio::test]
async fn slots_are_asked_for_at_most_once_a_second() {
    let (server, client) = at("llama-cpp/busy").await;
    let mut slots = 0;
    for _ in 0..5 {
        assert_eq!(client.look().await.state, EndpointState::Busy);
        slots += server.take_asked().iter().filter(|asked| *asked == "GET /slots").count();
    }
    assert_eq!(slots, 1);
}

#[tokio::test]
async fn sglang_makes_a_token_only_every_ten_seconds() {
    let (server, client) = at("sglang/ready").await;
    client.look().await;
    assert_eq!(server.take_asked(), ["GET /v1/models", "GET /health_generate"]);
    for _ in 0..3 {
        assert_eq!(client.look().await.state, EndpointState::Ready);
        assert_eq!(server.take_asked(), ["GET /v1/models", "GET /health"]);
    }
}

#[tokio::test]
async fn another_server_on_the_port_is_found_whichever_was_there() {
    let cases = [
        ("lm-studio/v1_loaded", ServerKind::LmStudio),
        ("llama-cpp/ready", ServerKind::LlamaCpp),
        ("ollama/loaded", ServerKind::Ollama),
        ("vllm/ready", ServerKind::Vllm),
        ("sglang/ready", ServerKind::Sglang),
        ("lm-studio/v0_loaded", ServerKind::LmStudio),
        ("other/listed_context", ServerKind::Other),
    ];
    for (before, was) in cases {
        for (after, is) in cases {
            let (server, client) = at(before).await;
            assert_eq!(client.look().await.server, was);
            server.become_(Case::named(after));
            let seen = client.look().await;
            assert_eq!(
                (seen.server, client.server()),
                (is, Some(is)),
                "{before}, then {after}: {}",
                seen.message
            );
        }
    }
}

#[tokio::test]
async fn the_context_that_was_seen_counts_and_stays_while_the_server_is_away() {
    let (server, client) = at("lm-studio/v1_loaded").await;
    assert_eq!((client.context_tokens(), client.server()), (None, None), "nothing was seen yet");
    client.look().await;
    assert_eq!(client.context_tokens(), Some(32_768));
    server.become_(Case::named("lm-studio/v1_installed"));
    assert_eq!(client.look().await.state, EndpointState::Cold);
    assert_eq!(client.clone().context_tokens(), Some(32_768), "as it was loaded last, in every clone");
    server.become_(Case::named("lm-studio/v1_loaded_with_default_context"));
    client.look().await;
    assert_eq!(client.context_tokens(), Some(4_096));
}

#[tokio::test]
async fn the_key_goes_along_and_stands_in_no_message() {
    let list = json!({"data": [{"id": "other", "owned_by": "vllm"}]});
    let echo = json!({"error": {"message": "wrong key sk-secret-key"}});
    let server = Server::start(vec![Reply::json(200, &list), Reply::json(401, &echo)]).await;
    let client = Client::new(config(&server.url, Some("sk-secret-key"))).unwrap();
    let seen = client.look().await;
    assert_eq!(seen.state, EndpointState::AuthNeeded);
    assert!(seen.message.contains("wrong key [key]"), "{}", seen.message);
    for asked in server.asked() {
        assert_eq!(asked.headers["authorization"], "Bearer sk-secret-key");
    }
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let seen = client(&url).look().await;
    assert_eq!(seen.state, EndpointState::Unreachable);
    assert!(seen.message.contains(&url) && seen.message.contains("Start the server"), "{}", seen.message);
}

#[tokio::test]
async fn a_silent_server_is_unreachable_within_five_seconds() {
    let server = Server::start(vec![Reply::Silent]).await;
    let started = std::time::Instant::now();
    let seen = server.client().look().await;
    assert_eq!(seen.state, EndpointState::Unreachable);
    assert!(seen.message.contains("no answer within 5s"), "{}", seen.message);
    assert!(started.elapsed().as_secs() < 8, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_list_without_end_is_cut() {
    let long = format!(r#"{{"data":[{}{{"id":"served"}}]}}"#, r#"{"id":"x"},"#.repeat(900_000));
    let json = vec![("content-type", "application/json".to_owned())];
    let server = Server::start(vec![Reply::Http(200, json, long)]).await;
    let seen = server.client().look().await;
    assert_eq!(seen.state, EndpointState::Alive);
    assert!(seen.message.contains("cut after 8388608 bytes"), "{}", seen.message);
}

#[tokio::test]
async fn a_server_that_is_no_longer_loading_is_ready() {
    let (server, client) = at("llama-cpp/loading").await;
    let seen = client.look().await;
    assert_eq!((seen.server, seen.state), (ServerKind::LlamaCpp, EndpointState::Loading));
    server.become_(Case::named("llama-cpp/ready"));
    assert_eq!(client.look().await.state, EndpointState::Ready);
    server.answer("GET /props", Recorded::json(404, Value::Null));
    let seen = client.look().await;
    assert!(
        seen.message.contains("GET /health"),
        "without its settings its health is asked: {}",
        seen.message
    );
    assert_eq!(seen.state, EndpointState::Ready, "{}", seen.message);
}

#[tokio::test]
async fn a_survey_has_every_model_with_what_is_known_of_it() {
    let (_server, client) = at("ollama/installed").await;
    let survey = client.survey().await.unwrap();
    assert_eq!(survey.server, ServerKind::Ollama);
    let told: Vec<String> = survey
        .models
        .iter()
        .map(|m| format!("{} {:?} {:?}", m.name, m.residence, m.context_tokens))
        .collect();
    assert_eq!(told, ["gpt-oss:20b Installed None", "qwen3:4b Loaded Some(32768)"]);
    let (_server, client) = at("lm-studio/v1_installed").await;
    let embeds: Vec<bool> = client.survey().await.unwrap().models.iter().map(|m| m.embeds).collect();
    assert_eq!(embeds, [false, false, true]);
}

//! What a probe finds.

use nightforge_llm::{Client, Probe};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::server::{Reply, Server, client, config};

fn list(names: &[&str], owner: &str) -> Value {
    let entries: Vec<Value> = names.iter().map(|name| json!({"id": name, "owned_by": owner})).collect();
    json!({"object": "list", "data": entries})
}

async fn probed(replies: Vec<Reply>) -> (Probe, Server) {
    let server = Server::start(replies).await;
    let probe = server.client().probe().await;
    for part in [server.url.as_str(), "asked GET"] {
        assert!(probe.is_ready() || probe.to_string().contains(part), "no `{part}` in: {probe}");
    }
    (probe, server)
}

#[tokio::test]
async fn a_listed_model_is_ready() {
    let (probe, server) = probed(vec![Reply::json(200, &list(&["other", "served"], "lmstudio"))]).await;
    assert_eq!(probe, Probe::Ready { models: vec!["other".to_owned(), "served".to_owned()] });
    assert_eq!(server.asked().len(), 1);
    assert_eq!(server.asked()[0].path, "/v1/models");
}

#[tokio::test]
async fn the_key_goes_along() {
    let server = Server::start(vec![Reply::json(200, &list(&["served"], "x"))]).await;
    let client = Client::new(config(&server.url, Some("sk-secret-key"))).unwrap();
    assert!(client.probe().await.is_ready());
    assert_eq!(server.asked()[0].headers["authorization"], "Bearer sk-secret-key");
}

#[tokio::test]
async fn llama_cpp_is_ready_when_its_health_is() {
    let loading = json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}});
    let (probe, server) =
        probed(vec![Reply::json(200, &list(&["served"], "llamacpp")), Reply::json(503, &loading)]).await;
    assert!(matches!(probe, Probe::Loading { .. }), "{probe:?}");
    assert_eq!(server.asked()[1].path, "/health");
    let healthy = vec![
        Reply::json(200, &list(&["/models/served.gguf"], "llamacpp")),
        Reply::json(200, &json!({"status": "ok"})),
    ];
    assert!(probed(healthy).await.0.is_ready());
    let (probe, _) = probed(vec![Reply::json(503, &loading)]).await;
    assert!(matches!(probe, Probe::Loading { .. }), "{probe:?}");
}

#[tokio::test]
async fn another_model_is_the_wrong_one() {
    let (probe, _) = probed(vec![Reply::json(200, &list(&["a", "b"], "x"))]).await;
    assert!(matches!(&probe, Probe::WrongModel { served, .. } if served == &["a", "b"]), "{probe:?}");
    assert!(probe.to_string().contains("`a`, `b`"), "{probe}");
    let (probe, _) = probed(vec![Reply::json(200, &list(&[], "x"))]).await;
    assert!(matches!(probe, Probe::WrongModel { .. }), "{probe:?}");
}

#[tokio::test]
async fn a_key_is_asked_for() {
    let (probe, _) =
        probed(vec![Reply::json(401, &json!({"error": "An LM Studio API token is required"}))]).await;
    assert!(matches!(probe, Probe::AuthNeeded { .. }), "{probe:?}");
    assert!(probe.to_string().contains("api_key"), "{probe}");
}

#[tokio::test]
async fn what_is_no_openai_server_is_unusable() {
    let page =
        || Reply::Http(200, vec![("content-type", "text/html".to_owned())], "<html>hi</html>".to_owned());
    let redirect = Reply::Http(308, vec![("location", "https://elsewhere/".to_owned())], String::new());
    for reply in [page(), redirect, Reply::json(200, &json!({"ok": true})), Reply::json(404, &json!({}))] {
        let (probe, _) = probed(vec![reply]).await;
        assert!(matches!(probe, Probe::Unusable { .. }), "{probe:?}");
        assert!(probe.to_string().contains("/v1"), "{probe}");
    }
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let probe = client(&url).probe().await;
    assert!(matches!(probe, Probe::Unreachable { .. }) && probe.to_string().contains(&url), "{probe:?}");
}

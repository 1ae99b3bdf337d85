//! Who may ask, where, and how.

use reqwest::Method;
use serde_json::json;

use crate::server::{Server, answer};

#[tokio::test]
async fn other_names_and_other_sites_are_refused() {
    let server = Server::start().await;
    let get = |host: &str| server.request(Method::GET, "/api/tasks").header("Host", host.to_owned());
    assert_eq!(answer(get("evil.example")).await.problem(), (403, "host-not-allowed"));
    assert_eq!(answer(get(&format!("localhost:{}", server.address.port()))).await.status, 200);
    let post = |origin: &str| {
        let body = json!({"kind": "build", "objective": "A board"});
        server.request(Method::POST, "/api/tasks").header("Origin", origin.to_owned()).json(&body)
    };
    assert_eq!(answer(post("http://evil.example")).await.problem(), (403, "cross-site"));
    assert_eq!(server.get("/api/tasks").await.body["tasks"], json!([]));
    assert_eq!(answer(post(&format!("http://{}", server.address))).await.status, 201);
}

#[tokio::test]
async fn wrong_paths_and_methods_are_problems_too() {
    let server = Server::start().await;
    assert_eq!(server.get("/api/poems").await.problem(), (404, "no-such-route"));
    let response = server.request(Method::DELETE, "/api/tasks").send().await.unwrap();
    assert_eq!(response.headers()["allow"], "GET,HEAD,POST");
    let delete = answer(server.request(Method::DELETE, "/api/tasks")).await;
    assert_eq!(delete.problem(), (405, "wrong-method"));
    let id = server.submit("A board").await;
    assert_eq!(server.get(&format!("/api/tasks/{id}/cancel")).await.problem(), (405, "wrong-method"));
}

#[tokio::test]
async fn health_is_alive_and_ready_is_the_database() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await.status, 200);
    assert_eq!(server.get("/readyz").await.status, 200);
    server.store.close().await;
    assert_eq!(server.get("/healthz").await.status, 200);
    assert_eq!(server.get("/readyz").await.problem(), (503, "not-ready"));
    assert_eq!(server.get("/api/tasks").await.problem(), (503, "database-unavailable"));
    let response = server.request(Method::GET, "/api/tasks").send().await.unwrap();
    assert_eq!(response.headers()["retry-after"], "5");
}

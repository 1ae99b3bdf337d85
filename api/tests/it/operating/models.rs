//! Which models tasks can ask for, where none is configured.

use nightforge_api::Models;
use nightforge_store::Role;
use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn without_configuration_tasks_ask_for_what_live_workers_serve() {
    let server = Server::start_with(Models { known: Vec::new(), agents: None }).await;
    let body = json!({"kind": "build", "objective": "Build a board."});
    let nobody = server.post("/api/tasks", &body).await;
    assert_eq!(nobody.problem(), (422, "model-not-named"));
    assert!(nobody.detail().contains("start a worker"), "{}", nobody.text);
    server.process(Role::Worker, Some("coder")).await;
    let made = server.post("/api/tasks", &body).await;
    assert_eq!(made.status.as_u16(), 201, "{}", made.text);
    server.process(Role::Worker, Some("small")).await;
    let several = server.post("/api/tasks", &body).await;
    assert_eq!(several.problem(), (422, "model-not-named"));
    assert!(several.detail().contains("coder, small"), "{}", several.text);
    let named = json!({"kind": "build", "objective": "Build a board.", "model": "small"});
    assert_eq!(server.post("/api/tasks", &named).await.status.as_u16(), 201);
}

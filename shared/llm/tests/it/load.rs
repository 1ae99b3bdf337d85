//! A model that is installed is loaded, each server in its own way.

use nightforge_domain::fault::FaultClass;
use nightforge_llm::{Client, EndpointState};
use serde_json::{Value, json};

use crate::recorded::{Case, Recorded, RecordedServer};
use crate::server::{Reply, Server, finish, piece};

async fn cold(case: &str, context: Option<u64>) -> (RecordedServer, Client) {
    let case = Case { context, ..Case::named(case) };
    let server = RecordedServer::start(case).await;
    let client = server.client();
    assert_eq!(client.look().await.state, EndpointState::Cold);
    server.take_asked();
    (server, client)
}

#[tokio::test]
async fn lm_studio_is_told_to_load_with_the_configured_context() {
    let loaded = json!({"model_instance_id": "openai/gpt-oss-20b", "config": {"context_length": 32_768}, "load_time_seconds": 9.099});
    for (context, config) in [(Some(32_768), json!({"context_length": 32_768})), (None, Value::Null)] {
        let (server, client) = cold("lm-studio/v1_installed", context).await;
        server.answer("POST /api/v1/models/load", Recorded::json(200, loaded.clone()));
        client.load().await.unwrap();
        let [(asked, body)] = server.take_bodies().try_into().unwrap();
        assert_eq!(asked, "POST /api/v1/models/load");
        assert_eq!((&body["model"], &body["config"]), (&json!("openai/gpt-oss-20b"), &config));
    }
}

#[tokio::test]
async fn ollama_is_sent_an_empty_prompt() {
    let (server, client) = cold("ollama/installed", None).await;
    let loaded = json!({"model": "gpt-oss:20b", "created_at": "2026-05-04T19:22:45.499127Z", "response": "", "done": true, "done_reason": "load"});
    server.answer("POST /api/generate", Recorded::json(200, loaded));
    client.load().await.unwrap();
    let [(_, body)] = server.take_bodies().try_into().unwrap();
    assert_eq!(body, json!({"model": "gpt-oss:20b", "stream": false}));
}

#[tokio::test]
async fn a_model_that_does_not_load_says_why_and_what_to_do() {
    let (server, client) = cold("ollama/installed", None).await;
    let memory = "model requires more system memory (13.3 GiB) than is available (9.1 GiB)";
    server.answer("POST /api/generate", Recorded::json(500, json!({"error": memory})));
    let error = client.load().await.unwrap_err();
    assert_eq!((error.class, error.status), (FaultClass::ServerError, Some(500)));
    for part in ["asked POST /api/generate", memory, "Load the model in the server itself"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    let (server, client) = cold("lm-studio/v1_installed", None).await;
    let missing = json!({"error": {"type": "model_not_found", "message": "Model not found"}});
    server.answer("POST /api/v1/models/load", Recorded::json(404, missing.clone()));
    assert_eq!(client.load().await.unwrap_err().class, FaultClass::ModelMissing);
    server.answer("POST /api/v1/models/load", Recorded::json(200, missing));
    assert_eq!(client.load().await.unwrap_err().class, FaultClass::ModelMissing, "an error inside a 200");
}

#[tokio::test]
async fn any_other_server_is_asked_for_one_token() {
    let server = Server::start(vec![Reply::Stream(vec![piece("H"), finish("length")])]).await;
    server.client().load().await.unwrap();
    let asked = server.asked();
    assert_eq!((asked[0].path.as_str(), &asked[0].body["max_tokens"]), ("/v1/chat/completions", &json!(1)));
    let server = Server::start(vec![Reply::json(503, &json!({"error": "server busy"}))]).await;
    assert_eq!(server.client().load().await.unwrap_err().class, FaultClass::Overloaded);
}

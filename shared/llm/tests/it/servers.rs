//! Every server as it was seen answering: which one it is, its state, its context, what is said of it, and how
//! many requests that takes. A case is a file under `cases/servers/`.

use serde_json::json;

use crate::recorded::{Case, RecordedServer};

#[tokio::test]
async fn every_recorded_server_is_known_and_judged() {
    let cases = Case::all("servers");
    for server in ["llama-cpp", "lm-studio", "ollama", "vllm", "sglang", "other"] {
        let count = cases.iter().filter(|(name, _)| name.starts_with(server)).count();
        assert!(count >= 5, "only {count} cases of {server}");
    }
    for (name, case) in cases {
        let expect = case.expect.clone();
        let server = RecordedServer::start(case).await;
        let client = server.client();
        let seen = client.look().await;
        let found = json!({
            "server": seen.server.as_str(),
            "state": seen.state.as_str(),
            "context_tokens": seen.context_tokens,
            "server_slots": seen.server_slots,
            "asked": server.take_asked(),
        });
        for (field, found) in found.as_object().unwrap() {
            assert_eq!(*found, expect[field], "{name}: {field}; {}", seen.message);
        }
        if let Some(models) = expect.get("models") {
            assert_eq!(json!(seen.models), *models, "{name}");
        }
        let parts = expect["message"].as_array().unwrap().iter().map(|part| part.as_str().unwrap());
        for part in parts.chain([server.url.as_str(), "asked GET /"]) {
            assert!(seen.message.contains(part), "{name}: no `{part}` in: {}", seen.message);
        }
        assert_eq!(client.context_tokens(), seen.context_tokens, "{name}");
        // A second look comes to the same, whatever the first has taught.
        let again = client.look().await;
        assert_eq!((again.server, again.state), (seen.server, seen.state), "{name}: {}", again.message);
        assert_eq!(again.context_tokens, seen.context_tokens, "{name}");
    }
}

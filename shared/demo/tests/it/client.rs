//! Requests as a client of the protocol makes them, and answers read to their end.

use nightforge_demo::{DemoModel, MODEL};
use nightforge_domain::contract::Contract;
use reqwest::{Client, Response};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// A client of its own for each test. Idle connections are not kept: a server that stops closes them.
pub(crate) fn http() -> Client {
    // Only the first call of a process can install it; later ones find it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap()
}

pub(crate) fn system() -> Value {
    json!({"role": "system", "content": "You build a project, one small step at a time."})
}

pub(crate) fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

pub(crate) fn assistant(content: &str) -> Value {
    json!({"role": "assistant", "content": content})
}

/// A request that keeps to the protocol.
pub(crate) fn request<C: Contract>(messages: &[Value]) -> Value {
    json!({
        "model": MODEL,
        "messages": messages,
        "temperature": 1.0,
        "max_tokens": 8192,
        "stream": true,
        "stream_options": {"include_usage": true},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": C::NAME, "strict": true, "schema": schema::<C>()},
        },
    })
}

/// The first request of a session.
pub(crate) fn session_start(feature: &str, attempt: u32) -> Value {
    let test_file = format!("tests/test_{}.py", feature.to_lowercase());
    user(&format!("Build this feature.\nFEATURE: {feature}\nATTEMPT: {attempt}\nTEST FILE: {test_file}\n"))
}

pub(crate) async fn send(http: &Client, model: &DemoModel, body: &Value) -> reqwest::Result<Response> {
    http.post(format!("{}/chat/completions", model.url())).json(body).send().await
}

/// A streamed answer, put together.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Streamed {
    pub(crate) text: String,
    pub(crate) deltas: usize,
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: Option<Value>,
    pub(crate) done: bool,
}

/// Reads events until the end, or until the connection breaks.
pub(crate) async fn read(mut response: Response) -> (Streamed, Option<reqwest::Error>) {
    assert_eq!(response.status(), 200);
    let mut bytes = Vec::new();
    let broken = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let mut streamed = Streamed::default();
    for line in std::str::from_utf8(&bytes).unwrap().lines().filter(|line| !line.is_empty()) {
        let data = line.strip_prefix("data: ").unwrap();
        if data == "[DONE]" {
            streamed.done = true;
            continue;
        }
        let chunk: Value = serde_json::from_str(data).unwrap();
        assert_eq!(chunk["model"], MODEL);
        match chunk["choices"].get(0) {
            Some(choice) => {
                assert_eq!(streamed.finish_reason, None, "a choice after the last one");
                if let Some(text) = choice["delta"]["content"].as_str() {
                    streamed.text.push_str(text);
                    streamed.deltas += 1;
                }
                streamed.finish_reason = choice["finish_reason"].as_str().map(str::to_owned);
            }
            None => streamed.usage = Some(chunk["usage"].clone()),
        }
    }
    (streamed, broken)
}

/// The text of a complete answer.
pub(crate) async fn ask(http: &Client, model: &DemoModel, body: &Value) -> String {
    let response = send(http, model, body).await.unwrap();
    let status = response.status();
    if status != 200 {
        panic!("{status}: {}", response.text().await.unwrap());
    }
    let (streamed, broken) = read(response).await;
    assert!(broken.is_none() && streamed.done, "{broken:?}");
    assert_eq!(streamed.finish_reason.as_deref(), Some("stop"));
    streamed.text
}

/// The contract's schema in the form that all servers take.
pub(crate) fn schema<C: Contract>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<C>().to_value();
    portable(&mut schema);
    schema
}

fn portable(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for keyword in ["$schema", "title", "format", "minimum"] {
        object.remove(keyword);
    }
    if let Some(choices) = object.remove("oneOf") {
        object.insert("anyOf".to_owned(), choices);
    }
    if let Some(constant) = object.remove("const") {
        object.insert("enum".to_owned(), json!([constant]));
    }
    if let Some(Value::Array(kinds)) = object.get("type").cloned() {
        object.remove("type");
        object.insert("anyOf".to_owned(), kinds.iter().map(|kind| json!({"type": kind})).collect());
    }
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(portable);
        let names: Value = properties.keys().cloned().collect();
        object.insert("required".to_owned(), names);
        object.insert("additionalProperties".to_owned(), json!(false));
    }
    if let Some(items) = object.get_mut("items") {
        portable(items);
    }
    for choice in object.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
        portable(choice);
    }
}

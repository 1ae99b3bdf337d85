//! A model server that answers from a script, and keeps what it was asked.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Json, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, serve};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The only model of the server.
pub(crate) const MODEL: &str = "m";

/// One scripted answer.
pub(crate) enum Reply {
    /// A whole answer.
    Say(Value),
    /// A whole answer, once [`Model::release`] was called.
    SayWhenReleased(Value),
    /// An error.
    Fail(u16, &'static str),
}

pub(crate) struct Model {
    pub(crate) address: SocketAddr,
    script: Arc<Script>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Value>>,
    came: Notify,
    released: Notify,
}

impl Model {
    /// A server at a free port.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), replies).await
    }

    pub(crate) async fn start_at(address: SocketAddr, replies: impl IntoIterator<Item = Reply>) -> Self {
        let script =
            Arc::new(Script { replies: Mutex::new(replies.into_iter().collect()), ..Script::default() });
        let routes = Router::new()
            .route("/v1/models", get(|| async { Json(json!({"object": "list", "data": [{"id": MODEL}]})) }))
            .route("/v1/chat/completions", post(chat))
            .with_state(Arc::clone(&script));
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move { serve(listener, routes).await.unwrap() });
        Self { address, script, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds an answer after those that are scripted.
    pub(crate) fn then(&self, reply: Reply) {
        self.script.replies.lock().unwrap().push_back(reply);
    }

    /// Lets one held answer go.
    pub(crate) fn release(&self) {
        self.script.released.notify_one();
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.script.asked.lock().unwrap().clone()
    }

    /// Waits for the request of this number, counted from 1.
    pub(crate) async fn until_asked(&self, number: usize) -> Value {
        loop {
            let came = self.script.came.notified();
            if let Some(request) = self.asked().get(number - 1) {
                return request.clone();
            }
            came.await;
        }
    }

    /// Goes away; requests in flight are cut.
    pub(crate) async fn stop(self) -> SocketAddr {
        self.serving.abort();
        let _ = self.serving.await;
        self.address
    }
}

/// The last message of a request.
pub(crate) fn last_message(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

/// An answer waits for its turn when the script has run out, until its client goes away.
async fn chat(State(script): State<Arc<Script>>, Json(request): Json<Value>) -> Response {
    // A worker's first small call, which no story is about.
    if request["response_format"]["json_schema"]["name"] == "ModeProbe" {
        return stream(&json!({"thought": "t", "action": {"tool": "list_files", "path": "docs"}}));
    }
    script.asked.lock().unwrap().push(request);
    script.came.notify_waiters();
    let reply = script.replies.lock().unwrap().pop_front();
    match reply {
        Some(Reply::Say(answer)) => stream(&answer),
        Some(Reply::SayWhenReleased(answer)) => {
            script.released.notified().await;
            stream(&answer)
        }
        Some(Reply::Fail(status, text)) => (StatusCode::from_u16(status).unwrap(), text).into_response(),
        None => std::future::pending().await,
    }
}

fn stream(answer: &Value) -> Response {
    let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    let events = [
        json!({"id": "c", "model": MODEL, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}),
    ];
    let mut body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

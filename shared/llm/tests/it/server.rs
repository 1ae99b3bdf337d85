//! A server that answers from a script and keeps what it was asked.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use nightforge_llm::{Client, EndpointConfig, SecretString};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// One scripted answer.
pub(crate) enum Reply {
    /// A stream that ends after these texts.
    Stream(Vec<String>),
    /// A stream whose connection breaks after these texts.
    Cut(Vec<String>),
    /// A stream that stays open and silent after these texts.
    Hang(Vec<String>),
    /// A stream that repeats the text without end.
    Flood(String),
    /// No answer, not even a status.
    Silent,
    /// Anything else.
    Http(u16, Vec<(&'static str, String)>, String),
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Http(status, vec![("content-type", "application/json".to_owned())], body.to_string())
    }

    /// A whole answer in two pieces.
    pub(crate) fn answer(text: &str) -> Self {
        let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        Self::Stream(vec![piece(&text[..half]), piece(&text[half..]), finish("stop"), usage(11, 7), done()])
    }
}

/// An event of the stream.
pub(crate) fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

pub(crate) fn piece(text: &str) -> String {
    event(
        &json!({"id": "c", "model": "served", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}),
    )
}

pub(crate) fn finish(reason: &str) -> String {
    event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

pub(crate) fn usage(prompt: u64, completion: u64) -> String {
    let details = json!({"cached_tokens": 3});
    event(
        &json!({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details}}),
    )
}

pub(crate) fn done() -> String {
    "data: [DONE]\n\n".to_owned()
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

struct Script {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Asked>>,
    /// Hears when an answer, or the wait for one, ended because the client went away.
    gone: mpsc::UnboundedSender<()>,
}

pub(crate) struct Server {
    pub(crate) url: String,
    script: Arc<Script>,
    gone: mpsc::UnboundedReceiver<()>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let (send_gone, gone) = mpsc::unbounded_channel();
        let script = Script { replies: Mutex::new(replies.into()), asked: Mutex::default(), gone: send_gone };
        let script = Arc::new(script);
        let router = Router::new().fallback(answer).with_state(script.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, script, gone, task }
    }

    pub(crate) fn client(&self) -> Client {
        client(&self.url)
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.script.asked.lock().unwrap().clone()
    }

    /// Waits until the client's going away was seen.
    pub(crate) async fn saw_disconnect(&mut self) {
        self.gone.recv().await.unwrap();
    }

    /// Waits until this many requests have come.
    pub(crate) async fn saw_requests(&self, count: usize) {
        while self.script.asked.lock().unwrap().len() < count {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn config(url: &str, key: Option<&str>) -> EndpointConfig {
    let api_key = key.map(SecretString::from);
    EndpointConfig {
        url: url.to_owned(),
        model: "served".to_owned(),
        api_key,
        context_tokens: Some(8_192),
        least_context_tokens: 8_192,
    }
}

pub(crate) fn client(url: &str) -> Client {
    Client::new(config(url, None)).unwrap()
}

/// Says when it is dropped.
struct Gone(mpsc::UnboundedSender<()>);

impl Drop for Gone {
    fn drop(&mut self) {
        // The test may have ended.
        let _ = self.0.send(());
    }
}

async fn answer(State(script): State<Arc<Script>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 24).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    script.asked.lock().unwrap().push(Asked {
        path: parts.uri.path().to_owned(),
        headers: parts.headers,
        body,
    });
    let reply = script.replies.lock().unwrap().pop_front();
    let reply = reply.unwrap_or_else(|| Reply::Http(418, vec![], "a request beyond the script".to_owned()));
    let gone = Gone(script.gone.clone());
    let sse =
        |body: Body| Response::builder().header("content-type", "text/event-stream").body(body).unwrap();
    match reply {
        Reply::Stream(texts) => sse(Body::from_stream(whole(texts))),
        Reply::Cut(texts) => {
            let broken = stream::once(async {
                // What came before is flushed only when the body has to wait.
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            sse(Body::from_stream(whole(texts).map(|text| Ok(text.unwrap_or_default())).chain(broken)))
        }
        Reply::Hang(texts) => {
            let silence = stream::once(async move {
                let _gone = gone;
                std::future::pending().await
            });
            sse(Body::from_stream(whole(texts).chain(silence)))
        }
        Reply::Flood(text) => sse(Body::from_stream(stream::repeat(Ok::<_, Infallible>(text)))),
        Reply::Silent => {
            let _gone = gone;
            std::future::pending().await
        }
        Reply::Http(status, headers, body) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).unwrap()
        }
    }
}

fn whole(texts: Vec<String>) -> impl futures_util::Stream<Item = Result<String, Infallible>> {
    stream::iter(texts.into_iter().map(Ok))
}

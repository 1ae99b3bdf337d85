//! A model server that answers at once, as a research team that finds what it looks for, and notes every call.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::words;
use crate::fake_model::{BODY_LIMIT_BYTES, answers, models, tcp_nodelay, wire};

/// One answered call of an agent.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The name of its contract.
    pub(super) contract: String,
    pub(super) body: Bytes,
    /// The request was in.
    pub(super) arrived: Instant,
    /// The answer was handed over.
    pub(super) answered: Instant,
}

impl Call {
    /// The server's own time.
    pub(super) fn took(&self) -> Duration {
        self.answered.saturating_duration_since(self.arrived)
    }
}

/// A running server; it ends when it is dropped.
pub(super) struct Team {
    url: String,
    calls: Calls,
    _end: DropGuard,
}

#[derive(Debug, Clone, Default)]
struct Calls(Arc<Mutex<Vec<Call>>>);

impl Team {
    /// Listens on a free port of loopback.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let calls = Calls::default();
        let routes = Router::new()
            .route("/v1/chat/completions", post(completions))
            .route("/v1/models", get(models))
            .layer(DefaultBodyLimit::max(BODY_LIMIT_BYTES))
            .with_state(calls.clone());
        let end = CancellationToken::new();
        let serving =
            axum::serve(tcp_nodelay(listener), routes).with_graceful_shutdown(end.clone().cancelled_owned());
        tokio::spawn(async { serving.await });
        Ok(Self { url, calls, _end: end.drop_guard() })
    }

    /// Base URL.
    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    /// The calls since the last call of this, in the order of their answers.
    pub(super) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.calls.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn completions(State(calls): State<Calls>, body: Bytes) -> Response {
    let arrived = Instant::now();
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return (StatusCode::BAD_REQUEST, "the request is no JSON").into_response();
    };
    let contract = answers::contract(&request).to_owned();
    let Some(text) = words::answer(&contract, &request) else {
        // The worker looks whether the server takes requests at all. That is no agent's call.
        return Json(wire::whole(&answers::answer(&request), body.len())).into_response();
    };
    let answer = Bytes::from(wire::events(&text, body.len()));
    let answering = Answering { calls, contract, body, arrived };
    let parts = stream::unfold((Some(answer), answering), |(answer, answering)| async move {
        // Without anything left the answer is over, and `answering` is dropped.
        Some((Ok::<_, std::io::Error>(answer?), (None, answering)))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(parts)).into_response()
}

/// Notes the call when its answer is over.
struct Answering {
    calls: Calls,
    contract: String,
    body: Bytes,
    arrived: Instant,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let call = Call {
            contract: std::mem::take(&mut self.contract),
            body: self.body.clone(),
            arrived: self.arrived,
            answered: Instant::now(),
        };
        self.calls.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

//! A model server that answers each request after a fixed time, and notes how long its one slot stood free before.
//!
//! It looks like any OpenAI-compatible server: a list of models and streamed chat completions, nothing else.

pub(crate) mod answers;
mod gaps;
pub(crate) mod wire;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use gaps::Gaps;
pub(crate) use gaps::{Between, Gap};

use crate::load::MODEL;

/// What the server computes for one answer.
pub(crate) const ANSWER_TIME: Duration = Duration::from_millis(50);

/// Tokens that fit into the model's context.
pub(crate) const CONTEXT_TOKENS: u64 = 32_768;

/// Far above what fits into the context.
pub(crate) const BODY_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// A running server; it ends when it is dropped.
pub(crate) struct FakeModel {
    url: String,
    gaps: Arc<Gaps>,
    _end: DropGuard,
}

impl FakeModel {
    /// Listens on a free port of loopback.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let gaps = Arc::new(Gaps::default());
        let routes = Router::new()
            .route("/v1/chat/completions", post(completions))
            .route("/v1/models", get(models))
            .layer(DefaultBodyLimit::max(BODY_LIMIT_BYTES))
            .with_state(Arc::clone(&gaps));
        let end = CancellationToken::new();
        let serving =
            axum::serve(tcp_nodelay(listener), routes).with_graceful_shutdown(end.clone().cancelled_owned());
        tokio::spawn(async { serving.await });
        Ok(Self { url, gaps, _end: end.drop_guard() })
    }

    /// Base URL.
    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// The gaps since the last call of this, and the sizes of the prompts behind them, in bytes.
    pub(crate) fn take(&self) -> (Vec<Gap>, Vec<usize>) {
        self.gaps.take()
    }

    /// Gaps since the last [`FakeModel::take`].
    pub(crate) fn gap_count(&self) -> usize {
        self.gaps.count()
    }

    /// The most requests that were under way at a time.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.gaps.most_in_flight()
    }
}

/// Small answers must not wait for an acknowledgement of the ones before.
pub(crate) fn tcp_nodelay(
    listener: TcpListener,
) -> impl axum::serve::Listener<Io = tokio::net::TcpStream, Addr = std::net::SocketAddr> {
    use axum::serve::ListenerExt;
    listener.tap_io(|connection| {
        let _slower_but_right = connection.set_nodelay(true);
    })
}

pub(crate) async fn models() -> Json<Value> {
    Json(json!({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "bench"}]}))
}

/// The body is in when this is called.
async fn completions(State(gaps): State<Arc<Gaps>>, body: Bytes) -> Response {
    let arrived = Instant::now();
    let request: Value = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => {
            let body = json!({"error": {"message": error.to_string(), "type": "invalid_request_error"}});
            return (axum::http::StatusCode::BAD_REQUEST, Json(body)).into_response();
        }
    };
    let busy = gaps.arrival(arrived, &request, answers::prompt_bytes(&request));
    let text = answers::answer(&request);
    let ready = tokio::time::Instant::from_std(arrived + ANSWER_TIME);
    if request["stream"] != json!(true) {
        tokio::time::sleep_until(ready).await;
        return Json(wire::whole(&text, body.len())).into_response();
    }
    let answer = Bytes::from(wire::events(&text, body.len()));
    let parts = stream::unfold((Some(answer), busy), move |(answer, busy)| async move {
        // Without anything left the slot becomes free, as `busy` is dropped.
        let answer = answer?;
        tokio::time::sleep_until(ready).await;
        Some((Ok::<_, std::io::Error>(answer), (None, busy)))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(parts)).into_response()
}

//! Start and end of the server, and the routes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use nightforge_domain::contract::Contract;
use nightforge_domain::contract::research::CriticReview;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::misbehaviour::{Misbehaviour, Planned};
use crate::record::Record;
use crate::{CONTEXT_TOKENS, MODEL, chat, wire};

/// Larger bodies are answered with 413; far above what fits into the context.
const BODY_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// How the server runs.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// Address to listen on. Default 127.0.0.1 and a free port.
    pub listen: SocketAddr,
    /// How long one answer takes, spread over its deltas. Default 0.
    pub pace: Duration,
    /// Answers given at the same time; further requests wait. At least 1, default 4.
    pub slots: usize,
    /// Whether the first request of a Critic (`CriticReview`) is refused, once: 429, to be asked again after a second.
    /// The demo of the research team shows with it what a busy server is like. Default false.
    pub refuse_once: bool,
}

impl Default for DemoOptions {
    fn default() -> Self {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { listen, pace: Duration::ZERO, slots: 4, refuse_once: false }
    }
}

/// A running server. It stops when it is dropped: open connections are closed as they are.
#[derive(Debug)]
pub struct DemoModel {
    address: SocketAddr,
    record: Arc<Record>,
    /// Dropping it ends the accept loop and with it every connection.
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
}

impl DemoModel {
    /// Listens, and answers from then on. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the address can't be listened on.
    pub async fn start(options: DemoOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let record = Arc::new(Record::new(options.pace, options.slots.max(1)));
        if options.refuse_once {
            let misbehaviour = Misbehaviour::TooManyRequests { retry_after_s: 1 };
            record.plan(Planned { misbehaviour, contract: Some(CriticReview::NAME) }, 1);
        }
        let (stop, stopped) = oneshot::channel();
        let accepting = tokio::spawn(accept(listener, routes(Arc::clone(&record)), stopped));
        Ok(Self { address, record, stop, accepting })
    }

    /// Base URL as clients are configured with it: `http://127.0.0.1:<port>/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What was wrong with requests, oldest first; empty when all kept to the protocol. At most 2,000.
    pub fn violations(&self) -> Vec<String> {
        self.record.violations()
    }

    /// The bodies of the last 2,000 chat requests, oldest first. One that is not JSON is a string.
    pub fn requests(&self) -> Vec<Value> {
        self.record.requests()
    }

    /// Lets the next `times` chat requests that keep to the protocol fail in this way, after those that were
    /// asked for before. A client's start-up probe is spared. Ways to fail that one contract only knows wait for
    /// requests in that contract. `u32::MAX` times is always.
    pub fn misbehave(&self, misbehaviour: Misbehaviour, times: u32) {
        self.record.plan(Planned { misbehaviour, contract: None }, times);
    }

    /// As [`DemoModel::misbehave`], for requests in one contract; those in others pass by it. An agent whose every
    /// answer is broken: `model.misbehave_in::<CriticReview>(Misbehaviour::BrokenJson, u32::MAX)`.
    pub fn misbehave_in<C: Contract>(&self, misbehaviour: Misbehaviour, times: u32) {
        self.record.plan(Planned { misbehaviour, contract: Some(C::NAME) }, times);
    }

    /// Chat requests that have come in, and are neither answered to the end nor given up by their client.
    pub fn in_flight(&self) -> usize {
        self.record.in_flight()
    }

    /// Stops and returns when the port is free again. Open connections are closed as they are.
    pub async fn stop(self) {
        drop(self.stop);
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the demo model's accept loop did not end in order");
        }
    }
}

/// Takes connections until `stopped`. Not `axum::serve`: its shutdown waits for answers that never end.
async fn accept(listener: TcpListener, routes: Router, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    let service = TowerToHyperService::new(routes.clone());
                    connections.spawn(async move {
                        let served = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
                        if let Err(error) = served {
                            tracing::debug!(%error, "a connection to the demo model ended early");
                        }
                    });
                }
                Err(error) => {
                    // Out of descriptors, mostly: without a pause the loop would spin.
                    tracing::warn!(%error, "the demo model could not take a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}

fn routes(record: Arc<Record>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::completions))
        .route("/v1/models", get(models))
        .route("/health", get(health))
        .route("/props", get(props))
        .fallback(not_found)
        .layer(DefaultBodyLimit::max(BODY_LIMIT_BYTES))
        .with_state(record)
}

async fn models() -> Json<Value> {
    Json(json!({
        "object": "list",
        "data": [{
            "id": MODEL,
            "object": "model",
            "created": 0,
            "owned_by": "nightforge",
            "meta": {"n_ctx_train": CONTEXT_TOKENS},
        }],
    }))
}

async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// As llama.cpp's: `n_ctx` is the context of one slot.
async fn props(State(record): State<Arc<Record>>) -> Json<Value> {
    Json(json!({
        "default_generation_settings": {"id": 0, "n_ctx": CONTEXT_TOKENS},
        "total_slots": record.slots(),
        "model_path": MODEL,
        "build_info": concat!("nightforge-demo ", env!("CARGO_PKG_VERSION")),
    }))
}

async fn not_found() -> Response {
    wire::error(StatusCode::NOT_FOUND, "not_found_error", "File Not Found").into_response()
}

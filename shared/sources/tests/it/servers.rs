//! Real HTTP servers on this machine that behave as a test says, and remember what they were asked.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode};
use nightforge_sources::SearchAnswer;
use nightforge_sources::search::Patience;
use reqwest::Url;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Seen {
    /// A header's value; empty where it was not sent.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What the server does with a request.
pub(crate) enum Act {
    Answer(Response<Body>),
    /// Says nothing, and holds the connection.
    Hang,
}

pub(crate) struct Server {
    /// `http://127.0.0.1:port/`
    pub(crate) url: Url,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(act: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (act, log) = (Arc::new(act), Arc::clone(&seen));
        let router = axum::Router::new().fallback(move |request: Request| {
            let (act, log) = (Arc::clone(&act), Arc::clone(&log));
            async move {
                let request = seen_of(request).await;
                log.lock().unwrap().push(request.clone());
                match act(&request) {
                    Act::Answer(response) => response,
                    Act::Hang => std::future::pending().await,
                }
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, task }
    }

    /// Everything that was asked so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn seen_of(request: Request) -> Seen {
    let (parts, body) = request.into_parts();
    let url = Url::parse(&format!("http://server{}", parts.uri)).unwrap();
    Seen {
        method: parts.method.to_string(),
        path: url.path().to_owned(),
        query: url.query_pairs().into_owned().collect(),
        headers: parts.headers,
        body: String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap(),
    }
}

/// An answer with a status, headers (`name: value` lines) and a body.
pub(crate) fn answer(status: u16, headers: &str, body: impl Into<Body>) -> Act {
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for line in headers.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        response = response.header(name.trim(), value);
    }
    Act::Answer(response.body(body.into()).unwrap())
}

pub(crate) const JSON: &str = "content-type: application/json";
pub(crate) const HTML: &str = "content-type: text/html; charset=utf-8";

/// A body that begins and never ends.
pub(crate) fn endless(first: &'static str) -> Body {
    use futures_util::StreamExt;
    let start = futures_util::stream::iter([Ok::<_, Infallible>(Bytes::from_static(first.as_bytes()))]);
    Body::from_stream(start.chain(futures_util::stream::pending()))
}

/// A body that breaks off, after more than a server holds back before it sends.
pub(crate) fn broken_off(first: &'static str) -> Body {
    let mut pieces = vec![Ok(Bytes::from_static(first.as_bytes()))];
    pieces.extend((0..16).map(|_| Ok(Bytes::from(vec![b' '; 64 * 1024]))));
    pieces.push(Err(std::io::Error::other("the server died")));
    Body::from_stream(futures_util::stream::iter(pieces))
}

/// An address where nobody listens.
pub(crate) async fn nobody() -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap()
}

/// Enough for any answer of this machine, and soon over for none.
pub(crate) fn patience() -> Patience {
    Patience { connect: Duration::from_secs(2), whole: Duration::from_secs(10) }
}

/// As [`patience`], for servers that never answer.
pub(crate) fn impatience() -> Patience {
    Patience { whole: Duration::from_millis(150), ..patience() }
}

/// The reason and the pause in seconds of an answer that must be `Unavailable`, with all that every reason says.
pub(crate) fn unavailable(case: &str, answer: &SearchAnswer, endpoint: &Url) -> (String, Option<u64>) {
    let SearchAnswer::Unavailable { reason, retry_after } = answer else { panic!("{case}: {answer:?}") };
    let host = format!("{}:{}", endpoint.host_str().unwrap(), endpoint.port().unwrap());
    assert!(reason.contains(&host), "{case}: names no endpoint: {reason}");
    assert!(
        reason.contains("asked for") && reason.contains("; "),
        "{case}: no question or no remedy: {reason}"
    );
    (reason.clone(), retry_after.map(|pause| pause.as_secs()))
}

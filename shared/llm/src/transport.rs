//! The HTTP layer under async-openai: sends once, never again, and keeps what its own layer loses — the
//! status, `Retry-After` and the body of an error.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::header::{CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::Response;
use rustls::RootCertStore;
use rustls::crypto::ring;

use crate::endpoint::{ConfigError, Endpoint};

/// The longest part of an error's body that is read.
const ERROR_BODY_BYTES: usize = 64 * 1024;
/// The longest line of a stream: an event is one, and holds a few tokens.
const LINE_BYTES: usize = 256 * 1024;
/// The longest answer of a server that does not stream.
const JSON_BODY_BYTES: usize = 8 * 1024 * 1024;
/// An error's body that does not come in this time is judged by what came.
const ERROR_BODY_TIME: Duration = Duration::from_secs(2);
/// The longest pause that `Retry-After` may ask for.
const RETRY_AFTER_CAP: Duration = Duration::from_secs(60);

/// Why there is no stream to read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportFault {
    /// No connection.
    #[error("no connection: {0}")]
    Connect(String),
    /// A connection, and no answer on it.
    #[error("no answer: {0}")]
    NoAnswer(String),
    /// An answer that is not a 2xx.
    #[error("HTTP {status}")]
    Status { status: u16, retry_after: Option<Duration>, location: Option<String>, body: String },
    /// A 2xx that is neither a stream nor JSON, or JSON without end.
    #[error("HTTP {status} of type `{content_type}`")]
    NotAnAnswer { status: u16, content_type: String, body: String },
}

impl From<TransportFault> for OpenAIError {
    fn from(fault: TransportFault) -> Self {
        OpenAIError::Boxed(Box::new(fault))
    }
}

/// The service that async-openai sends through; taking its place turns its retries off.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    http: reqwest::Client,
}

impl Transport {
    pub(crate) fn new(http: reqwest::Client) -> Self {
        Self { http }
    }
}

impl tower::Service<HttpRequestFactory> for Transport {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let http = self.http.clone();
        Box::pin(async move {
            let request = factory.build().await?;
            let response = http.execute(request).await.map_err(send_fault)?;
            Ok(judge(response).await?)
        })
    }
}

/// The HTTP client of one endpoint. Connections are not kept: local servers close idle ones without a word,
/// and a request that meets such a close looks like a dead server.
pub(crate) fn http_client(endpoint: &Endpoint, connect: Duration) -> Result<reqwest::Client, ConfigError> {
    let failed = |reason: String| ConfigError::Http { url: endpoint.url.clone(), reason };
    let mut builder = reqwest::Client::builder()
        .connect_timeout(connect)
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    if endpoint.loopback {
        builder = builder.no_proxy();
    }
    if endpoint.tls {
        // Fails where another crate of the process was first, which is as good.
        let _ = ring::default_provider().install_default();
    } else {
        // Without this the client reads the machine's root certificates, and fails where there are none.
        let provider = std::sync::Arc::new(ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(tls);
    }
    builder.build().map_err(|error| failed(causes(&error)))
}

/// Sorts an error of a request that got no answer.
pub(crate) fn send_fault(error: reqwest::Error) -> TransportFault {
    let connecting = error.is_connect();
    let text = causes(&error.without_url());
    if connecting { TransportFault::Connect(text) } else { TransportFault::NoAnswer(text) }
}

/// An error with all its causes: reqwest's own text leaves out the one that matters.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

async fn judge(response: Response) -> Result<Response, TransportFault> {
    let status = response.status();
    if !status.is_success() {
        return Err(status_fault(response).await);
    }
    let content_type = header(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
    if content_type.is_empty() || content_type.contains("event-stream") {
        let lines = bounded_lines(response.bytes_stream().boxed());
        return Ok(http::Response::new(reqwest::Body::wrap_stream(lines)).into());
    }
    let not_an_answer = |body: String| TransportFault::NotAnAnswer {
        status: status.as_u16(),
        content_type: content_type.clone(),
        body,
    };
    if !content_type.contains("json") {
        return Err(not_an_answer(error_body(response).await));
    }
    // A server that does not stream, or an error inside a 200: the same JSON as one event.
    let (body, whole) = read_capped(response, JSON_BODY_BYTES).await;
    if !whole {
        return Err(TransportFault::NoAnswer(format!("the JSON answer was cut after {} bytes", body.len())));
    }
    match serde_json::from_slice::<serde_json::Value>(&body) {
        Ok(value) => {
            let event = format!("data: {value}\n\n");
            Ok(http::Response::new(reqwest::Body::from(event)).into())
        }
        Err(_) if body.iter().all(u8::is_ascii_whitespace) => {
            Ok(http::Response::new(reqwest::Body::from("")).into())
        }
        Err(_) => Err(not_an_answer(String::from_utf8_lossy(&body).into_owned())),
    }
}

/// The body with a limit on its lines, and with a pause for others after each piece: the reader behind it parses a
/// line anew with every piece and never pauses while bytes are there, so a line without end would hold a whole
/// thread and every time limit with it.
fn bounded_lines<B, E>(pieces: B) -> impl Stream<Item = Result<Bytes, std::io::Error>>
where
    B: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::error::Error + Send + Sync + 'static,
{
    futures_util::stream::try_unfold((pieces, 0_usize), async |(mut pieces, line)| {
        tokio::task::yield_now().await;
        let Some(piece) = pieces.next().await else { return Ok(None) };
        let piece = piece.map_err(std::io::Error::other)?;
        let (mut line, mut longest) = (line, line);
        for byte in &piece {
            line = if matches!(byte, b'\n' | b'\r') { 0 } else { line + 1 };
            longest = longest.max(line);
        }
        if longest > LINE_BYTES {
            let why = format!("a line of more than {LINE_BYTES} bytes");
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
        }
        Ok(Some((piece, (pieces, line))))
    })
}

pub(crate) async fn status_fault(response: Response) -> TransportFault {
    TransportFault::Status {
        status: response.status().as_u16(),
        retry_after: retry_after(response.headers()),
        location: header(response.headers(), LOCATION.as_str()),
        body: error_body(response).await,
    }
}

async fn error_body(response: Response) -> String {
    let mut body = Vec::new();
    // What came before the time was up stays in `body`.
    let _ = tokio::time::timeout(ERROR_BODY_TIME, read_into(response, ERROR_BODY_BYTES, &mut body)).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// The body up to `cap` bytes, and whether that is all of it.
pub(crate) async fn read_capped(response: Response, cap: usize) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    let whole = read_into(response, cap, &mut body).await;
    (body, whole)
}

async fn read_into(response: Response, cap: usize, body: &mut Vec<u8>) -> bool {
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let Ok(piece) = piece else { return false };
        let room = cap - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return false;
        }
    }
    true
}

/// `Retry-After` in seconds. Its other form, a date, is left out: it says nothing without a common clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = header(headers, RETRY_AFTER.as_str())?.trim().parse().ok()?;
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(RETRY_AFTER_CAP.as_secs_f64())))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_capped_and_never_guessed() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read("1.5"), Some(Duration::from_millis(1_500)));
        assert_eq!(read("86400"), Some(Duration::from_secs(60)));
        for wrong in ["-1", "NaN", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}

//! One exchange with a search service: one request, no redirect followed, never a second try, an answer of bounded
//! size; and the words for what went wrong, which name the endpoint, what was asked, what came back and what to do.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{RequestBuilder, Response, Url};
use rustls::RootCertStore;
use rustls::crypto::ring;
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;

use super::config::{ConfigError, Patience, is_loopback, shown};
use super::markup::{clipped, plain_text};
use super::retry_after::retry_after;
use crate::answer::SearchAnswer;

/// The longest body that is read.
pub(crate) const BODY_BYTES: usize = 2 * 1024 * 1024;
/// What is shown of a query and of a strange answer, in characters.
const QUERY_CHARS: usize = 120;
const EXCERPT_CHARS: usize = 200;
/// What is told of an answer, in characters: parsers repeat what they stumble over.
const CAME_CHARS: usize = 800;
/// As every request of Nightforge's searches names itself.
const USER_AGENT: &str = concat!("nightforge/", env!("CARGO_PKG_VERSION"));

/// The HTTP client for one address. No proxy stands between this machine and itself.
pub(crate) fn http_client(
    backend: &'static str,
    url: &Url,
    patience: Patience,
) -> Result<reqwest::Client, ConfigError> {
    let failed = |reason: String| ConfigError::Http { backend, reason };
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(patience.connect)
        // A connection that a server closed meanwhile would look like a dead server.
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "https" {
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

/// Why a service could not look.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// For the operator.
    pub(crate) reason: String,
    /// How long the service asked to be left alone.
    pub(crate) retry_after: Option<Duration>,
}

impl<H> From<Trouble> for SearchAnswer<H> {
    fn from(trouble: Trouble) -> Self {
        SearchAnswer::Unavailable { reason: trouble.reason, retry_after: trouble.retry_after }
    }
}

/// An answer, whatever its status; no redirect.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Whether the body is a web page.
    pub(crate) fn is_html(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        kind.contains("html") || self.body.trim_ascii_start().starts_with(b"<")
    }

    /// The beginning of the body as one line, for people.
    pub(crate) fn excerpt(&self) -> String {
        let text = plain_text(&String::from_utf8_lossy(&self.body[..self.body.len().min(16 * 1024)]));
        let text: String = text.chars().filter(|char| !char.is_control()).collect();
        if text.is_empty() {
            "an empty body".to_owned()
        } else {
            format!("`{}`", clipped(&text, EXCERPT_CHARS))
        }
    }
}

/// What is asked of which service: the first half of every message.
pub(crate) struct Question<'a> {
    /// The service, as its users call it.
    pub(crate) service: &'static str,
    /// Its address.
    pub(crate) endpoint: &'a Url,
    /// What was asked of it.
    pub(crate) asked: String,
    /// Taken out of every message, also where the service repeats it.
    pub(crate) key: Option<&'a SecretString>,
    /// For the whole exchange.
    pub(crate) whole: Duration,
}

impl Question<'_> {
    /// What was asked, for a query.
    pub(crate) fn about(query: &str) -> String {
        format!("for `{}`", clipped(query, QUERY_CHARS))
    }

    /// The service's answer with any status but a redirect's.
    pub(crate) async fn ask(&self, request: RequestBuilder) -> Result<Reply, Trouble> {
        match tokio::time::timeout(self.whole, self.exchange(request)).await {
            Ok(reply) => reply,
            Err(_) => {
                let came = format!("no whole answer came within {:?}", self.whole);
                Err(self.trouble(came, "look whether it is overloaded or hangs", None))
            }
        }
    }

    async fn exchange(&self, request: RequestBuilder) -> Result<Reply, Trouble> {
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                let connecting = error.is_connect();
                let text = causes(&error.without_url());
                return Err(match connecting {
                    true => self.trouble(
                        format!("no connection: {text}"),
                        "start it, or correct its address; a proxy or a firewall may stand between",
                        None,
                    ),
                    false => self.trouble(format!("no answer: {text}"), "look into its log", None),
                });
            }
        };
        if response.status().is_redirection() && response.status().as_u16() != 304 {
            let to = self.redirect_target(&response);
            let came = format!("HTTP {} that sends on to {to}", response.status().as_u16());
            return Err(self.trouble(came, "redirects are not followed; configure the final address", None));
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = self.body_without_key(self.read(response).await?);
        Ok(Reply { status, headers, body })
    }

    async fn read(&self, response: Response) -> Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| {
                let came = format!("an answer that broke off: {}", causes(&error.without_url()));
                self.trouble(came, "look into its log", None)
            })?;
            if body.len() + piece.len() > BODY_BYTES {
                let came = format!("an answer of more than {BODY_BYTES} bytes, which is no list of results");
                return Err(self.trouble(came, "check the address", None));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    fn redirect_target(&self, response: &Response) -> String {
        let target = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        match target.and_then(|to| self.endpoint.join(to).ok()) {
            Some(to) => shown(&to),
            None => "nowhere".to_owned(),
        }
    }

    /// The trouble behind a status that the service has no rule of its own for.
    pub(crate) fn status_trouble(&self, reply: &Reply) -> Trouble {
        let came = format!("HTTP {} with {}", reply.status, reply.excerpt());
        let remedy = match reply.status {
            401 | 403 => "it wants other credentials; check the key, or the access rules in front of it",
            404 | 405 => "there is no such service there; check the address",
            429 => "it is asked too often; wait, or ask less",
            500.. => "the fault is on its side; it is asked again later",
            _ => "it did not understand the request; check the address and its version",
        };
        self.trouble(came, remedy, retry_after(&reply.headers))
    }

    /// The body as JSON of the wanted form.
    pub(crate) fn json<T: DeserializeOwned>(&self, reply: &Reply, remedy: &str) -> Result<T, Trouble> {
        if reply.is_html() {
            let came = format!("a web page instead of JSON: {}", reply.excerpt());
            return Err(self.trouble(came, remedy, None));
        }
        serde_json::from_slice(&reply.body).map_err(|error| {
            let came =
                format!("HTTP {} with no such JSON as expected ({error}): {}", reply.status, reply.excerpt());
            self.trouble(came, remedy, None)
        })
    }

    /// The whole message. Keys are taken out of it, whoever wrote them in.
    pub(crate) fn trouble(
        &self,
        came: impl AsRef<str>,
        remedy: &str,
        retry_after: Option<Duration>,
    ) -> Trouble {
        let (service, endpoint, asked) = (self.service, shown(self.endpoint), &self.asked);
        let came = clipped(&self.without_key(came.as_ref()), CAME_CHARS);
        let reason = self.without_key(&format!("{service} at {endpoint}, asked {asked}: {came}; {remedy}"));
        // Answers and queries come from anybody; what steers a terminal stays out of logs.
        Trouble { reason: reason.chars().filter(|char| !char.is_control()).collect(), retry_after }
    }

    /// Before anything is cut out of the body: a cut could leave half of the key.
    fn body_without_key(&self, body: Vec<u8>) -> Vec<u8> {
        let Some(key) = self.key.map(|key| key.expose_secret().as_bytes()) else { return body };
        if body.windows(key.len()).any(|piece| piece == key) {
            return self.without_key(&String::from_utf8_lossy(&body)).into_bytes();
        }
        body
    }

    fn without_key(&self, text: &str) -> String {
        match self.key {
            Some(key) => text.replace(key.expose_secret(), "[key]"),
            None => text.to_owned(),
        }
    }
}

/// An error with all its causes: reqwest's own text leaves out the one that matters.
fn causes(error: &dyn std::error::Error) -> String {
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

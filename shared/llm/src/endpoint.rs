//! One endpoint: where it is, what it is asked for, and how it is named in messages.

use std::net::IpAddr;
use std::time::Duration;

use async_openai::config::Config;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use crate::budget::LEAST_BUILD_CONTEXT_TOKENS;

/// Time to open a connection, unless the client is made with another.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// An endpoint as configured.
#[derive(Debug, Clone)]
pub struct EndpointConfig {
    /// Base URL, `…/v1`, without user, query or fragment.
    pub url: String,
    /// The server's own name of the model; sent as `model`.
    pub model: String,
    /// Sent as a bearer token; without one no `Authorization` header is sent.
    pub api_key: Option<SecretString>,
    /// Length of the model's context where it is configured; the server's own, once seen, counts where it is less.
    pub context_tokens: Option<u64>,
    /// With a shorter context the endpoint is in state `ContextTooSmall`. Default
    /// [`LEAST_BUILD_CONTEXT_TOKENS`].
    pub least_context_tokens: u64,
}

impl Default for EndpointConfig {
    /// No URL and no model, which have to be given, no key, no configured context.
    fn default() -> Self {
        Self {
            url: String::new(),
            model: String::new(),
            api_key: None,
            context_tokens: None,
            least_context_tokens: LEAST_BUILD_CONTEXT_TOKENS,
        }
    }
}

/// Why no client can be made of an [`EndpointConfig`].
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The URL can't be used.
    #[error("endpoint url `{url}`: {reason}")]
    Url {
        /// The URL, without user and password.
        url: String,
        /// What is wrong and what to write.
        reason: String,
    },
    /// The key can't be sent.
    #[error(
        "endpoint {url}: the api key holds characters that an HTTP header can't carry; check it for line ends"
    )]
    Key {
        /// The endpoint.
        url: String,
    },
    /// The HTTP client, most often TLS.
    #[error("endpoint {url}: the HTTP client can't be made: {reason}")]
    Http {
        /// The endpoint.
        url: String,
        /// As the HTTP client says it.
        reason: String,
    },
}

/// A checked endpoint. Its own `Config`, because async-openai's reads `OPENAI_*` from the environment and
/// sends an empty bearer token where there is no key.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    /// Without a slash at the end.
    pub(crate) url: String,
    pub(crate) model: String,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) least_context_tokens: u64,
    pub(crate) loopback: bool,
    pub(crate) tls: bool,
    authorization: Option<HeaderValue>,
    key: SecretString,
}

impl Endpoint {
    pub(crate) fn new(config: EndpointConfig) -> Result<Self, ConfigError> {
        let wrong =
            |shown: &str, reason: &str| ConfigError::Url { url: shown.to_owned(), reason: reason.to_owned() };
        let parsed = Url::parse(config.url.trim()).map_err(|error| {
            wrong("(not shown)", &format!("{error}; write for example http://127.0.0.1:1234/v1"))
        })?;
        let host = parsed.host_str().unwrap_or_default().to_owned();
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(wrong(&host, "holds a user or password; put the key in `api_key`"));
        }
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(wrong(
                &host,
                "holds a query or fragment; it must end in the base path, most often /v1",
            ));
        }
        if !matches!(parsed.scheme(), "http" | "https") || host.is_empty() {
            return Err(wrong(parsed.as_str(), "must begin with http:// or https://"));
        }
        let url = parsed.as_str().trim_end_matches('/').to_owned();
        let key = config.api_key.filter(|key| !key.expose_secret().trim().is_empty());
        let authorization = match &key {
            None => None,
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret().trim()))
                    .map_err(|_| ConfigError::Key { url: url.clone() })?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Self {
            loopback: is_loopback(&host),
            tls: parsed.scheme() == "https",
            url,
            model: config.model,
            context_tokens: config.context_tokens,
            least_context_tokens: config.least_context_tokens,
            authorization,
            key: key.unwrap_or_else(|| SecretString::from("")),
        })
    }

    /// One message: the endpoint, what was asked, what came back, what to do. The key never stands in it,
    /// not even where a server echoes it.
    pub(crate) fn say(&self, asked: &str, came_back: &str, remedy: &str) -> String {
        // Where servers are looked for, no model is asked for yet.
        let model = if self.model.is_empty() { String::new() } else { format!(" (model `{}`)", self.model) };
        let text = format!("{}{model}, asked {asked}: {came_back}. {remedy}", self.url);
        self.redact(&text)
    }

    /// The text without the key.
    pub(crate) fn redact(&self, text: &str) -> String {
        let key = self.key.expose_secret().trim();
        // A key of a few letters is no secret, and replacing it would mangle every message.
        if key.len() < 6 { text.to_owned() } else { text.replace(key, "[key]") }
    }

    /// The server's root, for what does not lie under `/v1`.
    pub(crate) fn root(&self) -> &str {
        self.url.strip_suffix("/v1").unwrap_or(&self.url)
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.authorization.iter().map(|value| (AUTHORIZATION, value.clone())).collect()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.url
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost"
        || bare.ends_with(".localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str, key: Option<&str>) -> EndpointConfig {
        EndpointConfig {
            url: url.to_owned(),
            model: "m".to_owned(),
            api_key: key.map(SecretString::from),
            ..EndpointConfig::default()
        }
    }

    #[test]
    fn urls_are_normalized_and_judged() {
        let endpoint = Endpoint::new(config("http://127.0.0.1:1234/v1/", None)).unwrap();
        assert_eq!(
            (endpoint.url.as_str(), endpoint.root()),
            ("http://127.0.0.1:1234/v1", "http://127.0.0.1:1234")
        );
        assert!(endpoint.loopback && !endpoint.tls);
        let local = |url| Endpoint::new(config(url, None)).unwrap().loopback;
        assert!(local("http://[::1]:80/v1") && local("http://localhost/v1") && local("http://127.9.9.9/v1"));
        assert!(!local("https://10.0.0.5/v1") && !local("http://localhost.example.org/v1"));
        for wrong in ["", "127.0.0.1:1234", "ftp://h/v1", "http://h/v1?key=hunter2", "http://me:hunter2@h/v1"]
        {
            let error = Endpoint::new(config(wrong, None)).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn key_stands_in_no_text() {
        let endpoint = Endpoint::new(config("https://h/v1", Some("sk-secret-1"))).unwrap();
        assert!(!format!("{endpoint:?}").contains("secret-1"), "{endpoint:?}");
        assert!(!format!("{:?}", config("https://h/v1", Some("sk-secret-1"))).contains("secret-1"));
        assert_eq!(endpoint.redact("bad key sk-secret-1!"), "bad key [key]!");
        let error = Endpoint::new(config("https://h/v1", Some("sk-\nsecret-1"))).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret-1"));
    }

    #[test]
    fn no_key_sends_no_header() {
        assert!(Endpoint::new(config("http://h/v1", None)).unwrap().headers().is_empty());
        assert!(Endpoint::new(config("http://h/v1", Some(" "))).unwrap().headers().is_empty());
        let headers = Endpoint::new(config("http://h/v1", Some("abc"))).unwrap().headers();
        assert_eq!(headers.get(AUTHORIZATION).unwrap(), "Bearer abc");
    }
}

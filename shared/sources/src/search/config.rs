//! What back-ends are made from, checked once: addresses, keys, time limits.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use url::Host;

/// A search configuration that can't work.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An address that can't be asked.
    #[error("{backend}: `{url}` {why}")]
    Address {
        /// The back-end.
        backend: &'static str,
        /// The address, without its credentials and its query.
        url: String,
        /// What is wrong with it, and what to write instead.
        why: String,
    },
    /// A key that can't be sent.
    #[error("{backend}: the key {why}")]
    Key {
        /// The back-end.
        backend: &'static str,
        /// What is wrong with it, and what to do.
        why: &'static str,
    },
    /// No HTTP client, for example because the machine has no root certificates.
    #[error("{backend}: no HTTP client: {reason}")]
    Http {
        /// The back-end.
        backend: &'static str,
        /// The client's own words.
        reason: String,
    },
    /// A recording that can't be read or written.
    #[error("recording {}: {why}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        why: String,
    },
    /// Nothing to ask.
    #[error("{0}")]
    Nothing(&'static str),
}

/// How long a back-end waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection. Default 5 s.
    pub connect: Duration,
    /// For one whole exchange, connection and body included. Default 20 s, 10 s for a feed.
    pub whole: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), whole: Duration::from_secs(20) }
    }
}

/// The address when it can be asked: http or https, with a host, and without credentials, which would end up in logs.
pub(crate) fn checked_url(backend: &'static str, url: Url) -> Result<Url, ConfigError> {
    let why = if !matches!(url.scheme(), "http" | "https") {
        "has another scheme than http and https; write it as http://host:port/ or https://host/"
    } else if !url.username().is_empty() || url.password().is_some() {
        "holds a user name or password, which would be shown with every problem; leave them out"
    } else {
        return Ok(url);
    };
    Err(ConfigError::Address { backend, url: shown(&url), why: why.to_owned() })
}

/// The address of a service that gets a key: never in the clear over a network.
pub(crate) fn checked_url_for_key(backend: &'static str, url: Url) -> Result<Url, ConfigError> {
    let url = checked_url(backend, url)?;
    if url.scheme() == "https" || is_loopback(&url) {
        return Ok(url);
    }
    let why = "would send the key in the clear; use https".to_owned();
    Err(ConfigError::Address { backend, url: shown(&url), why })
}

/// The key as a header's value, with `before` in front of it; logs show it as `Sensitive`.
pub(crate) fn key_header(
    backend: &'static str,
    before: &str,
    key: &SecretString,
) -> Result<HeaderValue, ConfigError> {
    let key = key.expose_secret();
    if key.trim().is_empty() {
        return Err(ConfigError::Key { backend, why: "is empty; set it, or take the back-end out" });
    }
    let why = "holds characters that no header can carry, perhaps a line break; copy it anew";
    let mut value =
        HeaderValue::from_str(&format!("{before}{key}")).map_err(|_| ConfigError::Key { backend, why })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether a request to the address stays on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The address as people may see it: credentials and queries can hold secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // Both fail only for addresses that can have no credentials.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    if shown.query().is_some() {
        shown.set_query(Some("…"));
        return shown.as_str().replace("%E2%80%A6", "…");
    }
    shown.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_cannot_work_are_refused_with_the_remedy() {
        let refused = |text: &str| checked_url("searxng", text.parse().unwrap()).unwrap_err().to_string();
        assert!(refused("ftp://host/").contains("another scheme"), "{}", refused("ftp://host/"));
        let text = refused("http://ada:geheim@host/?token=geheim");
        assert!(text.contains("leave them out") && text.contains("http://host/?…"), "{text}");
        assert!(!text.contains("geheim"), "{text}");
        assert!(checked_url("searxng", "https://host/searx".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_key_goes_over_https_or_stays_on_the_machine() {
        let checked = |text: &str| checked_url_for_key("brave", text.parse().unwrap());
        for good in ["https://host/", "http://localhost:1/", "http://127.0.0.2/", "http://[::1]/"] {
            assert!(checked(good).is_ok(), "{good}");
        }
        assert!(checked("http://host/").unwrap_err().to_string().contains("use https"));
    }

    #[test]
    fn keys_that_cannot_be_sent_are_refused_and_not_shown() {
        for (key, why) in [("", "is empty"), ("  ", "is empty"), ("tvly-geheim\n", "line break")] {
            let text = key_header("tavily", "Bearer ", &key.into()).unwrap_err().to_string();
            assert!(text.contains(why) && !text.contains("geheim"), "{text}");
        }
        let header = key_header("tavily", "Bearer ", &"tvly-geheim".into()).unwrap();
        assert!(!format!("{header:?}").contains("geheim"));
    }
}

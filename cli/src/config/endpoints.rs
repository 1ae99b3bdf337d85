//! Endpoints as written, checked as their client will check them. An endpoint is named by its place: its URL may hold
//! a secret.

use std::collections::HashSet;

use nightforge_llm::{Client, ConfigError, EndpointConfig, SecretString};
use serde::Deserialize;

use crate::roles::ServedEndpoint;

/// No local server answers more calls at a time.
pub(crate) const MAX_SLOTS: u32 = 64;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenEndpoint {
    url: String,
    gpu: Option<String>,
    #[serde(default = "one_slot")]
    slots: u32,
    api_key_env: Option<String>,
}

fn one_slot() -> u32 {
    1
}

/// The endpoints of the model that its server calls `model`.
pub(super) fn served(
    model: &str,
    context_tokens: Option<u64>,
    written: Vec<WrittenEndpoint>,
) -> Result<Vec<ServedEndpoint>, String> {
    if written.is_empty() {
        return Err(
            "it has no endpoint; add [[models.NAME.endpoints]] with url = \"http://127.0.0.1:1234/v1\""
                .to_owned(),
        );
    }
    let mut seen = HashSet::new();
    let mut served = Vec::with_capacity(written.len());
    for (place, endpoint) in written.into_iter().enumerate() {
        let wrong = |what: String| format!("endpoint {}: {what}", place + 1);
        if !(1..=MAX_SLOTS).contains(&endpoint.slots) {
            return Err(wrong(format!("slots must be from 1 to {MAX_SLOTS}")));
        }
        let api_key = endpoint.api_key_env.as_deref().map(key_from).transpose().map_err(wrong)?;
        let config = EndpointConfig {
            url: endpoint.url,
            model: model.to_owned(),
            api_key: api_key.clone(),
            context_tokens,
            ..EndpointConfig::default()
        };
        let url = checked_url(config).map_err(wrong)?;
        if !seen.insert(url.clone()) {
            return Err(wrong(
                "its url is that of an earlier endpoint; name it once, with more slots".to_owned(),
            ));
        }
        served.push(ServedEndpoint { url, gpu: endpoint.gpu, slots: endpoint.slots, api_key });
    }
    Ok(served)
}

/// The addresses that are looked at where no model is configured.
pub(super) fn check_discover(urls: &[String]) -> Result<(), String> {
    if urls.is_empty() {
        return Err(
            "discover is empty; name at least one URL, or leave it out to look at the usual ports".to_owned()
        );
    }
    for (place, url) in urls.iter().enumerate() {
        let config = EndpointConfig { url: url.clone(), ..EndpointConfig::default() };
        checked_url(config).map_err(|reason| format!("discover, entry {}: {reason}", place + 1))?;
    }
    Ok(())
}

/// The URL of an endpoint of the model that its server calls `model`, as the client will use it.
///
/// # Errors
/// With what is wrong; the URL is not repeated.
pub(crate) fn checked_endpoint(url: &str, model: &str) -> Result<String, String> {
    checked_url(EndpointConfig { url: url.to_owned(), model: model.to_owned(), ..EndpointConfig::default() })
}

/// The URL as the client will use it. Nothing is sent.
fn checked_url(config: EndpointConfig) -> Result<String, String> {
    match Client::new(config) {
        Ok(client) => Ok(client.url().to_owned()),
        Err(ConfigError::Url { reason, .. }) => Err(format!(
            "url: {}",
            reason.replace("the key in `api_key`", "the key in a variable, and name that in api_key_env")
        )),
        Err(ConfigError::Key { .. }) => Err(
            "api_key_env: the key in its variable holds characters that an HTTP header can't carry; check it for line \
             ends"
                .to_owned(),
        ),
        Err(ConfigError::Http { reason, .. }) => Err(format!("the HTTP client can't be made: {reason}")),
    }
}

/// A key stands in a variable of its own, never in the file.
fn key_from(variable: &str) -> Result<SecretString, String> {
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(SecretString::from(key)),
        _ => Err(format!(
            "api_key_env names the variable {variable}, which is not set; export it with the key"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(url: &str) -> WrittenEndpoint {
        WrittenEndpoint { url: url.to_owned(), gpu: None, slots: 1, api_key_env: None }
    }

    #[test]
    fn urls_are_judged_and_stand_in_no_message() {
        let cases = [
            (
                "http://u:hunter2@127.0.0.1/v1",
                "endpoint 1: url: holds a user or password; put the key in a variable",
            ),
            ("http://127.0.0.1/v1?key=hunter2", "holds a query"),
            ("hunter2", "write for example http://127.0.0.1:1234/v1"),
            ("ftp://hunter2/v1", "must begin with http:// or https://"),
        ];
        for (url, part) in cases {
            let message = served("m", None, vec![written(url)]).unwrap_err();
            assert!(message.contains(part) && !message.contains("hunter2"), "{url}: {message}");
            let message = check_discover(&["http://h/v1".to_owned(), url.to_owned()]).unwrap_err();
            assert!(
                message.starts_with("discover, entry 2: url: ") && !message.contains("hunter2"),
                "{message}"
            );
        }
        assert!(
            served("m", None, vec![written("https://h/v1/")]).is_ok_and(|all| all[0].url == "https://h/v1")
        );
    }

    #[test]
    fn an_endpoint_stands_once_and_with_slots_that_a_server_can_have() {
        let twice = vec![written("http://127.0.0.1:1234/v1"), written("http://127.0.0.1:1234/v1/")];
        assert!(
            served("m", None, twice).unwrap_err().starts_with("endpoint 2: its url is that of an earlier")
        );
        for slots in [0, 65, u32::MAX] {
            let message =
                served("m", None, vec![WrittenEndpoint { slots, ..written("http://h/v1") }]).unwrap_err();
            assert_eq!(message, "endpoint 1: slots must be from 1 to 64");
        }
    }

    #[test]
    fn a_key_comes_from_its_variable() {
        let unset = Some("NO_SUCH_KEY_IS_SET".to_owned());
        let endpoint = WrittenEndpoint { api_key_env: unset, ..written("http://h/v1") };
        assert!(
            served("m", None, vec![endpoint]).unwrap_err().contains("NO_SUCH_KEY_IS_SET, which is not set")
        );
    }
}

//! Asks a server's own paths, with limits on time and on the answer's size.

use std::time::Duration;

use async_openai::config::Config;
use http::header::SERVER;
use nightforge_domain::fault::FaultClass;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::kind::ServerKind;
use super::state::EndpointState;
use crate::classify::ErrorText;
use crate::client::Client;
use crate::transport::{TransportFault, read_capped, send_fault, status_fault};

/// One look as a whole, however many requests it takes. A server that needs longer can't be asked now.
pub(super) const LOOK_TIME: Duration = Duration::from_secs(5);
/// A remote server may list hundreds of models, and a count lists every token of a prompt.
const BODY_BYTES: usize = 8 * 1024 * 1024;
/// How LM Studio answers a path that it does not have, with status 200.
const LM_STUDIO_NO_PATH: &str = "Unexpected endpoint or method";

pub(super) const NOT_OPENAI: &str =
    "The url must be the base of an OpenAI-compatible API, most often it ends in /v1";

/// What kept a server from saying what it has.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) state: EndpointState,
    /// By the answer's own `Server` header.
    pub(super) server: Option<ServerKind>,
    pub(super) asked: &'static str,
    pub(super) came_back: String,
    pub(super) remedy: String,
}

/// Why a path gave nothing to read.
#[derive(Debug, Clone)]
pub(super) enum Missed {
    /// The server does not have the path, or means something else by it. `lm_studio` where it says so as LM
    /// Studio does.
    NotThere { came_back: String, lm_studio: bool },
    /// No answer within the look's time, on a connection that was made.
    Late,
    /// The server is not to be asked further.
    Fault(Fault),
}

impl Missed {
    /// For a path that a server of this kind has: whatever went wrong is a fault.
    pub(super) fn fault(self, asked: &'static str) -> Fault {
        match self {
            Missed::Fault(fault) => fault,
            Missed::Late => Fault {
                state: EndpointState::Unreachable,
                server: None,
                asked,
                came_back: format!("no answer within {LOOK_TIME:?}"),
                remedy: START.to_owned(),
            },
            Missed::NotThere { came_back, .. } => Fault {
                state: EndpointState::Alive,
                server: None,
                asked,
                came_back,
                remedy: NOT_OPENAI.to_owned(),
            },
        }
    }
}

const START: &str = "Start the server, or correct the endpoint's url";

/// Asks one server during one look.
pub(super) struct Asker<'a> {
    pub(super) client: &'a Client,
    deadline: Instant,
}

impl<'a> Asker<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self { client, deadline: Instant::now() + LOOK_TIME }
    }

    /// The JSON at `path` under the server's root. `asked` is `GET` and the path, for messages.
    pub(super) async fn get(&self, path: &str, asked: &'static str) -> Result<Value, Missed> {
        let url = format!("{}{path}", self.client.inner.endpoint.root());
        json(&self.text(&url, asked).await?)
    }

    /// The list of models, which lies under the endpoint's own URL.
    pub(super) async fn list(&self) -> Result<Value, Missed> {
        let url = self.client.inner.endpoint.url("/models");
        json(&self.text(&url, super::survey::LIST).await?)
    }

    /// Whether `path` answers 2xx, whatever it says.
    pub(super) async fn is_well(&self, path: &str, asked: &'static str) -> Result<(), Missed> {
        let url = format!("{}{path}", self.client.inner.endpoint.root());
        self.text(&url, asked).await.map(drop)
    }

    async fn text(&self, url: &str, asked: &'static str) -> Result<Vec<u8>, Missed> {
        let endpoint = &self.client.inner.endpoint;
        let mut server = None;
        let asking = async {
            let request = self.client.inner.http.get(url).headers(endpoint.headers());
            let response = request.send().await.map_err(send_fault)?;
            server = response
                .headers()
                .get(SERVER)
                .filter(|name| name.as_bytes() == b"llama.cpp")
                .map(|_| ServerKind::LlamaCpp);
            if !response.status().is_success() {
                return Err(status_fault(response).await);
            }
            Ok(read_capped(response, BODY_BYTES).await)
        };
        let fault = match timeout_at(self.deadline, asking).await {
            Err(_) => return Err(Missed::Late),
            Ok(Ok((body, true))) => return Ok(body),
            Ok(Ok((body, false))) => {
                return Err(Missed::NotThere {
                    came_back: format!("an answer that was cut after {} bytes", body.len()),
                    lm_studio: false,
                });
            }
            Ok(Err(fault)) => fault,
        };
        Err(sorted(fault, server, asked))
    }
}

/// Asks with a body, outside of looks. The JSON that came back, or what came instead.
pub(super) async fn post(
    client: &Client,
    path: &str,
    body: &Value,
    within: Duration,
) -> Result<Value, TransportFault> {
    let endpoint = &client.inner.endpoint;
    let url = format!("{}{path}", endpoint.root());
    let asking = async {
        let request = client.inner.http.post(url).headers(endpoint.headers()).json(body);
        let response = request.send().await.map_err(send_fault)?;
        if !response.status().is_success() {
            return Err(status_fault(response).await);
        }
        let status = response.status().as_u16();
        let (body, whole) = read_capped(response, BODY_BYTES).await;
        match serde_json::from_slice::<Value>(&body) {
            Ok(value) if whole => Ok(value),
            _ => Err(TransportFault::NotAnAnswer {
                status,
                content_type: "no whole JSON".to_owned(),
                body: String::from_utf8_lossy(&body).chars().take(200).collect(),
            }),
        }
    };
    match tokio::time::timeout(within, asking).await {
        Ok(answer) => answer,
        Err(_) => Err(TransportFault::NoAnswer(format!("not within {within:?}"))),
    }
}

fn json(body: &[u8]) -> Result<Value, Missed> {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        let came_back = format!("`{}`, which is not JSON", start_of(&String::from_utf8_lossy(body)));
        return Err(Missed::NotThere { came_back, lm_studio: false });
    };
    let error = ["error", "message"].iter().find_map(|key| match &value[*key] {
        Value::String(text) => Some(text.as_str()),
        nested => nested["message"].as_str(),
    });
    match error {
        Some(text) if text.contains(LM_STUDIO_NO_PATH) => {
            Err(Missed::NotThere { came_back: format!("`{}`", start_of(text)), lm_studio: true })
        }
        _ => Ok(value),
    }
}

/// The beginning of a body, on one line, for a person.
pub(super) fn start_of(body: &str) -> String {
    ErrorText::of_body(body).message.chars().take(200).collect()
}

fn sorted(fault: TransportFault, server: Option<ServerKind>, asked: &'static str) -> Missed {
    let fault_of = |state, came_back: String, remedy: &str| {
        Missed::Fault(Fault { state, server, asked, came_back, remedy: remedy.to_owned() })
    };
    let TransportFault::Status { status, location, body, .. } = fault else {
        return fault_of(EndpointState::Unreachable, fault.to_string(), START);
    };
    let error = ErrorText::of_body(&body);
    let to = location.map(|to| format!(", a redirect to `{to}`, which is not followed")).unwrap_or_default();
    let came_back = format!("HTTP {status}{to} `{}`", error.message);
    match error.class(Some(status)) {
        Some(FaultClass::Auth) => fault_of(
            EndpointState::AuthNeeded,
            came_back,
            "Give the endpoint a key that the server accepts (`api_key_env` in nightforge.toml)",
        ),
        Some(FaultClass::Loading) => {
            fault_of(EndpointState::Loading, came_back, "Wait until the model is loaded")
        }
        Some(FaultClass::ServerDown) => fault_of(EndpointState::Unreachable, came_back, START),
        _ if matches!(status, 300..=399 | 404 | 405 | 410 | 501) => {
            Missed::NotThere { came_back, lm_studio: error.message.contains(LM_STUDIO_NO_PATH) }
        }
        _ => fault_of(EndpointState::Alive, came_back, "The server's log has the cause"),
    }
}

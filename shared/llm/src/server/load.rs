//! Loads a model that is installed and not in memory.

use std::time::Duration;

use nightforge_domain::fault::FaultClass;
use serde_json::{Value, json};

use super::ask::{post, start_of};
use super::kind::ServerKind;
use crate::classify::ErrorText;
use crate::client::Client;
use crate::error::CallError;
use crate::limits::TimeLimits;
use crate::request::{ChatRequest, Message, Sampling};
use crate::transport::TransportFault;

/// The longest that loading may take: 12 GB from a slow disk are two minutes, and a server may have to unload
/// another model and to warm up.
pub const LOAD_TIME: Duration = Duration::from_secs(10 * 60);

impl Client {
    /// Has the server load the model, and waits until it has, at most [`LOAD_TIME`]. For an endpoint that
    /// [`Client::look`] found `Cold`; the look after it says with how much context it was loaded.
    ///
    /// LM Studio is asked for it by `POST /api/v1/models/load`, with the configured context where there is one.
    /// Ollama is sent an empty prompt, which loads and computes nothing. Every other server, an LM Studio
    /// without that path among them, is asked for one token.
    ///
    /// # Errors
    /// Class `Stalled` when it takes longer, `ModelMissing` when the server has no such model, else as of a call.
    pub async fn load(&self) -> Result<(), CallError> {
        let v0_alone = self.inner.learned.facts().lm_studio_v0;
        match self.server() {
            Some(ServerKind::LmStudio) if !v0_alone => {
                let mut body = json!({ "model": self.model() });
                if let Some(tokens) = self.inner.endpoint.context_tokens {
                    body["config"] = json!({ "context_length": tokens });
                }
                self.ask_to_load("/api/v1/models/load", "POST /api/v1/models/load", &body).await
            }
            Some(ServerKind::Ollama) => {
                let body = json!({ "model": self.model(), "stream": false });
                self.ask_to_load("/api/generate", "POST /api/generate", &body).await
            }
            _ => self.one_token().await,
        }
    }

    async fn ask_to_load(&self, path: &str, asked: &'static str, body: &Value) -> Result<(), CallError> {
        let fault = match post(self, path, body, LOAD_TIME).await {
            // An error inside a 200.
            Ok(answer) if !answer["error"].is_null() => {
                let error = ErrorText::of_value(&answer["error"]);
                let class = error.class(None).unwrap_or(FaultClass::ServerError);
                return Err(self.load_error(asked, class, None, &format!("`{}`", error.message)));
            }
            Ok(_) => return Ok(()),
            Err(fault) => fault,
        };
        Err(match &fault {
            TransportFault::Status { status, body, .. } => {
                let error = ErrorText::of_body(body);
                let class = error.class(Some(*status)).unwrap_or(FaultClass::ServerError);
                let came_back = format!("HTTP {status} `{}`", error.message);
                self.load_error(asked, class, Some(*status), &came_back)
            }
            TransportFault::NotAnAnswer { status, body, .. } => {
                let came_back = format!("HTTP {status} `{}`, which is not JSON", start_of(body));
                self.load_error(asked, FaultClass::ModelMissing, Some(*status), &came_back)
            }
            TransportFault::Connect(_) => {
                self.load_error(asked, FaultClass::ServerDown, None, &fault.to_string())
            }
            TransportFault::NoAnswer(_) => {
                self.load_error(asked, FaultClass::Stalled, None, &fault.to_string())
            }
        })
    }

    fn load_error(&self, asked: &str, class: FaultClass, status: Option<u16>, came_back: &str) -> CallError {
        let remedy = "Load the model in the server itself, which shows why it can't, most often memory";
        let message = self.inner.endpoint.say(asked, came_back, remedy);
        CallError { class, message, status, retry_after: None, usage: None }
    }

    async fn one_token(&self) -> Result<(), CallError> {
        let request = ChatRequest {
            messages: vec![Message::user("Hi")],
            sampling: Sampling { max_tokens: 1, ..Sampling::default() },
            slot: None,
        };
        let limits = TimeLimits {
            first_token: LOAD_TIME,
            first_token_cap: LOAD_TIME,
            ..TimeLimits::with_whole(LOAD_TIME)
        };
        match self.chat(&request, &limits, &mut |_| {}).await {
            Ok(_) => Ok(()),
            // One token is never a whole answer, and all that was asked for.
            Err(error) if matches!(error.class, FaultClass::Truncated | FaultClass::Refusal) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

//! The one error of a model call.

use std::time::Duration;

use nightforge_domain::Usage;
use nightforge_domain::fault::FaultClass;

use crate::classify::ErrorText;
use crate::endpoint::Endpoint;

/// What `chat` calls ask of the server, as messages name it.
pub(crate) const CHAT: &str = "POST /chat/completions";

/// A model call that gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct CallError {
    /// What the failure costs the job.
    pub class: FaultClass,
    /// For a person: the endpoint, what was asked, what came back, what to do. Holds no key.
    pub message: String,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// How long the server asks to be left alone, at most 60 s.
    pub retry_after: Option<Duration>,
    /// Tokens of the call, where the server counted them nevertheless.
    pub usage: Option<Usage>,
}

impl CallError {
    /// A failure of the chat call at `endpoint`.
    pub(crate) fn new(endpoint: &Endpoint, class: FaultClass, came_back: &str) -> Self {
        let message = endpoint.say(CHAT, came_back, remedy(class));
        Self { class, message, status: None, retry_after: None, usage: None }
    }

    /// An error object that the server sent. `status` is `None` inside a stream that began with 200.
    pub(crate) fn from_server(endpoint: &Endpoint, status: Option<u16>, error: &ErrorText) -> Self {
        let class = error.class(status).unwrap_or(FaultClass::StreamAborted);
        let came_back = match status {
            Some(status) => format!("HTTP {status} `{}`", error.message),
            None => format!("an error inside the answer, `{}`", error.message),
        };
        Self { status: status.or(error.status), ..Self::new(endpoint, class, &came_back) }
    }

    pub(crate) fn with_usage(self, usage: Usage) -> Self {
        Self { usage: (usage != Usage::default()).then_some(usage), ..self }
    }
}

/// What a person can do about a class.
fn remedy(class: FaultClass) -> &'static str {
    match class {
        FaultClass::ServerDown => "Start the server, or correct the endpoint's url",
        FaultClass::Loading => "Wait until the model is loaded; the job does",
        FaultClass::Overloaded => "The job is tried again later; if this stays, lower the endpoint's slots",
        FaultClass::StreamAborted | FaultClass::ServerError => {
            "The job is tried again; the server's log has the cause"
        }
        FaultClass::Stalled => {
            "The job is tried again; if this stays, look whether the server still computes"
        }
        FaultClass::Auth => {
            "Give the endpoint a key that the server accepts (`api_key_env` in nightforge.toml)"
        }
        FaultClass::ModelMissing => {
            "Correct the endpoint's url or the model's name, or load the model in the server"
        }
        FaultClass::ModelOutputInvalid => "If this stays, use a larger model",
        FaultClass::TimedOut => {
            "Raise agent_timeout_ms, use a faster model, or lower max_tokens so that it can't write for so long"
        }
        FaultClass::Truncated => "Raise max_tokens, or ask for less in one answer",
        FaultClass::SchemaRejected => {
            "Update the server, use one with structured output, or choose another `mode` for the model"
        }
        FaultClass::Refusal => "Change the objective's wording, or use another model",
        FaultClass::ContextOverflow => {
            "Load the model with a longer context, and set it as the model's context"
        }
        FaultClass::BadRequest => {
            "The server does not take this request; update the server or report the request"
        }
    }
}

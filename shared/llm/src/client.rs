//! The client of one endpoint, and the one place where a model is called.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_openai::error::OpenAIError;
use nightforge_domain::Usage;
use nightforge_domain::fault::FaultClass;
use tokio::time::timeout_at;

use crate::classify::ErrorText;
use crate::endpoint::{CONNECT_TIMEOUT, ConfigError, Endpoint, EndpointConfig};
use crate::error::CallError;
use crate::limits::{Deadlines, TimeLimits};
use crate::mode::Remembered;
use crate::prompt::{Expected, Prompt};
use crate::request::ChatRequest;
use crate::server::{Learned, ServerKind};
use crate::stream;
use crate::transport::{Transport, TransportFault, http_client};
use crate::wire::{self, Chunk, ToolCall};

/// One endpoint and one model. Clones share what was learned about the server.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) endpoint: Endpoint,
    pub(crate) http: reqwest::Client,
    openai: async_openai::Client<Endpoint>,
    /// The mode, and the level that worked for each contract.
    pub(crate) remembered: Mutex<Remembered>,
    /// Names of the model that the server's own list knows beside the one that is asked for.
    pub(crate) aliases: Mutex<HashSet<String>>,
    /// What looks and counts have shown of the server.
    pub(crate) learned: Learned,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text; may be empty, for a reasoning model that said nothing beside its reasoning.
    pub text: String,
    /// What the model thought, where the server gives it apart; else empty.
    pub reasoning: String,
    /// The calls of native mode, as the server read them.
    pub(crate) tool_calls: Vec<ToolCall>,
    /// The server's word for a whole answer, most often `stop`. Never `length`.
    pub finish_reason: String,
    /// Tokens as the server counted them.
    pub usage: Usage,
    /// The model that answered, by the server's word. LM Studio may answer with another one than asked.
    pub served_model: Option<String>,
    /// From the request to the end of the answer.
    pub duration: Duration,
}

impl Client {
    /// A client that waits [`CONNECT_TIMEOUT`] for a connection. Sends nothing yet.
    pub fn new(config: EndpointConfig) -> Result<Self, ConfigError> {
        Self::with_connect_timeout(config, CONNECT_TIMEOUT)
    }

    /// A client with a time of its own to connect, for far endpoints.
    pub fn with_connect_timeout(config: EndpointConfig, connect: Duration) -> Result<Self, ConfigError> {
        let endpoint = Endpoint::new(config)?;
        let http = http_client(&endpoint, connect)?;
        let openai = async_openai::Client::build(http.clone(), endpoint.clone())
            .with_http_service(Transport::new(http.clone()));
        Ok(Self {
            inner: Arc::new(Inner {
                endpoint,
                http,
                openai,
                remembered: Mutex::default(),
                aliases: Mutex::default(),
                learned: Learned::default(),
            }),
        })
    }

    /// The endpoint's base URL, for messages and logs.
    pub fn url(&self) -> &str {
        &self.inner.endpoint.url
    }

    /// The model that is asked for.
    pub fn model(&self) -> &str {
        &self.inner.endpoint.model
    }

    /// One plain answer. `on_delta` hears each piece of its text as it comes. Dropping the future closes the
    /// connection, and servers then stop computing.
    ///
    /// Nothing is tried twice. A prompt over the budget is not sent, and one that the server cut is an error
    /// too, both of class `ContextOverflow`. An answer that was cut at `max_tokens` is an error of class
    /// `Truncated`, one that the model declined to give of class `Refusal`, one of another model of class
    /// `ModelMissing`.
    pub async fn chat(
        &self,
        request: &ChatRequest,
        limits: &TimeLimits,
        on_delta: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, CallError> {
        let prompt = Prompt::of(&request.messages);
        let expected = self.admit(&prompt, request.sampling.max_tokens).await?;
        let body = wire::Request::new(self.model(), &request.messages, &request.sampling);
        self.send(&body.with_slot(self.slot(request.slot)), &expected, limits, on_delta).await
    }

    /// Sends one chat request that was admitted, and reads its answer to the end.
    pub(crate) async fn send(
        &self,
        body: &wire::Request<'_>,
        expected: &Expected,
        limits: &TimeLimits,
        on_delta: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, CallError> {
        let endpoint = &self.inner.endpoint;
        let deadlines = if body.streams() {
            Deadlines::start(limits, expected.to_read)
        } else {
            Deadlines::start_in_one_piece(limits, expected.to_read, body.max_tokens())
        };
        let (at, ended) = deadlines.next(None);
        let opening = async { self.inner.openai.chat().create_stream_byot::<_, Chunk>(body).await };
        let answer = match timeout_at(at, opening).await {
            Ok(Ok(stream)) => stream::read(endpoint, stream, &deadlines, on_delta).await,
            Ok(Err(error)) => Err(opening_fault(endpoint, &error)),
            Err(_) => Err(CallError::new(endpoint, FaultClass::Stalled, &deadlines.say(ended))),
        };
        match answer {
            Ok(answer) => {
                self.check_served(&answer).await?;
                self.check_count(expected, answer.usage)?;
                Ok(answer)
            }
            // What is left of a prompt that fills the context leaves no room for an answer.
            Err(error) if error.class == FaultClass::Truncated => {
                self.check_count(expected, error.usage.unwrap_or_default())?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// The slot to ask for: llama.cpp alone has the field, and other servers may refuse it.
    pub(crate) fn slot(&self, wanted: Option<u32>) -> Option<u32> {
        wanted.filter(|_| self.server() == Some(ServerKind::LlamaCpp))
    }
}

/// Sorts what kept a stream from beginning.
fn opening_fault(endpoint: &Endpoint, error: &OpenAIError) -> CallError {
    let fault = match error {
        OpenAIError::Boxed(boxed) => boxed.downcast_ref::<TransportFault>(),
        _ => None,
    };
    match fault {
        Some(TransportFault::Connect(_) | TransportFault::NoAnswer(_)) => {
            CallError::new(endpoint, FaultClass::ServerDown, &error.to_string())
        }
        Some(TransportFault::Status { status, retry_after, location: Some(to), .. })
            if (300..400).contains(status) =>
        {
            let came_back = format!("HTTP {status}, a redirect to `{to}`, which is not followed");
            let error = CallError::new(endpoint, FaultClass::ModelMissing, &came_back);
            CallError { status: Some(*status), retry_after: *retry_after, ..error }
        }
        Some(TransportFault::Status { status, retry_after, body, .. }) => {
            let error = CallError::from_server(endpoint, Some(*status), &ErrorText::of_body(body));
            CallError { retry_after: *retry_after, ..error }
        }
        Some(TransportFault::NotAnAnswer { status, body, content_type }) => {
            let start = ErrorText::of_body(body).message.chars().take(200).collect::<String>();
            let came_back = format!("HTTP {status} with `{content_type}` in place of an answer, `{start}`");
            CallError {
                status: Some(*status),
                ..CallError::new(endpoint, FaultClass::ModelMissing, &came_back)
            }
        }
        None => CallError::new(endpoint, FaultClass::BadRequest, &error.to_string()),
    }
}

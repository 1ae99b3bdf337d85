//! The client of one endpoint, and the one place where a model is called.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_openai::error::OpenAIError;
use nightforge_domain::Usage;
use nightforge_domain::fault::FaultClass;
use tokio::time::timeout_at;

use crate::classify::ErrorText;
use crate::endpoint::{CONNECT_TIMEOUT, ConfigError, Endpoint, EndpointConfig};
use crate::error::CallError;
use crate::ledger::Level;
use crate::limits::{Deadlines, TimeLimits};
use crate::request::{ChatRequest, estimate_messages};
use crate::stream;
use crate::transport::{Transport, TransportFault, http_client};
use crate::wire::{self, Chunk};

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
    /// The level that worked for each contract.
    pub(crate) levels: Mutex<HashMap<&'static str, Level>>,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text; may be empty, for a reasoning model that said nothing beside its reasoning.
    pub text: String,
    /// What the model thought, where the server gives it apart; else empty.
    pub reasoning: String,
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
        Ok(Self { inner: Arc::new(Inner { endpoint, http, openai, levels: Mutex::default() }) })
    }

    /// The endpoint's base URL, for messages and logs.
    pub fn url(&self) -> &str {
        &self.inner.endpoint.url
    }

    /// The model that is asked for.
    pub fn model(&self) -> &str {
        &self.inner.endpoint.model
    }

    /// Length of the model's context in tokens, as configured.
    pub fn context_tokens(&self) -> Option<u64> {
        self.inner.endpoint.context_tokens
    }

    /// One plain answer. `on_delta` hears each piece of its text as it comes. Dropping the future closes the
    /// connection, and servers then stop computing.
    ///
    /// Nothing is tried twice. An answer that was cut at `max_tokens` is an error of class `Truncated`, one
    /// that the model declined to give of class `Refusal`.
    pub async fn chat(
        &self,
        request: &ChatRequest,
        limits: &TimeLimits,
        on_delta: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, CallError> {
        let body = wire::Request::new(self.model(), &request.messages, &request.sampling);
        self.send(&body, estimate_messages(&request.messages), limits, on_delta).await
    }

    /// Sends one chat request and reads its answer to the end.
    pub(crate) async fn send(
        &self,
        body: &wire::Request<'_>,
        prompt_tokens: u64,
        limits: &TimeLimits,
        on_delta: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, CallError> {
        let endpoint = &self.inner.endpoint;
        let deadlines = Deadlines::start(limits, prompt_tokens);
        let (at, ended) = deadlines.next(None);
        let opening = async { self.inner.openai.chat().create_stream_byot::<_, Chunk>(body).await };
        match timeout_at(at, opening).await {
            Ok(Ok(stream)) => stream::read(endpoint, stream, &deadlines, on_delta).await,
            Ok(Err(error)) => Err(opening_fault(endpoint, &error)),
            Err(_) => Err(CallError::new(endpoint, FaultClass::Stalled, &deadlines.say(ended))),
        }
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

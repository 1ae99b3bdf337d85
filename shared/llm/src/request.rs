//! What a caller asks a model.

use serde::{Deserialize, Serialize};

use crate::estimate_tokens;

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The fixed instructions.
    System,
    /// The harness, or a person.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// The text.
    pub content: String,
}

impl Message {
    /// Fixed instructions.
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: Role::System, content: content.into() }
    }

    /// What the model is to answer.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// What the model answered.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

/// How long a reasoning model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// For routing and extraction.
    Low,
    /// For code and review.
    Medium,
    /// For the hardest.
    High,
}

/// How the model picks its tokens. All of it is always sent, so a server's own defaults never count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Default 1.0.
    pub temperature: f64,
    /// Default 1.0.
    pub top_p: f64,
    /// Same seed, same answer, where the server can. Default 0. Sent modulo 2³¹ − 1, because llama.cpp reads
    /// −1 and 2³² − 1 as "random".
    pub seed: i64,
    /// The longest answer in tokens, reasoning included. Default 4,096.
    pub max_tokens: u32,
    /// Not sent where `None`, the default.
    pub reasoning_effort: Option<ReasoningEffort>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 1.0, top_p: 1.0, seed: 0, max_tokens: 4_096, reasoning_effort: None }
    }
}

/// A request for a plain answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The conversation: fixed text first, what changes last, for the server's prefix cache.
    pub messages: Vec<Message>,
    /// How to pick tokens.
    pub sampling: Sampling,
    /// The server's slot that served this conversation before, for its prefix cache. Sent to llama.cpp as
    /// `id_slot`, and to no other server. `None` lets the server choose.
    pub slot: Option<u32>,
}

/// A request for an answer of a contract's shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StructuredRequest {
    /// The conversation: fixed text first, what changes last, for the server's prefix cache.
    pub messages: Vec<Message>,
    /// How to pick tokens. Re-ask n adds n to the seed.
    pub sampling: Sampling,
    /// Further calls after an answer that is not valid.
    pub max_reasks: u32,
    /// As in [`ChatRequest::slot`]. Default `None`.
    pub slot: Option<u32>,
}

impl StructuredRequest {
    /// A request with default sampling and two re-asks.
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages, sampling: Sampling::default(), max_reasks: 2, slot: None }
    }
}

/// Estimated tokens of a conversation, four a message for the template's own marks.
pub(crate) fn estimate_messages(messages: &[Message]) -> u64 {
    messages.iter().map(|message| estimate_tokens(&message.content) + 4).sum()
}

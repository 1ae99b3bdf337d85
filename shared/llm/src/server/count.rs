//! Counts a prompt's tokens: by the server where it can, else by the estimate.
//!
//! A count costs one request or two, and some milliseconds of the server's processor for a long prompt. So
//! [`Client::prompt_tokens`] counts only where it matters, and each prompt once: the last counts are kept by the
//! hash of what was counted.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use nightforge_domain::fault::FaultClass;
use serde_json::{Value, json};

use super::ask::post;
use super::kind::ServerKind;
use crate::classify::ErrorText;
use crate::client::Client;
use crate::request::{Message, estimate_messages};
use crate::transport::TransportFault;

/// A count that takes longer is not worth waiting for: the estimate is there.
const COUNT_TIME: Duration = Duration::from_secs(5);
/// What templates put around a message, where only texts can be counted: marks, the role, line ends.
const TEMPLATE_TOKENS_A_MESSAGE: u64 = 8;

impl Client {
    /// Tokens of the prompt that these messages make, `tools` (the list of a native tool call) among them, as the
    /// server counts them. `None` where it can't, or did not now; the debug log then has the cause.
    ///
    /// llama.cpp and vLLM count the rendered prompt: the number is what `usage.prompt_tokens` of the call will be.
    /// SGLang counts texts alone, so eight tokens a message are added for its template: good to a few tokens.
    /// LM Studio, Ollama and others don't count. Before the first [`Client::look`] nothing is counted.
    pub async fn count_tokens(&self, messages: &[Message], tools: Option<&Value>) -> Option<u64> {
        let server = self.server()?;
        let can_count = matches!(server, ServerKind::LlamaCpp | ServerKind::Vllm | ServerKind::Sglang);
        let prompt = hash_of(server, messages, tools);
        {
            let facts = self.inner.learned.facts();
            if !can_count || facts.counts_nothing {
                return None;
            }
            if let Some(tokens) = facts.count_of(prompt) {
                return Some(tokens);
            }
        }
        let counted = match server {
            ServerKind::LlamaCpp => self.count_at_llama_cpp(messages, tools).await,
            ServerKind::Vllm => self.count_at_vllm(messages, tools).await,
            _ => self.count_at_sglang(messages, tools).await,
        };
        let fault = match counted {
            Ok(Some(tokens)) => {
                self.inner.learned.facts().keep_count(prompt, tokens);
                return Some(tokens);
            }
            Ok(None) => "an answer without a count".to_owned(),
            Err(fault) => {
                // The path is not there, and will not be: it is not asked for again.
                let gone = matches!(&fault, TransportFault::Status { status: 404 | 405 | 501, body, .. }
                    if ErrorText::of_body(body).class(None) != Some(FaultClass::ModelMissing));
                self.inner.learned.facts().counts_nothing |= gone;
                fault.to_string()
            }
        };
        let fault = self.inner.endpoint.redact(&fault);
        tracing::debug!(endpoint = self.url(), %server, fault, "tokens not counted, estimated");
        None
    }

    /// Tokens of the prompt that these messages make, for a budget of `budget` tokens: the estimate where it is
    /// surely inside, else the server's count, else the estimate.
    pub async fn prompt_tokens(&self, messages: &[Message], tools: Option<&Value>, budget: u64) -> u64 {
        let raw = raw_estimate(messages, tools);
        let estimate = self.token_ratio().correct(raw);
        // No text has more tokens than bytes, which are 2.5 times the bare estimate.
        if raw <= budget / 3 {
            return estimate;
        }
        self.count_tokens(messages, tools).await.unwrap_or(estimate)
    }

    /// Estimated tokens of that prompt: bytes / 2.5, corrected by what this model's calls really took.
    pub fn estimate_prompt(&self, messages: &[Message], tools: Option<&Value>) -> u64 {
        self.token_ratio().correct(raw_estimate(messages, tools))
    }

    async fn count_at_llama_cpp(
        &self,
        messages: &[Message],
        tools: Option<&Value>,
    ) -> Result<Option<u64>, TransportFault> {
        // The name is for one that routes to several models.
        let mut body = json!({ "model": self.model(), "messages": messages });
        add_tools(&mut body, tools);
        let rendered = post(self, "/apply-template", &body, COUNT_TIME).await?;
        let Some(prompt) = rendered["prompt"].as_str() else { return Ok(None) };
        // As the server itself does it for a chat: marks of the template are marks, and the model's own first
        // mark is added where the template has none.
        let body =
            json!({ "model": self.model(), "content": prompt, "add_special": true, "parse_special": true });
        let answer = post(self, "/tokenize", &body, COUNT_TIME).await?;
        Ok(answer["tokens"].as_array().map(|tokens| tokens.len() as u64))
    }

    async fn count_at_vllm(
        &self,
        messages: &[Message],
        tools: Option<&Value>,
    ) -> Result<Option<u64>, TransportFault> {
        let mut body = json!({ "model": self.model(), "messages": messages, "add_generation_prompt": true });
        add_tools(&mut body, tools);
        let answer = post(self, "/tokenize", &body, COUNT_TIME).await?;
        Ok(answer["count"].as_u64())
    }

    async fn count_at_sglang(
        &self,
        messages: &[Message],
        tools: Option<&Value>,
    ) -> Result<Option<u64>, TransportFault> {
        let mut texts: Vec<String> = messages.iter().map(|message| message.content.clone()).collect();
        texts.extend(tools.map(Value::to_string));
        let around = TEMPLATE_TOKENS_A_MESSAGE.saturating_mul(texts.len() as u64);
        let body = json!({ "model": self.model(), "prompt": texts, "add_special_tokens": false });
        let answer = post(self, "/tokenize", &body, COUNT_TIME).await?;
        let counts = answer["count"].as_array();
        let whole: Option<u64> = counts.and_then(|counts| counts.iter().map(Value::as_u64).sum());
        Ok(whole.map(|tokens| tokens + around))
    }
}

fn raw_estimate(messages: &[Message], tools: Option<&Value>) -> u64 {
    let tools = tools.map(|tools| crate::estimate_tokens(&tools.to_string())).unwrap_or_default();
    estimate_messages(messages) + tools
}

fn add_tools(body: &mut Value, tools: Option<&Value>) {
    if let Some(tools) = tools {
        body["tools"] = tools.clone();
    }
}

fn hash_of(server: ServerKind, messages: &[Message], tools: Option<&Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    server.hash(&mut hasher);
    for message in messages {
        (message.role, &message.content).hash(&mut hasher);
    }
    tools.map(Value::to_string).hash(&mut hasher);
    hasher.finish()
}

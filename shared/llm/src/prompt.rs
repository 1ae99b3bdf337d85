//! What a prompt will cost: counted before it is sent, refused where it is over the budget, and held against
//! the server's own count afterwards. Some servers cut a long prompt without a word; the model then answers a
//! question that nobody asked.

use nightforge_domain::Usage;
use nightforge_domain::fault::FaultClass;
use serde_json::Value;

use crate::budget::{estimate_tokens, prompt_budget};
use crate::client::Client;
use crate::error::CallError;
use crate::request::{Message, estimate_messages};
use crate::server::ServerKind;

/// A server that reports less than this share of the expected prompt has cut it.
const WHOLE_SHARE: f64 = 0.7;

/// What is about to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prompt<'a> {
    /// The conversation.
    pub(crate) messages: &'a [Message],
    /// The tools of native mode, which the server's template adds to it.
    pub(crate) tools: Option<&'a Value>,
    /// Estimated tokens of a schema that the server reads beside it; they take time and no context.
    pub(crate) schema_tokens: u64,
}

impl<'a> Prompt<'a> {
    /// A conversation and nothing beside it.
    pub(crate) fn of(messages: &'a [Message]) -> Self {
        Self { messages, tools: None, schema_tokens: 0 }
    }
}

/// What a prompt is expected to cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Tokens of the prompt.
    tokens: u64,
    /// Tokens that the server has to read before it answers.
    pub(crate) to_read: u64,
    basis: Basis,
    /// The estimate before its correction, which is what the ratio learns from.
    raw: u64,
}

/// Where an expectation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// The server counted this very prompt.
    Counted,
    /// From the ratio of five calls and more.
    Learned,
    /// From the length of the text, with what few calls have taught.
    Estimated,
}

impl Client {
    /// Counts a prompt, and refuses one that is over the budget before anything of it is sent.
    pub(crate) async fn admit(&self, prompt: &Prompt<'_>, max_tokens: u32) -> Result<Expected, CallError> {
        let tools_text = prompt.tools.map(Value::to_string).unwrap_or_default();
        let raw = estimate_messages(prompt.messages).saturating_add(estimate_tokens(&tools_text));
        let context = self.context_tokens();
        let server = self.server().unwrap_or(ServerKind::Other);
        let budget = context.map(|context| prompt_budget(context, max_tokens, server));
        // No text has more tokens than bytes, which is 2.5 times the estimate: below a third of the budget
        // the exact count would change nothing and cost two requests.
        let counted = match budget {
            Some(budget) if raw > budget / 3 => self.count_tokens(prompt.messages, prompt.tools).await,
            _ => None,
        };
        let (tokens, basis) = match (counted, self.token_ratio().expected(raw)) {
            (Some(counted), _) => (counted, Basis::Counted),
            (None, Some(learned)) => (learned, Basis::Learned),
            (None, None) => (self.token_ratio().correct(raw), Basis::Estimated),
        };
        if let (Some(context), Some(budget)) = (context, budget)
            && tokens > budget
        {
            let how = if basis == Basis::Counted { "by the server's count" } else { "estimated" };
            let came_back = format!(
                "nothing was sent, because the prompt has {tokens} tokens ({how}) and its budget is {budget}, \
                 in a context of {context} with {max_tokens} for the answer"
            );
            return Err(CallError::new(&self.inner.endpoint, FaultClass::ContextOverflow, &came_back));
        }
        Ok(Expected { tokens, to_read: tokens.saturating_add(prompt.schema_tokens), basis, raw })
    }

    /// Refuses the answer to a prompt that the server has cut. What a server counts teaches the ratio.
    pub(crate) fn check_count(&self, expected: &Expected, usage: Usage) -> Result<(), CallError> {
        let Some(reported) = usage.prompt_tokens.filter(|tokens| *tokens > 0) else { return Ok(()) };
        let is_long = self.context_tokens().is_some_and(|context| expected.tokens > context / 2);
        let is_cut = (reported as f64) < WHOLE_SHARE * expected.tokens as f64;
        if is_long && is_cut && expected.basis != Basis::Estimated {
            let came_back = format!(
                "an answer to a prompt that the server has cut to {reported} of {} tokens without a word, so it \
                 is discarded",
                expected.tokens
            );
            let error = CallError::new(&self.inner.endpoint, FaultClass::ContextOverflow, &came_back);
            return Err(error.with_usage(usage));
        }
        self.token_ratio().record(expected.raw, reported);
        Ok(())
    }
}

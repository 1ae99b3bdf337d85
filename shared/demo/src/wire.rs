//! Bodies as OpenAI-compatible servers write them.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::MODEL;

/// Most deltas of one answer, so that a pace of a few milliseconds can be kept.
const MOST_DELTAS: usize = 12;

/// An answer of the model before it is put on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) finish_reason: &'static str,
    pub(crate) prompt_tokens: usize,
}

/// The same request gets the same id, before and after a restart.
pub(crate) fn completion_id(body: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    format!("chatcmpl-{:016x}", hasher.finish())
}

/// Four bytes a token: near enough to what real tokenizers make of English and code.
pub(crate) fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

impl Completion {
    /// The body of an answer in one piece.
    pub(crate) fn whole(&self) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": self.text},
                "finish_reason": self.finish_reason,
            }],
            "usage": self.usage(),
        })
    }

    /// The events of a streamed answer: the role, the text in small pieces, the finish reason, the usage.
    pub(crate) fn events(&self) -> Vec<String> {
        let mut chunks = vec![self.chunk(&json!({"role": "assistant", "content": null}), None)];
        chunks.extend(pieces(&self.text).map(|piece| self.chunk(&json!({"content": piece}), None)));
        chunks.push(self.chunk(&json!({}), Some(self.finish_reason)));
        let mut usage = self.chunk(&json!({}), None);
        usage["choices"] = json!([]);
        usage["usage"] = self.usage();
        chunks.push(usage);
        let mut events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    /// One event of a streamed answer with this text.
    pub(crate) fn piece(&self, text: &str) -> String {
        format!("data: {}\n\n", self.chunk(&json!({"content": text}), None))
    }

    fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": 0,
            "model": MODEL,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
        })
    }

    fn usage(&self) -> Value {
        let completion_tokens = tokens(&self.text);
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": self.prompt_tokens + completion_tokens,
        })
    }
}

/// The text in at most [`MOST_DELTAS`] pieces, cut between characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let size = text.len().div_ceil(MOST_DELTAS).max(4);
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        rest = after;
        Some(piece)
    })
}

/// An error with a body in llama.cpp's form.
pub(crate) fn error(status: StatusCode, kind: &str, message: &str) -> Response {
    let body = json!({"error": {"code": status.as_u16(), "message": message, "type": kind}});
    (status, Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_and_lose_nothing() {
        for text in ["", "a", "Zoë — «déjà vu»", &"x".repeat(10_000), &"é€😀".repeat(50)] {
            let parts: Vec<&str> = pieces(text).collect();
            assert_eq!(parts.concat(), *text);
            assert!(parts.len() <= MOST_DELTAS, "{} pieces", parts.len());
        }
        assert!(pieces(&"x".repeat(60)).count() >= 10);
    }
}

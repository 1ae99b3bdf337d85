//! Bodies as OpenAI-compatible servers write them.

use serde_json::{Value, json};

use crate::load::MODEL;

/// Pieces of one answer.
const PIECES: usize = 12;

/// An answer in one piece.
pub(crate) fn whole(text: &str, request_bytes: usize) -> Value {
    json!({
        "id": "chatcmpl-bench", "object": "chat.completion", "created": 0, "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": usage(text, request_bytes),
    })
}

/// The events of a streamed answer: role, text in pieces, finish reason, usage.
pub(crate) fn events(text: &str, request_bytes: usize) -> String {
    let chunk = |choices: Value| json!({"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 0, "model": MODEL, "choices": choices});
    let delta =
        |delta: Value, finish: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]));
    let mut chunks = vec![delta(json!({"role": "assistant", "content": null}), Value::Null)];
    let letters: Vec<char> = text.chars().collect();
    for piece in letters.chunks(letters.len().div_ceil(PIECES).max(1)) {
        chunks.push(delta(json!({"content": piece.iter().collect::<String>()}), Value::Null));
    }
    chunks.push(delta(json!({}), json!("stop")));
    let mut last = chunk(json!([]));
    last["usage"] = usage(text, request_bytes);
    chunks.push(last);
    let mut events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.push_str("data: [DONE]\n\n");
    events
}

/// Four bytes a token.
fn usage(text: &str, request_bytes: usize) -> Value {
    let (prompt, completion) = (request_bytes / 4, text.len().div_ceil(4));
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
}

//! What goes over the wire. Answers are read leniently: every field may be missing or of another type, so
//! that one odd field does not cost the answer.

use nightforge_domain::Usage;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::classify::ErrorText;
use crate::request::{Message, ReasoningEffort, Sampling};

/// The body of a chat request.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Request<'a> {
    model: &'a str,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    temperature: f64,
    top_p: f64,
    seed: i64,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<ReasoningEffort>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Debug, Clone, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Request<'a> {
    pub(crate) fn new(model: &'a str, messages: &'a [Message], sampling: &Sampling) -> Self {
        Self {
            model,
            messages,
            response_format: None,
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            // llama.cpp holds the seed in 32 bits and reads the largest one as "random".
            seed: sampling.seed.rem_euclid(i64::from(i32::MAX)),
            max_tokens: sampling.max_tokens,
            reasoning_effort: sampling.reasoning_effort,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
        }
    }

    pub(crate) fn with_schema(self, name: &str, schema: &Value) -> Self {
        let json_schema = json!({ "name": name, "strict": true, "schema": schema });
        Self { response_format: Some(json!({ "type": "json_schema", "json_schema": json_schema })), ..self }
    }
}

/// One event of a stream, or a whole answer that came in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Chunk {
    pub(crate) model: Option<String>,
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) reasoning_content: String,
    pub(crate) refusal: String,
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) error: Option<ErrorText>,
}

impl Chunk {
    /// Whether the model has given anything in it.
    pub(crate) fn has_tokens(&self) -> bool {
        [&self.text, &self.reasoning, &self.reasoning_content, &self.refusal]
            .iter()
            .any(|text| !text.is_empty())
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(read_chunk(&Value::deserialize(deserializer)?))
    }
}

fn read_chunk(value: &Value) -> Chunk {
    let choice = &value["choices"][0];
    let said = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
    Chunk {
        model: Some(text(&value["model"])).filter(|name| !name.is_empty()),
        text: text(&said["content"]),
        reasoning: text(&said["reasoning"]),
        reasoning_content: text(&said["reasoning_content"]),
        refusal: text(&said["refusal"]),
        finish_reason: Some(text(&choice["finish_reason"])).filter(|reason| !reason.is_empty()),
        usage: read_usage(value),
        error: read_error(value),
    }
}

fn read_error(value: &Value) -> Option<ErrorText> {
    match &value["error"] {
        // vLLM before it had the standard form.
        Value::Null if value["object"] == "error" => Some(ErrorText::of_value(value)),
        Value::Null | Value::Bool(false) => None,
        Value::String(text) if text.is_empty() => None,
        error => Some(ErrorText::of_value(error)),
    }
}

fn read_usage(value: &Value) -> Option<Usage> {
    let counted = &value["usage"];
    let usage = Usage {
        prompt_tokens: count(&counted["prompt_tokens"]),
        completion_tokens: count(&counted["completion_tokens"]),
        // llama.cpp before it had the standard field counts in `timings` alone.
        cached_tokens: count(&counted["prompt_tokens_details"]["cached_tokens"])
            .or_else(|| count(&value["timings"]["cache_n"])),
    };
    (usage != Usage::default()).then_some(usage)
}

/// A text, or the texts of a list of parts; anything else is empty.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        _ => String::new(),
    }
}

/// A count as integer, whole float or decimal text.
fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            // Over 2⁵³ a float is no exact count, and no server has read that many tokens.
            (float >= 0.0 && float.fract() == 0.0 && float < 9e15).then_some(float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Chunk {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn odd_fields_cost_nothing_but_themselves() {
        let chunk = read(
            r#"{"id":7,"created":1.5e9,"model":null,"object":[],"system_fingerprint":{},
               "choices":[{"index":"0","delta":{"role":null,"content":"a","tool_calls":null},"finish_reason":null,"logprobs":[]}],
               "usage":{"prompt_tokens":"12","completion_tokens":3.0,"prompt_tokens_details":null}}"#,
        );
        let usage = Usage { prompt_tokens: Some(12), completion_tokens: Some(3), cached_tokens: None };
        assert_eq!(chunk, Chunk { text: "a".to_owned(), usage: Some(usage), ..Chunk::default() });
    }

    #[test]
    fn nothing_at_all_is_an_empty_chunk() {
        for empty in
            ["{}", "[]", "null", "3", r#"{"choices":null}"#, r#"{"choices":[]}"#, r#"{"choices":[null]}"#]
        {
            assert_eq!(read(empty), Chunk::default(), "{empty}");
        }
        let nothing = r#"{"error":null,"usage":[],"choices":[{"delta":{"content":5},"finish_reason":""}]}"#;
        assert_eq!(read(nothing), Chunk::default());
    }

    #[test]
    fn both_reasoning_fields_stay_apart() {
        let chunk = read(r#"{"choices":[{"delta":{"reasoning":"a","reasoning_content":"b"}}]}"#);
        assert_eq!(
            (chunk.reasoning.as_str(), chunk.reasoning_content.as_str(), chunk.text.as_str()),
            ("a", "b", "")
        );
        assert!(chunk.has_tokens());
    }

    #[test]
    fn whole_messages_and_parts_are_read() {
        let chunk = read(
            r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"}]},"finish_reason":"stop"}]}"#,
        );
        assert_eq!((chunk.text.as_str(), chunk.finish_reason.as_deref()), ("ab", Some("stop")));
    }

    #[test]
    fn errors_have_several_forms() {
        let message = |text: &str| read(text).error.map(|error| error.message);
        for error in [
            r#"{"error":{"message":"boom","code":500}}"#,
            r#"{"error":"boom"}"#,
            r#"{"object":"error","message":"boom","code":400}"#,
        ] {
            assert_eq!(message(error).as_deref(), Some("boom"), "{error}");
        }
    }

    #[test]
    fn unknown_counts_are_unknown() {
        let usage = |text: &str| read(text).usage;
        assert_eq!(usage(r#"{"usage":{"prompt_tokens":-1,"completion_tokens":1.5}}"#), None);
        let cached = usage(r#"{"timings":{"cache_n":5}}"#).unwrap();
        assert_eq!(cached, Usage { cached_tokens: Some(5), ..Usage::default() });
        let zero = usage(r#"{"usage":{"prompt_tokens_details":{"cached_tokens":0}}}"#).unwrap();
        assert_eq!(zero.cached_tokens, Some(0));
    }

    #[test]
    fn seeds_stay_in_the_range_that_servers_take() {
        let sent = |seed| Request::new("m", &[], &Sampling { seed, ..Sampling::default() }).seed;
        assert_eq!([sent(0), sent(42), sent(i64::from(i32::MAX))], [0, 42, 0]);
        assert!(
            (0..i64::from(i32::MAX)).contains(&sent(-1))
                && (0..i64::from(i32::MAX)).contains(&sent(i64::MIN))
        );
    }
}

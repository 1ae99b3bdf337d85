//! What goes over the wire. Answers are read leniently: every field may be missing or of another type, so
//! that one odd field does not cost the answer.

use nightforge_domain::Usage;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::classify::ErrorText;
use crate::request::{Message, ReasoningEffort, Sampling};

/// The body of a chat request. `response_format` and `tools` never stand in one: servers then ignore one of
/// them, or hold the tool call's arguments to the wrong schema.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Request<'a> {
    model: &'a str,
    messages: Said<'a>,
    #[serde(flatten)]
    form: Form<'a>,
    temperature: f64,
    top_p: f64,
    seed: i64,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<ReasoningEffort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_slot: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

/// The conversation as it is sent.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(crate) enum Said<'a> {
    /// As plain texts.
    Plain(&'a [Message]),
    /// With the earlier answers as native tool calls.
    Calls(&'a [Value]),
}

/// How the answer is held to a form. One enum, so that a request can have one form only.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Form<'a> {
    Free {},
    Schema {
        response_format: Value,
    },
    /// `parallel_tool_calls` is said, because vLLM and LM Studio allow several calls by default.
    Tools {
        tools: &'a Value,
        tool_choice: &'static str,
        parallel_tool_calls: bool,
    },
}

#[derive(Debug, Clone, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Request<'a> {
    pub(crate) fn new(model: &'a str, messages: &'a [Message], sampling: &Sampling) -> Self {
        Self {
            model,
            messages: Said::Plain(messages),
            form: Form::Free {},
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            // llama.cpp holds the seed in 32 bits and reads the largest one as "random".
            seed: sampling.seed.rem_euclid(i64::from(i32::MAX)),
            max_tokens: sampling.max_tokens,
            reasoning_effort: sampling.reasoning_effort,
            id_slot: None,
            stream: true,
            stream_options: Some(StreamOptions { include_usage: true }),
        }
    }

    /// Level 1: the server holds the model to the schema.
    pub(crate) fn with_schema(self, name: &str, schema: &Value) -> Self {
        let json_schema = json!({ "name": name, "strict": true, "schema": schema });
        let response_format = json!({ "type": "json_schema", "json_schema": json_schema });
        Self { form: Form::Schema { response_format }, ..self }
    }

    /// Level 2: the server holds the model to JSON.
    pub(crate) fn with_json_object(self) -> Self {
        Self { form: Form::Schema { response_format: json!({ "type": "json_object" }) }, ..self }
    }

    /// Native mode: exactly one call of one of `tools`, in one piece. Several servers lose parts of a call
    /// that they stream.
    pub(crate) fn with_tools(self, tools: &'a Value, messages: &'a [Value]) -> Self {
        let form = Form::Tools { tools, tool_choice: "required", parallel_tool_calls: false };
        Self { form, messages: Said::Calls(messages), stream: false, stream_options: None, ..self }
    }

    /// The slot of llama.cpp that has the conversation in its cache.
    pub(crate) fn with_slot(self, id_slot: Option<u32>) -> Self {
        Self { id_slot, ..self }
    }

    pub(crate) fn streams(&self) -> bool {
        self.stream
    }

    pub(crate) fn max_tokens(&self) -> u32 {
        self.max_tokens
    }
}

/// One entry of `tool_calls`, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    /// The function's name, or nothing.
    pub(crate) name: String,
    /// Any JSON: an object, its text, or the text of its text.
    pub(crate) arguments: Value,
}

/// One event of a stream, or a whole answer that came in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Chunk {
    pub(crate) model: Option<String>,
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) reasoning_content: String,
    pub(crate) refusal: String,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) error: Option<ErrorText>,
}

impl Chunk {
    /// Whether the model has given anything in it.
    pub(crate) fn has_tokens(&self) -> bool {
        !self.tool_calls.is_empty()
            || [&self.text, &self.reasoning, &self.reasoning_content, &self.refusal]
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
        tool_calls: said["tool_calls"].as_array().into_iter().flatten().map(read_call).collect(),
        finish_reason: Some(text(&choice["finish_reason"])).filter(|reason| !reason.is_empty()),
        usage: read_usage(value),
        error: read_error(value),
    }
}

/// Ids are not read: nothing refers to them, and some servers leave them out.
fn read_call(call: &Value) -> ToolCall {
    let function = if call["function"].is_object() { &call["function"] } else { call };
    ToolCall { name: text(&function["name"]), arguments: function["arguments"].clone() }
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
        cached_tokens: [
            &counted["prompt_tokens_details"]["cached_tokens"],
            &counted["input_tokens_details"]["cached_tokens"],
            // llama.cpp before it had the standard field.
            &value["timings"]["cache_n"],
            // DeepSeek and gateways in front of it.
            &counted["prompt_cache_hit_tokens"],
            // Moonshot.
            &counted["cached_tokens"],
        ]
        .into_iter()
        .find_map(count),
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
        for cached in [
            r#"{"usage":{"prompt_tokens_details":{"cached_tokens":5}},"timings":{"cache_n":9}}"#,
            r#"{"usage":{"prompt_tokens_details":null,"input_tokens_details":{"cached_tokens":5}}}"#,
            r#"{"usage":{"prompt_cache_hit_tokens":5}}"#,
            r#"{"usage":{"cached_tokens":5}}"#,
        ] {
            assert_eq!(usage(cached).unwrap().cached_tokens, Some(5), "{cached}");
        }
        let zero = usage(r#"{"usage":{"prompt_tokens_details":{"cached_tokens":0}}}"#).unwrap();
        assert_eq!(zero.cached_tokens, Some(0));
    }

    #[test]
    fn tool_calls_are_read_in_any_form() {
        let calls = |calls: &str| {
            read(&format!(r#"{{"choices":[{{"message":{{"content":null,"tool_calls":{calls}}}}}]}}"#))
                .tool_calls
        };
        let one = ToolCall { name: "a".to_owned(), arguments: json!({"x": 1}) };
        for whole in [
            r#"[{"id":"1","type":"function","function":{"name":"a","arguments":{"x":1}}}]"#,
            r#"[{"id":7,"index":null,"function":{"arguments":{"x":1},"name":"a"}}]"#,
            r#"[{"name":"a","arguments":{"x":1}}]"#,
        ] {
            assert_eq!(calls(whole), std::slice::from_ref(&one), "{whole}");
        }
        let text = ToolCall { name: "a".to_owned(), arguments: json!("{}") };
        assert_eq!(calls(r#"[{"function":{"name":"a","arguments":"{}"}}]"#), [text]);
        let nothing = ToolCall { name: String::new(), arguments: Value::Null };
        assert_eq!(calls(r#"[null,{"function":{"name":3}}]"#), [nothing.clone(), nothing]);
        for none in ["null", "[]", "{}", "7"] {
            assert_eq!(calls(none), [], "{none}");
        }
    }

    #[test]
    fn a_request_has_one_form() {
        let (tools, messages) = (json!([]), [json!({"role": "user", "content": "a"})]);
        let request = || Request::new("m", &[], &Sampling::default());
        let forms = |request: Request<'_>| {
            let body = serde_json::to_value(request).unwrap();
            ["response_format", "tools", "stream_options"].map(|field| body.get(field).is_some())
        };
        assert_eq!(forms(request()), [false, false, true]);
        assert_eq!(forms(request().with_schema("N", &json!({}))), [true, false, true]);
        assert_eq!(forms(request().with_json_object()), [true, false, true]);
        let both = request().with_schema("N", &json!({})).with_tools(&tools, &messages);
        assert_eq!(forms(both), [false, true, false]);
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

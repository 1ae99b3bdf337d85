//! The class of an error that a server sends. Text is matched before status: local servers send the same
//! failure under several statuses, and several failures under one.

use nightforge_domain::fault::FaultClass;
use serde_json::Value;

use FaultClass::*;

/// Texts of real servers in lower case, the first match counts. An entry matches where all its parts occur.
const TEXTS: &[(FaultClass, &[&[&str]])] = &[
    // Before all others: these quote the model's own output, which may hold any word.
    (
        ModelOutputInvalid,
        &[
            &["failed to parse tool call"],
            &["error parsing tool call"],
            &["failed to parse input at pos"],
            &["unexpected tokens remaining in message header"],
            &["harmonyerror"],
        ],
    ),
    (
        ContextOverflow,
        &[
            &["exceed_context_size"],
            &["context_length_exceeded"],
            &["exceeds the available context size"],
            &["context length"],
            &["context window"],
            &["context the overflows"],
            &["context overflow"],
            &["prompt is too long"],
            &["input is too long"],
        ],
    ),
    (
        Auth,
        &[
            &["invalid_api_key"],
            &["api key"],
            &["api token is required"],
            &["unauthorized"],
            &["authentication_error"],
            &["insufficient_quota"],
        ],
    ),
    (
        SchemaRejected,
        &[
            &["failed to initialize samplers"],
            &["parse grammar"],
            &["compile grammar"],
            &["invalid grammar"],
            &["grammar error"],
            &["json_schema"],
            &["json schema"],
            &["jsonschema"],
            &["invalid schema"],
            &["unrecognized schema"],
            &["response_format"],
            &["response format"],
            &["json_object"],
            &["structured output"],
            &["guided_json"],
            &["guided decoding"],
            &["xgrammar"],
            // Tools are the form of native mode.
            &["does not support tools"],
            &["tools param requires"],
            &["tool choice requires"],
            &["tool_choice"],
        ],
    ),
    (
        Loading,
        &[
            &["loading model"],
            &["model is loading"],
            &["still loading"],
            &["currently loading"],
            &["being loaded"],
            &["model unloaded"],
            &["model has unloaded"],
        ],
    ),
    (
        ModelMissing,
        &[
            &["model", "not found"],
            &["model", "does not exist"],
            &["model_not_found"],
            &["invalid model"],
            &["unknown model"],
            &["no model loaded"],
            &["no models loaded"],
            &["multiple models are loaded"],
            &["does not support chat"],
            &["unexpected endpoint"],
        ],
    ),
    (
        Overloaded,
        &[
            &["server busy"],
            &["too many requests"],
            &["maximum pending requests"],
            &["rate limit"],
            &["rate_limit"],
            &["overloaded"],
            &["queue is full"],
            &["slot unavailable"],
            &["no slot available"],
        ],
    ),
    (Refusal, &[&["content_filter"], &["content_policy"], &["content management policy"]]),
    // A template that can't render these roles fails the same way for ever, though servers say 500.
    (BadRequest, &[&["jinja"], &["roles must alternate"]]),
];

/// The class that a text shows, if it shows one.
pub(crate) fn by_text(text: &str) -> Option<FaultClass> {
    let text = text.to_lowercase();
    let holds = |parts: &&[&str]| parts.iter().all(|part| text.contains(part));
    TEXTS.iter().find(|(_, entries)| entries.iter().any(holds)).map(|(class, _)| *class)
}

/// The class of an HTTP answer that is not a 2xx.
pub(crate) fn by_status(status: u16) -> FaultClass {
    match status {
        401..=403 => Auth,
        // A redirect or a path that is not there: the URL is wrong, which an operator must mend.
        300..=399 | 404 | 405 | 410 => ModelMissing,
        408 => ServerError,
        413 => ContextOverflow,
        429 | 503 | 529 => Overloaded,
        // A proxy in front of a server that is gone.
        502 | 504 => ServerDown,
        400..=499 => BadRequest,
        _ => ServerError,
    }
}

/// The error of a body: for matching, and for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorText {
    /// Message, type, code and parameter.
    pub(crate) all: String,
    /// The message alone, on one line, cut at 500 characters.
    pub(crate) message: String,
    /// A `code` that is an HTTP status.
    pub(crate) status: Option<u16>,
}

impl ErrorText {
    /// Reads the body of an error answer, JSON or not.
    pub(crate) fn of_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(Value::Object(fields)) => {
                match ["error", "detail", "errors"].iter().find_map(|key| fields.get(*key)) {
                    Some(error) => Self::of_value(error),
                    None => Self::of_value(&Value::Object(fields)),
                }
            }
            Ok(other) => Self::of_value(&other),
            Err(_) => Self::new(body, body, None),
        }
    }

    /// Reads the value of an `error` field.
    pub(crate) fn of_value(error: &Value) -> Self {
        match error {
            Value::String(text) => Self::new(text, text, None),
            Value::Object(fields) => {
                let text = |key: &str| match fields.get(key) {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Null) | None => String::new(),
                    Some(other) => other.to_string(),
                };
                let message = ["message", "msg", "error", "detail"]
                    .iter()
                    .map(|key| text(key))
                    .find(|text| !text.is_empty())
                    .unwrap_or_else(|| error.to_string());
                let all = format!("{message} {} {} {}", text("type"), text("code"), text("param"));
                let status = text("code").parse().ok().filter(|code| (400..600).contains(code));
                Self::new(&all, &message, status)
            }
            // FastAPI: a list of complaints, each with the place and, in `input`, our own request again.
            Value::Array(complaints) => {
                let each: Vec<String> = complaints
                    .iter()
                    .map(|complaint| {
                        match (complaint.get("loc"), complaint.get("msg").and_then(Value::as_str)) {
                            (Some(place), Some(message)) => format!("{message} at {place}"),
                            _ => complaint.to_string(),
                        }
                    })
                    .collect();
                let text = each.join("; ");
                Self::new(&text, &text, None)
            }
            other => Self::new(&other.to_string(), &other.to_string(), None),
        }
    }

    fn new(all: &str, message: &str, status: Option<u16>) -> Self {
        // vLLM quotes the whole request after this mark; a word of a prompt must not decide the class.
        let before_quote = |text: &str| text.split("'input':").next().unwrap_or_default().to_owned();
        let one_line = before_quote(message).split_whitespace().collect::<Vec<_>>().join(" ");
        let printable = |c: &char| !c.is_control();
        Self {
            all: before_quote(all),
            message: one_line.chars().filter(printable).take(500).collect(),
            status,
        }
    }

    /// The class, by text, else by the status given, else by the status in the error itself.
    pub(crate) fn class(&self, status: Option<u16>) -> Option<FaultClass> {
        by_text(&self.all).or_else(|| status.or(self.status).map(by_status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_of_real_servers_has_its_class() {
        let mut count = 0;
        for line in include_str!("../cases/server_errors.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let body = match &case["body"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let status = u16::try_from(case["status"].as_u64().unwrap()).unwrap();
            let class = ErrorText::of_body(&body).class(Some(status)).unwrap();
            assert_eq!(class.as_str(), case["class"], "{line}");
            count += 1;
        }
        assert!(count >= 11, "the case file was cut");
    }

    #[track_caller]
    fn check(status: u16, body: &str, class: FaultClass) {
        assert_eq!(ErrorText::of_body(body).class(Some(status)), Some(class), "{status} {body}");
    }

    #[test]
    fn further_texts() {
        check(400, r#"{"error":"Model unloaded."}"#, Loading);
        check(
            404,
            r#"{"error":{"message":"No models loaded. Please load a model in the developer page."}}"#,
            ModelMissing,
        );
        check(
            404,
            r#"{"object":"error","message":"The model `x` does not exist.","code":404}"#,
            ModelMissing,
        );
        check(400, r#"{"error":"'response_format.type' must be 'json_schema' or 'text'"}"#, SchemaRejected);
        check(
            422,
            r#"{"detail":[{"loc":["body","response_format"],"msg":"extra fields not permitted"}]}"#,
            SchemaRejected,
        );
        check(
            400,
            r#"{"error":{"message":"registry.ollama.ai/library/x does not support tools"}}"#,
            SchemaRejected,
        );
        check(500, r#"{"error":{"code":500,"message":"tools param requires --jinja flag"}}"#, SchemaRejected);
        check(
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}"#,
            SchemaRejected,
        );
        check(
            500,
            r#"{"error":{"message":"Jinja Exception: Conversation roles must alternate"}}"#,
            BadRequest,
        );
        check(429, r#"{"error":{"type":"insufficient_quota","message":"You exceeded your quota"}}"#, Auth);
        check(
            400,
            r#"{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (4096 tokens)."}"#,
            ContextOverflow,
        );
        check(404, r#"{"detail":"Not Found"}"#, ModelMissing);
        check(502, "<html>Bad Gateway</html>", ServerDown);
    }

    #[test]
    fn words_of_our_own_request_decide_nothing() {
        check(
            422,
            r#"{"detail":[{"loc":["body","x"],"msg":"bad","input":{"response_format":1}}]}"#,
            BadRequest,
        );
        check(
            400,
            r#"{"message":"[{'msg': 'bad', 'input': 'the context length and the api key'}]"}"#,
            BadRequest,
        );
        check(
            500,
            r#"{"error":{"message":"Failed to parse tool call arguments as JSON: {\"q\": \"api key\"}"}}"#,
            ModelOutputInvalid,
        );
    }

    #[test]
    fn message_is_one_short_line() {
        let text = ErrorText::of_body(&format!("a\n\n b\u{7} {}", "x".repeat(2_000)));
        assert!(text.message.starts_with("a b x") && text.message.chars().count() == 500, "{}", text.message);
    }
}

//! What a request must look like. Everything that is wrong is said at once, in words for whoever wrote the
//! client.

mod messages;
mod schema;
mod system;
mod view;

use serde_json::{Map, Value};

use crate::contract_name::ContractName;
use crate::{MODEL, wire};

pub(crate) use messages::{Message, Role};

/// Stands before a schema in a prompt, where `response_format` can't be used; the contract's name follows.
const PASSAGE: &str = "Answer with one JSON object of this schema, named ";

/// A request that keeps to the protocol.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) contract: ContractName,
    /// Without re-asks: every assistant message is a valid answer.
    pub(crate) messages: Vec<Message>,
    /// Answers of this call that were not accepted.
    pub(crate) reasks: usize,
    pub(crate) stream: bool,
    pub(crate) max_tokens: u64,
    /// Of all messages.
    pub(crate) prompt_tokens: usize,
}

/// The body for the record; one that is not JSON is kept as a string.
pub(crate) fn as_value(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

/// Reads a request, or says everything that is wrong with it.
pub(crate) fn check(body: &[u8]) -> Result<Request, Vec<String>> {
    let text = std::str::from_utf8(body).map_err(|error| vec![format!("the body is not UTF-8: {error}")])?;
    let value: Value =
        serde_json::from_str(text).map_err(|error| vec![format!("the body is not JSON: {error}")])?;
    let Value::Object(body) = value else {
        return Err(vec!["the body is not a JSON object".to_owned()]);
    };
    let mut wrong = Vec::new();
    check_model(&body, &mut wrong);
    let stream = check_stream(&body, &mut wrong);
    let max_tokens = check_sampling(&body, &mut wrong);
    let messages = messages::read(&body, &mut wrong);
    let contract = check_contract(&body, &messages, &mut wrong);
    let prompt_tokens = messages.iter().map(|message| wire::tokens(&message.content) + 4).sum();
    if let Some(first) = messages.first().filter(|message| message.role == Role::System) {
        system::check(&first.content, &mut wrong);
    }
    let Some(contract) = contract else {
        return Err(wrong);
    };
    let reasks = messages::reasks(&messages);
    if contract.is_research() {
        view::check(contract, &messages, &mut wrong);
    }
    let messages = messages::without_reasks(messages, contract, &mut wrong);
    if wrong.is_empty() {
        Ok(Request { contract, messages, reasks, stream, max_tokens, prompt_tokens })
    } else {
        Err(wrong)
    }
}

fn check_model(body: &Map<String, Value>, wrong: &mut Vec<String>) {
    match body.get("model") {
        Some(Value::String(model)) if model == MODEL => {}
        Some(model) => wrong.push(format!("`model` is {model}; this server has `{MODEL}` only")),
        None => wrong.push("`model` is missing".to_owned()),
    }
}

fn check_stream(body: &Map<String, Value>, wrong: &mut Vec<String>) -> bool {
    let stream = match body.get("stream") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(stream)) => *stream,
        Some(other) => {
            wrong.push(format!("`stream` is {other}, not true or false"));
            false
        }
    };
    let usage = body.get("stream_options").and_then(|options| options.get("include_usage"));
    if stream && usage != Some(&Value::Bool(true)) {
        wrong.push("`stream` without `stream_options.include_usage`".to_owned());
    }
    stream
}

fn check_sampling(body: &Map<String, Value>, wrong: &mut Vec<String>) -> u64 {
    if body.get("temperature").and_then(Value::as_f64).is_none() {
        wrong.push("`temperature` is missing or not a number".to_owned());
    }
    let max_tokens = body.get("max_tokens").and_then(Value::as_u64).filter(|tokens| *tokens > 0);
    if max_tokens.is_none() {
        wrong.push("`max_tokens` is missing or not a positive number".to_owned());
    }
    max_tokens.unwrap_or(0)
}

/// Finds the contract that is asked for, in `response_format` or in a message.
fn check_contract(
    body: &Map<String, Value>,
    messages: &[Message],
    wrong: &mut Vec<String>,
) -> Option<ContractName> {
    let format = body.get("response_format").filter(|format| !format.is_null());
    if format.is_some() && body.get("tools").is_some_and(|tools| !tools.is_null()) {
        wrong
            .push("both `tools` and `response_format`; only one of them may be used in a request".to_owned());
    }
    let found_before = wrong.len();
    let asked = match format.and_then(|format| format.get("json_schema")) {
        Some(json_schema) => named_schema(json_schema, wrong),
        None => passage(messages, wrong),
    };
    let Some((name, schema)) = asked else {
        if wrong.len() == found_before {
            wrong.push(format!("neither `response_format.json_schema` nor a passage `{PASSAGE}<Name>:`"));
        }
        return None;
    };
    match ContractName::parse(&name) {
        Ok(contract) => {
            schema::check(&schema, &contract.fields(), wrong);
            Some(contract)
        }
        Err(unknown) => {
            wrong.push(unknown);
            None
        }
    }
}

fn named_schema(json_schema: &Value, wrong: &mut Vec<String>) -> Option<(String, Value)> {
    if json_schema.get("strict") != Some(&Value::Bool(true)) {
        wrong.push("`response_format.json_schema.strict` is not true".to_owned());
    }
    let name = json_schema.get("name").and_then(Value::as_str);
    if name.is_none() {
        wrong.push("`response_format.json_schema.name` is missing".to_owned());
    }
    let schema = json_schema.get("schema");
    if schema.is_none() {
        wrong.push("`response_format.json_schema.schema` is missing".to_owned());
    }
    Some((name?.to_owned(), schema?.clone()))
}

/// The last passage, with the JSON object after it.
fn passage(messages: &[Message], wrong: &mut Vec<String>) -> Option<(String, Value)> {
    let after = messages.iter().rev().find_map(|message| Some(message.content.rsplit_once(PASSAGE)?.1))?;
    let (name, rest) = after.split_once(':')?;
    let schema = rest.find('{').and_then(|start| {
        serde_json::Deserializer::from_str(&rest[start..]).into_iter::<Value>().next()?.ok()
    });
    if schema.is_none() {
        wrong.push(format!("no JSON schema follows the passage `{PASSAGE}{name}:`"));
    }
    Some((name.trim().to_owned(), schema?))
}

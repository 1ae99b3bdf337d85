//! The one tool call of an answer. Ladder: the server's own `tool_calls`, else the forms of `forms` as the
//! whole text. Never the reasoning.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::forms;
use super::tools::{Call, Tools};
use crate::client::Answer;
use crate::conform::first_departure;
use crate::extract::leading_object;

/// A call as it was said, before anything is known about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SaidCall {
    pub(super) name: String,
    pub(super) arguments: SaidArguments,
}

/// Arguments in the form in which they came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SaidArguments {
    /// Any JSON: an object, its text, or the text of its text.
    Json(Value),
    /// Named texts without types.
    Texts(Vec<(String, String)>),
}

/// Why an answer holds no valid call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotACall {
    /// For the model: what was wrong.
    pub(crate) words: String,
    /// The tool that was meant, where it exists.
    pub(crate) tool: Option<String>,
}

impl NotACall {
    fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), tool: None }
    }
}

/// The one valid call of an answer. Its arguments have the shape of the tool's parameters.
pub(crate) fn read_call(answer: &Answer, tools: &Tools) -> Result<Call, NotACall> {
    let mut said: Vec<SaidCall> = if answer.tool_calls.is_empty() {
        forms::read(&answer.text).map_err(NotACall::new)?
    } else {
        let calls = answer.tool_calls.iter();
        calls
            .map(|call| SaidCall {
                name: call.name.clone(),
                arguments: SaidArguments::Json(call.arguments.clone()),
            })
            .collect()
    };
    said.dedup();
    match said.as_slice() {
        [] => Err(NotACall::new("there was no tool call in it")),
        [one] => check(one, tools),
        several => {
            let words = format!("it held {} different tool calls; make exactly one", several.len());
            Err(NotACall::new(words))
        }
    }
}

fn check(said: &SaidCall, tools: &Tools) -> Result<Call, NotACall> {
    let name = plain_name(&said.name);
    let Some(parameters) = tools.parameters(name) else {
        let shown: String = name.chars().take(40).collect();
        return Err(NotACall::new(format!("`{shown}` is not a tool; the tools are {}", tools.names())));
    };
    let wrong = |words: String| NotACall { words, tool: Some(name.to_owned()) };
    let arguments = match &said.arguments {
        SaidArguments::Json(value) => object_of(value, MOST_ENCODINGS),
        SaidArguments::Texts(texts) => typed(texts, parameters),
    };
    let arguments =
        Value::Object(arguments.map_err(|words| wrong(format!("the arguments of {name}: {words}")))?);
    if let Some(departure) = first_departure(&arguments, parameters) {
        return Err(wrong(format!("the arguments of {name}: {departure}")));
    }
    match arguments {
        Value::Object(arguments) => Ok(Call { tool: name.to_owned(), arguments }),
        _ => Err(wrong("the arguments must be an object".to_owned())),
    }
}

/// gpt-oss lets marks of its own format run into the name, and some servers pass its namespace on.
fn plain_name(name: &str) -> &str {
    let before_mark = name.split("<|").next().unwrap_or_default().trim();
    before_mark.strip_prefix("functions.").unwrap_or(before_mark)
}

/// An object, its text, or the text of its text.
const MOST_ENCODINGS: u32 = 2;

fn object_of(value: &Value, encodings_left: u32) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(object) => Ok(object.clone()),
        Value::Null => Ok(Map::new()),
        Value::String(text) if text.trim().is_empty() => Ok(Map::new()),
        Value::String(text) if encodings_left > 0 => {
            let text = text.trim();
            if !text.starts_with('{') {
                let inner: Value = serde_json::from_str(text).map_err(|_| NOT_AN_OBJECT.to_owned())?;
                return match inner {
                    Value::String(_) => object_of(&inner, encodings_left - 1),
                    _ => Err(NOT_AN_OBJECT.to_owned()),
                };
            }
            let (object, rest) = leading_object(text).map_err(|error| error.to_string())?;
            if !forms::without_marks(rest).is_empty() {
                return Err("something follows the JSON object".to_owned());
            }
            unique_fields(&object.json)
        }
        _ => Err(NOT_AN_OBJECT.to_owned()),
    }
}

const NOT_AN_OBJECT: &str = "they must be one JSON object";

/// The fields of a JSON object; a field that is given twice is an error, because which one counts is a guess.
pub(super) fn unique_fields(json: &str) -> Result<Map<String, Value>, String> {
    struct Fields;

    impl<'de> Visitor<'de> for Fields {
        type Value = Map<String, Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut fields = Map::new();
            while let Some((name, value)) = entries.next_entry::<String, Value>()? {
                if fields.contains_key(&name) {
                    return Err(serde::de::Error::custom(format!("`{name}` is given twice")));
                }
                fields.insert(name, value);
            }
            Ok(fields)
        }
    }

    serde_json::Deserializer::from_str(json).deserialize_map(Fields).map_err(|error| error.to_string())
}

/// Gives texts the types that the parameters ask for. A text that has not the type stays one, and is then
/// found to depart from the schema.
fn typed(texts: &[(String, String)], parameters: &Value) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for (name, text) in texts {
        let schema = &parameters["properties"][name.as_str()];
        let value = if takes(schema, "null") && text.trim() == "null" {
            Value::Null
        } else if takes(schema, "string") || schema.is_null() {
            Value::String(text.clone())
        } else {
            serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::String(text.clone()))
        };
        if arguments.insert(name.clone(), value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(arguments)
}

fn takes(schema: &Value, kind: &str) -> bool {
    schema["type"] == kind
        || schema["anyOf"]
            .as_array()
            .is_some_and(|branches| branches.iter().any(|branch| takes(branch, kind)))
}

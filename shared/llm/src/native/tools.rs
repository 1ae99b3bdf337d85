//! The tools of a contract, from its portable schema: one function for each action.

use serde_json::{Map, Value, json};

/// Names that gpt-oss takes for tools of its own.
const TAKEN: &[&str] = &["python", "bash", "browser", "container"];

/// The tools of a contract `{"thought": …, "action": {"tool": …, …}}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tools {
    /// The request's `tools`. Byte-stable.
    pub(crate) wire: Value,
    functions: Vec<Function>,
}

#[derive(Debug, Clone, PartialEq)]
struct Function {
    name: String,
    parameters: Value,
}

/// One call as a model made it: a tool that exists, and arguments that are an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
}

impl Tools {
    /// The tools of a portable schema; `None` where it is not one action a turn. The error names the tool that
    /// can't be one, and says why.
    pub(crate) fn of(schema: &Value) -> Result<Option<Self>, String> {
        let Some((thought, actions)) = one_action(schema) else { return Ok(None) };
        let mut functions = Vec::with_capacity(actions.len());
        let mut wire = Vec::with_capacity(actions.len());
        for action in actions {
            let Some((name, fields)) = action_fields(action) else { return Ok(None) };
            if TAKEN.contains(&name) {
                return Err(format!("no tool may have the name `{name}`, which gpt-oss takes for its own"));
            }
            if fields.iter().any(|(field, _)| *field == "thought") {
                return Err(format!(
                    "the tool `{name}` has a field `thought` of its own; give it another name"
                ));
            }
            let mut properties = Map::new();
            properties.insert("thought".to_owned(), thought.clone());
            properties.extend(fields.into_iter().map(|(field, schema)| (field.clone(), schema.clone())));
            let required: Vec<&String> = properties.keys().collect();
            let parameters = json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            });
            let description = action["description"].as_str().unwrap_or_default();
            wire.push(json!({
                "type": "function",
                "function": { "name": name, "description": description, "parameters": parameters },
            }));
            functions.push(Function { name: name.to_owned(), parameters });
        }
        Ok(Some(Self { wire: Value::Array(wire), functions }))
    }

    /// The tools' names, for the model.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.functions.iter().map(|function| function.name.as_str()).collect();
        names.join(", ")
    }

    /// The schema of a tool's arguments; `None` where there is no such tool.
    pub(crate) fn parameters(&self, tool: &str) -> Option<&Value> {
        self.functions.iter().find(|function| function.name == tool).map(|function| &function.parameters)
    }

    /// A call that would be taken, of `tool` where it exists.
    pub(crate) fn example(&self, tool: Option<&str>) -> String {
        let named = tool.and_then(|tool| self.functions.iter().find(|function| function.name == tool));
        let Some(function) = named.or(self.functions.first()) else { return String::new() };
        let fields = function.parameters["properties"].as_object().into_iter().flatten();
        let arguments: Map<String, Value> =
            fields.map(|(name, schema)| (name.clone(), example_of(schema))).collect();
        format!("{} with the arguments {}", function.name, Value::Object(arguments))
    }

    /// The contract's object for a call.
    pub(crate) fn contract_object(call: Call) -> Value {
        let Call { tool, mut arguments } = call;
        let thought = arguments.shift_remove("thought").unwrap_or(Value::Null);
        let mut action = Map::new();
        action.insert("tool".to_owned(), Value::String(tool));
        action.extend(arguments);
        json!({ "thought": thought, "action": action })
    }

    /// The call that a contract's object stands for; `None` where the text is no such object.
    pub(crate) fn call_of(&self, text: &str) -> Option<Call> {
        let Value::Object(mut object) = serde_json::from_str(text).ok()? else { return None };
        let thought = object.shift_remove("thought")?;
        let Some(Value::Object(mut action)) = object.shift_remove("action") else { return None };
        let Some(Value::String(tool)) = action.shift_remove("tool") else { return None };
        self.parameters(&tool)?;
        let mut arguments = Map::new();
        arguments.insert("thought".to_owned(), thought);
        arguments.extend(action);
        object.is_empty().then_some(Call { tool, arguments })
    }
}

/// The schema of the thought and those of the actions.
fn one_action(schema: &Value) -> Option<(&Value, &Vec<Value>)> {
    let properties = schema["properties"].as_object()?;
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    if names != ["thought", "action"] {
        return None;
    }
    Some((&properties["thought"], properties["action"]["anyOf"].as_array()?))
}

/// The tool's name and its fields.
fn action_fields(action: &Value) -> Option<(&str, Vec<(&String, &Value)>)> {
    let mut fields = action["properties"].as_object()?.iter();
    let (tag, constant) = fields.next()?;
    let name = constant["enum"].as_array().filter(|names| names.len() == 1)?.first()?.as_str()?;
    (tag == "tool").then(|| (name, fields.collect()))
}

fn example_of(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|allowed| allowed.first()) {
        return first.clone();
    }
    if let Some(branches) = schema["anyOf"].as_array() {
        let is_nullable = branches.iter().any(|branch| branch["type"] == "null");
        return if is_nullable { Value::Null } else { branches.first().map(example_of).unwrap_or_default() };
    }
    match schema["type"].as_str().unwrap_or_default() {
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "array" => json!([example_of(&schema["items"])]),
        "object" => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, schema)| (name.clone(), example_of(schema))).collect::<Map<_, _>>().into()
        }
        _ => json!("…"),
    }
}

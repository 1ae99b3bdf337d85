//! What the fake model says: a small project, then sessions of quick looks around that end blocked.

use serde_json::{Value, json};

/// Turns of a session; the last one ends it.
pub(super) const TURNS: usize = 25;

/// Lines of the project's one source file.
const LINES: usize = 400;

/// Lines that one look reads.
const LINES_READ: usize = 40;

/// The bytes of all messages.
pub(super) fn prompt_bytes(request: &Value) -> usize {
    messages(request).filter_map(|message| message["content"].as_str()).map(str::len).sum()
}

/// The conversation that a coding turn belongs to, by the bearings at its beginning, and the turn's number from 0.
/// `None` for all other requests.
pub(super) fn turn(request: &Value) -> Option<(String, usize)> {
    (contract(request) == "CodingAction").then(|| {
        let bearings = messages(request).nth(1).and_then(|message| message["content"].as_str());
        let turns = messages(request).filter(|message| message["role"] == "assistant").count();
        (bearings.unwrap_or_default().to_owned(), turns)
    })
}

/// The answer's text.
pub(crate) fn answer(request: &Value) -> String {
    match contract(request) {
        "ProjectPlan" => json!({
            "thought": "Shell scripts need nothing that is not there.",
            "name": "small-project",
            "test_command": "sh {files}",
            "test_file_pattern": "tests/test_{id}.sh",
            "build_command": null,
            "serve_command": null,
            "init_script": "#!/bin/sh\n",
        }),
        "FeatureBatch" => json!({"thought": "The next pages.", "features": features(request)}),
        "FirstFile" => json!({
            "thought": "The notes that sessions read.",
            "path": "notes.txt",
            "content": (1..=LINES).map(|line| format!("Line {line} says what page {line} shows.\n")).collect::<String>(),
            "more": false,
        }),
        "CodingAction" => coding_action(turn(request).map_or(0, |(_, number)| number)),
        _ => instance(&request["response_format"]["json_schema"]["schema"]),
    }
    .to_string()
}

/// Reads, lists and searches in turn, never the same twice.
fn coding_action(turn: usize) -> Value {
    let action = if turn + 1 >= TURNS {
        json!({"tool": "finish", "outcome": "blocked", "note": "Looked around."})
    } else {
        match turn % 3 {
            0 => {
                let first = (turn * LINES_READ + turn) % (LINES - LINES_READ) + 1;
                json!({"tool": "read_file", "path": "notes.txt", "start_line": first, "line_count": LINES_READ})
            }
            1 => json!({"tool": "list_files", "path": ".", "glob": format!("*{turn}*")}),
            _ => json!({"tool": "search_text", "pattern": format!("page {turn}5"), "path": null}),
        }
    };
    json!({"thought": "I look at what is there before I decide.", "action": action})
}

/// Ten that were not listed before; the request lists those that were.
fn features(request: &Value) -> Vec<Value> {
    let question: String = messages(request).filter_map(|message| message["content"].as_str()).collect();
    let is_new = |place: &usize| !question.contains(&described(*place));
    (1..).filter(is_new).take(10).map(feature).collect()
}

fn described(place: usize) -> String {
    format!("Page number {place} shows its own heading")
}

fn feature(place: usize) -> Value {
    json!({
        "category": "functional",
        "description": format!("{}.", described(place)),
        "steps": [format!("Open page {place}"), "Read its heading"],
    })
}

pub(crate) fn contract(request: &Value) -> &str {
    request["response_format"]["json_schema"]["name"].as_str().unwrap_or_default()
}

pub(crate) fn messages(request: &Value) -> impl Iterator<Item = &Value> {
    request["messages"].as_array().into_iter().flatten()
}

/// The smallest value of a schema, so that contracts that this model does not know are answered, too.
pub(crate) fn instance(schema: &Value) -> Value {
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(first) = schema[choice].as_array().and_then(|schemas| schemas.first()) {
            return instance(first);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("object") => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            properties
                .map(|(name, schema)| (name.clone(), instance(schema)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        Some("array") => json!([]),
        Some("string") => json!("docs"),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use nightforge_domain::contract::{
        CodingAction, Contract, FeatureBatch, FirstFile, ModeProbe, ProjectPlan,
    };
    use nightforge_llm::portable_schema;

    use super::*;

    fn request<T: Contract>(messages: &Value) -> Value {
        let schema = portable_schema::<T>().unwrap();
        json!({"messages": messages, "response_format": {"json_schema": {"name": T::NAME, "schema": schema}}})
    }

    fn valid<T: Contract>(messages: &Value) -> T {
        let text = answer(&request::<T>(messages));
        let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        read.check().unwrap();
        read
    }

    #[test]
    fn every_answer_is_valid() {
        valid::<ProjectPlan>(&json!([]));
        valid::<FirstFile>(&json!([]));
        valid::<ModeProbe>(&json!([]));
        let first = valid::<FeatureBatch>(&json!([])).features;
        let known: Vec<&str> = first.iter().map(|feature| feature.description.as_str()).collect();
        let next = valid::<FeatureBatch>(&json!([{"content": known.join("\n")}])).features;
        assert_eq!(next[0].description, "Page number 11 shows its own heading.");
    }

    #[test]
    fn a_session_repeats_nothing_and_ends() {
        let mut messages =
            vec![json!({"role": "system"}), json!({"role": "user", "content": "FEATURE: F001"})];
        let mut said = Vec::new();
        for number in 0..TURNS {
            let asked = json!(messages);
            assert_eq!(turn(&request::<CodingAction>(&asked)), Some(("FEATURE: F001".to_owned(), number)));
            said.push(valid::<CodingAction>(&asked).action);
            messages.push(json!({"role": "assistant"}));
            messages.push(json!({"role": "user", "content": "RESULT"}));
        }
        assert_eq!(said[TURNS - 1].tool(), "finish");
        for (place, action) in said.iter().enumerate() {
            assert!(!said[..place].contains(action), "{action:?} is said twice");
        }
    }
}

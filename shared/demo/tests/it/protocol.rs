//! What is wrong with a request is found, said and recorded; the request after it is answered.

use nightforge_demo::{DemoModel, DemoOptions};
use nightforge_domain::contract::{CodingAction, FeatureBatch, FirstFile, InitScript};
use serde_json::{Value, json};

use crate::client::{ask, assistant, http, request, send, session_start, system, user};

type Spoil = fn(&mut Value);

/// A change of a good request, and what the answer must then say.
const CASES: &[(&str, Spoil)] = &[
    ("`model` is missing", |body| remove(body, "model")),
    ("`model` is \"gpt-4\"", |body| body["model"] = json!("gpt-4")),
    ("`messages` is missing or empty", |body| body["messages"] = json!([])),
    ("`messages` is missing or empty", |body| remove(body, "messages")),
    ("messages[0]: role User where System must stand", |body| remove_message(body, 0)),
    ("messages[2]: role User where Assistant must stand", |body| remove_message(body, 2)),
    ("messages[1]: role System where User must stand", |body| body["messages"][1]["role"] = json!("system")),
    ("the last message is not from the user", |body| remove_message(body, 3)),
    ("messages[1]: role `tool` is not", |body| body["messages"][1]["role"] = json!("tool")),
    ("messages[1]: `role` is missing", |body| remove(&mut body["messages"][1], "role")),
    ("messages[3]: `content` is empty", |body| body["messages"][3]["content"] = json!(" \n")),
    ("messages[3]: `content` is missing", |body| body["messages"][3]["content"] = Value::Null),
    ("messages[2]: broken JSON in an assistant message", |body| {
        body["messages"][2]["content"] = json!("{\"thought\": \"I wou");
        body["messages"][3]["content"] = json!("Your answer was not accepted: it is no JSON.");
    }),
    ("messages[2]: an assistant message that is no valid CodingAction", |body| {
        body["messages"][2]["content"] = json!("Let me think.");
    }),
    ("messages[2]: an assistant message that is no valid CodingAction", |body| {
        body["messages"][2]["content"] = json!(r#"{"thought":"x","action":{"tool":"launch_rocket"}}"#);
    }),
    ("neither `response_format.json_schema` nor a passage", |body| remove(body, "response_format")),
    ("neither `response_format.json_schema` nor a passage", |body| {
        body["response_format"] = json!({"type": "json_object"});
    }),
    ("json_schema.name` is missing", |body| remove(json_schema(body), "name")),
    ("json_schema.strict` is not true", |body| remove(json_schema(body), "strict")),
    ("json_schema.schema` is missing", |body| remove(json_schema(body), "schema")),
    ("unknown contract `Poem`", |body| json_schema(body)["name"] = json!("Poem")),
    ("its fields are [\"thought\", \"action\"], the contract has", |body| {
        json_schema(body)["name"] = json!("InitScript");
    }),
    ("schema: `additionalProperties` is not false", |body| {
        remove(&mut json_schema(body)["schema"], "additionalProperties");
    }),
    ("schema: property `action` is not required", |body| {
        json_schema(body)["schema"]["required"] = json!(["thought"]);
    }),
    ("schema.action.anyOf[2]: property `path` is not required", |body| {
        json_schema(body)["schema"]["properties"]["action"]["anyOf"][2]["required"] =
            json!(["tool", "pattern"]);
    }),
    ("schema.thought: `pattern` is not portable", |body| {
        thought(body, json!({"type": "string", "pattern": "a"}));
    }),
    ("schema.thought: `default` is not portable", |body| {
        thought(body, json!({"type": "string", "default": ""}));
    }),
    ("schema.thought: `format` is not portable", |body| {
        thought(body, json!({"type": "string", "format": "uri"}));
    }),
    ("schema.thought: `minLength` is not portable", |body| {
        thought(body, json!({"type": "string", "minLength": 1}));
    }),
    ("schema.thought: `$ref` is not portable", |body| thought(body, json!({"$ref": "#/$defs/Thought"}))),
    ("schema.thought: `type` is a list", |body| thought(body, json!({"type": ["string", "null"]}))),
    ("schema.thought[]: `title` is not portable", |body| {
        thought(body, json!({"type": "array", "items": {"type": "string", "title": "T"}}));
    }),
    ("schema: `$schema` is not portable", |body| json_schema(body)["schema"]["$schema"] = json!("https://x")),
    ("schema: `title` is not portable", |body| json_schema(body)["schema"]["title"] = json!("CodingAction")),
    ("no JSON schema follows the passage", |body| {
        remove(body, "response_format");
        body["messages"][1]["content"] =
            json!("Answer with one JSON object of this schema, named CodingAction: soon");
    }),
    ("`max_tokens` is missing", |body| remove(body, "max_tokens")),
    ("`max_tokens` is missing or not a positive number", |body| body["max_tokens"] = json!(0)),
    ("`temperature` is missing", |body| remove(body, "temperature")),
    ("both `tools` and `response_format`", |body| body["tools"] = json!([{"type": "function"}])),
    ("`stream` without `stream_options.include_usage`", |body| remove(body, "stream_options")),
    ("`stream` is \"yes\"", |body| body["stream"] = json!("yes")),
    ("contains a time stamp (`2026-11-30`)", |body| {
        body["messages"][0]["content"] = json!("Today is 2026-11-30.");
    }),
    ("contains an id (`01hzy3v9k2m4n5p6q7r8s9t0va`)", |body| {
        body["messages"][0]["content"] = json!("You work on task 01hzy3v9k2m4n5p6q7r8s9t0va.");
    }),
    ("the system message has 8001 characters", |body| {
        body["messages"][0]["content"] = json!("x".repeat(8_001));
    }),
    ("no line `FEATURE: …`", |body| body["messages"][1]["content"] = json!("ATTEMPT: 1\nTEST FILE: a.py")),
    ("lacks the line `ATTEMPT: <number>`", |body| {
        body["messages"][1]["content"] = json!("FEATURE: F001\nTEST FILE: a.py");
    }),
    ("ATTEMPT is 0", |body| {
        body["messages"][1]["content"] = json!("FEATURE: F001\nATTEMPT: 0\nTEST FILE: a.py");
    }),
    ("no line `TEST FILE: …`", |body| body["messages"][1]["content"] = json!("FEATURE: F001\nATTEMPT: 1")),
    ("the script has no feature F099", |body| {
        body["messages"][1]["content"] = json!("FEATURE: F099\nATTEMPT: 1\nTEST FILE: a.py");
    }),
];

fn good() -> Value {
    let action = r#"{"thought":"I look.","action":{"tool":"list_files","path":".","glob":null}}"#;
    request::<CodingAction>(&[system(), session_start("F001", 1), assistant(action), user("README.md")])
}

fn remove(value: &mut Value, key: &str) {
    value.as_object_mut().unwrap().remove(key).expect(key);
}

fn remove_message(body: &mut Value, place: usize) {
    body["messages"].as_array_mut().unwrap().remove(place);
}

fn json_schema(body: &mut Value) -> &mut Value {
    &mut body["response_format"]["json_schema"]
}

fn thought(body: &mut Value, schema: Value) {
    json_schema(body)["schema"]["properties"]["thought"] = schema;
}

#[tokio::test]
async fn every_breach_is_found_said_and_recorded() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let http = http();
    for (expected, spoil) in CASES {
        let mut body = good();
        spoil(&mut body);
        let before = model.violations().len();
        let response = send(&http, &model, &body).await.unwrap();
        assert_eq!(response.status(), 400, "{expected}");
        let answer: Value = response.json().await.unwrap();
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "expected: {expected}\nsaid: {message}");
        let recorded = &model.violations()[before..];
        assert!(recorded.iter().any(|violation| violation.contains(expected)), "{recorded:?}");
        assert_eq!(model.requests().last(), Some(&body));
    }
    let before = model.violations().len();
    ask(&http, &model, &good()).await;
    assert_eq!(model.violations().len(), before, "a good request is no breach");
}

#[tokio::test]
async fn a_body_that_is_no_json_object_is_refused() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let http = http();
    let cases: [(&[u8], &str); 3] =
        [(b"{\"model\":", "not JSON"), (b"\xff\xfe", "not UTF-8"), (b"[1]", "not a JSON object")];
    for (body, expected) in cases {
        let url = format!("{}/chat/completions", model.url());
        let response = http.post(url).body(body.to_vec()).send().await.unwrap();
        assert_eq!(response.status(), 400);
        assert!(response.text().await.unwrap().contains(expected));
        assert!(model.violations().last().unwrap().contains(expected));
    }
}

#[tokio::test]
async fn questions_beyond_the_script_are_refused() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let http = http();
    let all_files = "FILES SO FAR: .gitignore, README.md, tests/__init__.py, kanban/app.py";
    let cases = [
        (request::<InitScript>(&[system(), user("no objective")]), "no line `OBJECTIVE:`"),
        (
            request::<FeatureBatch>(&[system(), user("OBJECTIVE: x")]),
            "lacks the line `FEATURES SO FAR: <number>`",
        ),
        (
            request::<FeatureBatch>(&[
                system(),
                user("OBJECTIVE: x\nFEATURES SO FAR: 10\nFEATURES WANTED: 5"),
            ]),
            "the script has 10 features",
        ),
        (
            request::<FeatureBatch>(&[
                system(),
                user("OBJECTIVE: x\nFEATURES SO FAR: 0\nFEATURES WANTED: no more"),
            ]),
            "holds no number",
        ),
        (
            request::<FirstFile>(&[system(), user(&format!("OBJECTIVE: x\n{all_files}"))]),
            "no first file beyond",
        ),
        (request::<FirstFile>(&[system(), user("OBJECTIVE: x")]), "no line `FILES SO FAR: …`"),
    ];
    for (body, expected) in cases {
        let response = send(&http, &model, &body).await.unwrap();
        assert_eq!(response.status(), 400, "{expected}");
        let said = response.text().await.unwrap();
        assert!(said.contains(expected), "expected: {expected}\nsaid: {said}");
    }
}

#[tokio::test]
async fn the_position_counts_actions_only_and_the_script_has_an_end() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let http = http();
    let mut messages = vec![system(), session_start("F009", 7)];
    let first = ask(&http, &model, &request::<CodingAction>(&messages)).await;
    // Re-asks do not move the script, whether the answer could be shown or not.
    for unfit in [r#"{"thought":"x","action":{"tool":"launch_rocket"}}"#, "(an answer that can't be used)"] {
        let reask = user("Your answer was not accepted: no such tool.\n\nAnswer again.");
        let asked_again =
            [messages.as_slice(), &[assistant(unfit), reask.clone(), assistant(unfit), reask]].concat();
        assert_eq!(ask(&http, &model, &request::<CodingAction>(&asked_again)).await, first);
    }
    // An unexpected error is noticed, also after a re-ask.
    messages.extend([assistant(&first), user("ERROR: the disk is full")]);
    let second = ask(&http, &model, &request::<CodingAction>(&messages)).await;
    assert!(second.contains("the disk is full"), "{second}");
    let mut asked_again = messages.clone();
    asked_again.extend([assistant("(nothing)"), user("Your answer was not accepted: it was empty.")]);
    assert_eq!(ask(&http, &model, &request::<CodingAction>(&asked_again)).await, second);
    // A gate that refuses everything ends in an honest `blocked`.
    for _ in 0..20 {
        messages.extend([assistant(&first), user("REFUSED: the test fails")]);
    }
    let last = ask(&http, &model, &request::<CodingAction>(&messages)).await;
    assert!(last.contains(r#""outcome":"blocked""#) && last.contains("REFUSED: the test fails"), "{last}");
}

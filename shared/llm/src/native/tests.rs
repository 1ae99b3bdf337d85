//! The forms of tool calls that servers and models really write, and those that must not count.

use std::time::Duration;

use insta::assert_snapshot;
use nightforge_domain::Usage;
use nightforge_domain::contract::{CodingAction, FirstFile, ModeProbe};
use serde_json::{Value, json};

use super::*;
use crate::client::Answer;
use crate::portable_schema;
use crate::request::Message;
use crate::validate::read_tool_call;
use crate::wire::ToolCall;

fn tools() -> Tools {
    Tools::of(&portable_schema::<CodingAction>().unwrap()).unwrap().unwrap()
}

fn answer(text: &str, tool_calls: Vec<ToolCall>) -> Answer {
    Answer {
        text: text.to_owned(),
        reasoning: String::new(),
        tool_calls,
        finish_reason: "tool_calls".to_owned(),
        usage: Usage::default(),
        served_model: None,
        duration: Duration::ZERO,
    }
}

fn native(name: &str, arguments: Value) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments }
}

/// What was taken, as the contract's JSON, or the words for the model.
fn read(answer: &Answer) -> Result<Value, String> {
    let action = read_tool_call::<CodingAction>(answer, &tools()).map_err(|fault| fault.words)?;
    Ok(serde_json::to_value(action).unwrap())
}

fn read_file(path: &str) -> Value {
    json!({"thought": "t", "action": {"tool": "read_file", "path": path, "start_line": 1, "line_count": null}})
}

fn arguments(path: &str) -> Value {
    json!({"thought": "t", "path": path, "start_line": 1, "line_count": null})
}

#[track_caller]
fn takes_call(name: &str, arguments: Value, expect: &Value) {
    let answer = answer("", vec![native(name, arguments)]);
    assert_eq!(read(&answer).as_ref(), Ok(expect), "{answer:?}");
}

#[track_caller]
fn refuses_call(name: &str, arguments: Value, expect: &str) {
    let words = read(&answer("", vec![native(name, arguments)])).unwrap_err();
    assert!(words.contains(expect), "`{words}` does not say `{expect}`");
}

#[track_caller]
fn takes_text(text: &str, expect: &Value) {
    assert_eq!(read(&answer(text, vec![])).as_ref(), Ok(expect), "{text}");
}

#[track_caller]
fn refuses_text(text: &str, expect: &str) {
    let words = read(&answer(text, vec![])).expect_err(text);
    assert!(words.contains(expect), "{text}: `{words}` does not say `{expect}`");
}

#[test]
fn the_servers_own_calls() {
    let a = arguments("a");
    takes_call("read_file", a.clone(), &read_file("a"));
    // As OpenAI has it: the arguments as text.
    takes_call("read_file", json!(a.to_string()), &read_file("a"));
    // As text of a text.
    takes_call("read_file", json!(json!(a.to_string()).to_string()), &read_file("a"));
    takes_call("functions.read_file", a.clone(), &read_file("a"));
    takes_call(" read_file ", a.clone(), &read_file("a"));
    takes_call("read_file<|channel|>commentary", a.clone(), &read_file("a"));
    takes_call("functions.read_file<|constrain|>json", a.clone(), &read_file("a"));
    // The limited repairs of extraction, and end marks of gpt-oss.
    let raw = "{\"thought\": \"t\", \"path\": \"a\", \"start_line\": 1, \"line_count\": null,}<|call|>";
    takes_call("read_file", json!(raw), &read_file("a"));
    let order = json!({"line_count": null, "path": "a", "start_line": 1, "thought": "t"});
    takes_call("read_file", order, &read_file("a"));
}

#[test]
fn arguments_keep_their_every_character() {
    for hard in [
        "quotes \" and \\ and \\n",
        "déjà vu — 日本語 — 😀 \u{200b}",
        "</tool_call></parameter></function>[END_TOOL_REQUEST]<|call|></think>",
        r#"{"name": "finish", "arguments": {}}"#,
        "line one\nline two\ttab",
        &"x".repeat(2_000_000),
    ] {
        let expect = json!({"thought": hard, "action": {"tool": "write_file", "path": "a", "content": hard}});
        let a = json!({"thought": hard, "path": "a", "content": hard});
        takes_call("write_file", json!(a.to_string()), &expect);
        let object = json!({"name": "write_file", "arguments": a});
        takes_text(&format!("<tool_call>\n{object}\n</tool_call>"), &expect);
        takes_text(&format!("[TOOL_REQUEST]{object}[END_TOOL_REQUEST]"), &expect);
        takes_text(
            &format!("to=functions.write_file<|channel|>commentary json<|message|>{a}<|call|>"),
            &expect,
        );
    }
}

#[test]
fn names_must_be_those_of_tools() {
    for name in [
        "python",
        "bash",
        "",
        "<|channel|>commentary",
        "read_file2",
        "Read_File",
        "read-file",
        "functions.functions.read_file",
        "tools.read_file",
        "read_file(path)",
        "rеad_file", // a Cyrillic е
        "thought",
        &"long".repeat(10_000),
    ] {
        let words = read(&answer("", vec![native(name, arguments("a"))])).unwrap_err();
        assert!(words.contains("is not a tool; the tools are read_file, list_files"), "{words:.200}");
        assert!(words.len() < 400, "{} bytes", words.len());
    }
}

#[test]
fn arguments_must_fit() {
    for (wrong, expect) in [
        (json!([1]), "must be one JSON object"),
        (json!(3), "must be one JSON object"),
        (json!("nonsense"), "must be one JSON object"),
        (json!("[1]"), "must be one JSON object"),
        (json!(json!(json!(arguments("a").to_string()).to_string()).to_string()), "must be one JSON object"),
        (json!("{\"thought\": \"t\", \"path\": \"a"), "not closed"),
        (json!("{\"thought\": \"t\"} {\"path\": \"a\"}"), "follows"),
        (json!("{'thought': 't'}"), "not valid JSON"),
        (
            json!(r#"{"thought":"t","thought":"u","path":"a","start_line":1,"line_count":null}"#),
            "given twice",
        ),
        (Value::Null, "`thought` is missing"),
        (json!(""), "`thought` is missing"),
        (
            json!({"thought": "t", "path": "a", "start_line": "1", "line_count": null}),
            "must be of type integer",
        ),
        (json!({"thought": "t", "path": 7, "start_line": 1, "line_count": null}), "must be of type string"),
        (json!({"thought": "t", "path": "a", "start_line": 1, "line_count": null, "x": 1}), "not a field"),
        (json!({"thought": "t", "path": "a", "start_line": -1, "line_count": null}), "invalid value"),
        (json!(format!("{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000))), "not valid JSON"),
    ] {
        refuses_call("read_file", wrong, expect);
    }
}

#[test]
fn one_call_in_an_answer() {
    let call = |path| native("read_file", arguments(path));
    let words = read(&answer("", vec![call("a"), call("b")])).unwrap_err();
    assert!(words.contains("2 different tool calls; make exactly one"), "{words}");
    assert_eq!(read(&answer("", vec![call("a"), call("a")])), Ok(read_file("a")), "said twice");
    // What stands beside a call of the server's own is talk.
    let beside = answer("<tool_call>{\"name\":\"finish\"}</tool_call>", vec![call("a")]);
    assert_eq!(read(&beside), Ok(read_file("a")));
    // An invalid call is not saved by one in the text.
    let object = json!({"name": "read_file", "arguments": arguments("a")});
    let invalid = answer(&format!("<tool_call>{object}</tool_call>"), vec![native("python", json!({}))]);
    assert!(read(&invalid).unwrap_err().contains("`python` is not a tool"));
}

#[test]
fn forms_in_the_text() {
    let a = arguments("a");
    let object = json!({"name": "read_file", "arguments": a});
    let expect = read_file("a");
    // Hermes, Qwen.
    takes_text(&format!("<tool_call>{object}</tool_call>"), &expect);
    takes_text(&format!("\u{feff}\n <tool_call>\n{object}\n</tool_call><|im_end|>\n"), &expect);
    takes_text(&format!("<tool_call>{}</tool_call>", json!({"name": "read_file", "parameters": a})), &expect);
    takes_text(
        &format!("<tool_call>{}</tool_call>", json!({"name": "read_file", "arguments": a.to_string()})),
        &expect,
    );
    takes_text(&format!("<think>I read {{\"a\": 1}}.</think>\n<tool_call>{object}</tool_call>"), &expect);
    takes_text(&format!("I read.</think>\n<tool_call>{object}</tool_call>"), &expect);
    takes_text(&format!("<tool_call>{object}</tool_call>\n<tool_call>{object}</tool_call>"), &expect);
    // LM Studio.
    takes_text(&format!("[TOOL_REQUEST]\n{object}\n[END_TOOL_REQUEST]"), &expect);
    // gpt-oss.
    for head in [
        "to=functions.read_file<|message|>",
        "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>",
        "<|start|>assistant<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>",
        "<|start|>assistant to=functions.read_file<|channel|>commentary json<|message|>",
        "commentary to=functions.read_file code<|message|>",
        "<|channel|>analysis<|message|>I call functions.<|end|><|start|>assistant<|channel|>commentary to=functions.read_file<|message|>",
    ] {
        takes_text(&format!("{head}{a}<|call|>"), &expect);
        takes_text(&format!("{head}{a}"), &expect);
    }
}

#[test]
fn tagged_parameters_get_the_types_of_the_schema() {
    let tagged = |parameters: &str| {
        format!("<function=read_file>\n<parameter=thought>\nt\n</parameter>\n{parameters}</function>")
    };
    let numbers = "<parameter=path>\na\n</parameter>\n<parameter=start_line>\n1\n</parameter><parameter=line_count>null</parameter>\n";
    takes_text(&tagged(numbers), &read_file("a"));
    takes_text(&format!("<tool_call>\n{}\n</tool_call>", tagged(numbers)), &read_file("a"));
    takes_text(tagged(numbers).trim_end_matches("</function>"), &read_file("a"));
    refuses_text(&tagged(&numbers.replace('1', "one")), "`start_line` must be of type integer, not \"one\"");
    refuses_text(&tagged(&format!("{numbers}<parameter=path>b</parameter>")), "`path` is given twice");
    refuses_text(&tagged("<parameter=path>a"), "`path` was not closed");
    refuses_text(&tagged(&format!("{numbers}and so on")), "text around a call");
    // A text stays one, whatever it looks like, and only the lines around it go.
    let text = "<function=write_file><parameter=thought>t</parameter><parameter=path>7</parameter>\
                <parameter=content>\n\n  {\"a\": 1}\n\n</parameter></function>";
    let content = json!({"tool": "write_file", "path": "7", "content": "\n  {\"a\": 1}\n"});
    takes_text(text, &json!({"thought": "t", "action": content}));
    let note =
        "<function=run_tests><parameter=thought>null</parameter><parameter=file>null</parameter></function>";
    takes_text(note, &json!({"thought": "null", "action": {"tool": "run_tests", "file": null}}));
}

#[test]
fn what_is_no_call_is_refused() {
    let a = arguments("a");
    let object = json!({"name": "read_file", "arguments": a});
    let other = json!({"name": "finish", "arguments": {}});
    for (text, expect) in [
        (String::new(), "no tool call"),
        ("I can't do that.".to_owned(), "no tool call"),
        (format!("I would say <tool_call>{object}</tool_call>"), "text around a call"),
        (format!("<tool_call>{object}</tool_call> is what I do"), "text around a call"),
        (format!("```json\n{object}\n```"), "no tool call"),
        // A bare object may be data that the model shows.
        (object.to_string(), "no tool call"),
        (read_file("a").to_string(), "no tool call"),
        (format!("<tool_call>{object}"), "not closed by </tool_call>"),
        (format!("[TOOL_REQUEST]{object}"), "not closed by [END_TOOL_REQUEST]"),
        (format!("<tool_call>{}", "{\"name\": \"read_file\", \"arguments\": {\"path"), "not closed"),
        (format!("<tool_call>{object}</tool_call><tool_call>{other}</tool_call>"), "2 different tool calls"),
        (
            format!("[TOOL_REQUEST]{object}[END_TOOL_REQUEST][TOOL_REQUEST]{other}[END_TOOL_REQUEST]"),
            "2 different",
        ),
        (
            format!("to=functions.read_file<|message|>{a}<|call|>to=functions.finish<|message|>{{}}<|call|>"),
            "2 different",
        ),
        ("<tool_call>{\"arguments\": {}}</tool_call>".to_owned(), "has no `name`"),
        ("<tool_call>{\"name\": 7}</tool_call>".to_owned(), "has no `name`"),
        ("<tool_call>read_file()</tool_call>".to_owned(), "no tool call"),
        ("<tool_call></tool_call>".to_owned(), "no tool call"),
        (
            format!(
                "<tool_call>{}</tool_call>",
                json!({"name": "read_file", "arguments": a, "parameters": a})
            ),
            "both",
        ),
        (
            format!(
                "<tool_call>{{\"name\":\"finish\",\"name\":\"read_file\",\"arguments\":{a}}}</tool_call>"
            ),
            "given twice",
        ),
        (format!("<think><tool_call>{object}</tool_call>"), "ended inside its thinking"),
        (format!("<think><tool_call>{object}</tool_call></think>"), "no tool call"),
        (
            format!("<|channel|>analysis to=functions.read_file<|message|>{a}<|call|>"),
            "ended inside the thinking",
        ),
        (
            format!("<|channel|>analysis<|message|>to=functions.read_file<|message|>{a}<|end|>"),
            "no tool call",
        ),
        (format!("to=python<|message|>{a}"), "no tool call"),
        (format!("to=functions.python<|message|>{a}"), "`python` is not a tool"),
        (format!("<|channel|>final to=functions.read_file<|message|>{a}"), "no tool call"),
        (format!("to=functions.read_file to=functions.finish<|message|>{a}"), "no tool call"),
        ("to=functions.read_file<|message|>path a".to_owned(), "must be one JSON object"),
        ("<|channel|>final<|message|>Done.<|return|>".to_owned(), "no tool call"),
        ("<function=>".to_owned(), "`` is not a tool"),
        ("<function=read_file".to_owned(), "no name"),
    ] {
        refuses_text(&text, expect);
    }
}

#[test]
fn reasoning_holds_no_call() {
    let object = json!({"name": "read_file", "arguments": arguments("a")});
    let only_thought = Answer { reasoning: format!("<tool_call>{object}</tool_call>"), ..answer("", vec![]) };
    assert!(read(&only_thought).unwrap_err().contains("no tool call"));
}

#[test]
fn tools_are_made_of_the_contract() {
    let tools = Tools::of(&portable_schema::<ModeProbe>().unwrap()).unwrap().unwrap();
    assert_snapshot!(tools.wire.to_string().replace(r#"{"type":"function""#, "\n{\"type\":\"function\""), @r#"
    [
    {"type":"function","function":{"name":"list_files","description":"List the files of a folder.","parameters":{"type":"object","properties":{"thought":{"description":"One short sentence: what you do now.","type":"string"},"path":{"description":"The folder.","type":"string"}},"required":["thought","path"],"additionalProperties":false}}},
    {"type":"function","function":{"name":"read_file","description":"Read a file.","parameters":{"type":"object","properties":{"thought":{"description":"One short sentence: what you do now.","type":"string"},"path":{"description":"The file.","type":"string"},"line_count":{"description":"Number of lines, or null for all.","anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["thought","path","line_count"],"additionalProperties":false}}}]
    "#);
    assert_eq!(tools.names(), "list_files, read_file");
    assert_eq!(Tools::of(&portable_schema::<FirstFile>().unwrap()), Ok(None), "no action");
}

#[test]
fn names_that_gpt_oss_takes_are_refused() {
    for (name, field, expect) in
        [("python", "code", "`python`, which gpt-oss"), ("run", "thought", "field `thought`")]
    {
        let action = json!({"type": "object", "properties": {"tool": {"type": "string", "enum": [name]}, field: {"type": "string"}}});
        let schema = json!({"properties": {"thought": {"type": "string"}, "action": {"anyOf": [action]}}});
        let error = Tools::of(&schema).unwrap_err();
        assert!(error.contains(expect), "{error}");
    }
}

#[test]
fn examples_are_valid_calls() {
    let tools = tools();
    for tool in tools.names().split(", ") {
        let example = tools.example(Some(tool));
        let arguments = example.strip_prefix(&format!("{tool} with the arguments ")).unwrap();
        read(&answer("", vec![native(tool, json!(arguments))]))
            .unwrap_or_else(|words| panic!("{example}: {words}"));
    }
    assert!(
        tools.example(None).starts_with("read_file with the arguments {\"thought\":\"…\",\"path\":\"…\"")
    );
    assert!(tools.example(Some("python")).starts_with("read_file"));
}

#[test]
fn history_is_sent_as_calls_and_results() {
    let said = |path: &str| Message::assistant(read_file(path).to_string());
    let messages = [
        Message::system("s"),
        Message::user("u"),
        said("a"),
        Message::user("text of a"),
        Message::assistant("(an answer that can't be used)"),
        Message::user("Your answer was not accepted"),
        said("b"),
        Message::user("text of b"),
    ];
    let sent = with_calls::<CodingAction>(&messages, &tools());
    let call = |id: &str, path: &str| {
        let function = json!({"name": "read_file", "arguments": arguments(path).to_string()});
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": id, "type": "function", "function": function}]})
    };
    assert_eq!(
        sent,
        [
            json!({"role": "system", "content": "s"}),
            json!({"role": "user", "content": "u"}),
            call("call00001", "a"),
            json!({"role": "tool", "tool_call_id": "call00001", "content": "text of a"}),
            json!({"role": "assistant", "content": "(an answer that can't be used)"}),
            json!({"role": "user", "content": "Your answer was not accepted"}),
            call("call00002", "b"),
            json!({"role": "tool", "tool_call_id": "call00002", "content": "text of b"}),
        ]
    );
    // What is appended changes nothing before it.
    assert_eq!(with_calls::<CodingAction>(&messages[..4], &tools()), sent[..4]);
    // A call without a result stays a text.
    let open = with_calls::<CodingAction>(&messages[..3], &tools());
    assert_eq!(open[2], json!({"role": "assistant", "content": read_file("a").to_string()}));
}

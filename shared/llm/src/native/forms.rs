//! Tool calls that a server left in the text. Each form counts only where it is the whole text: a call inside
//! prose may be one that the model talks about.

use serde_json::Value;

use super::call::{SaidArguments, SaidCall, unique_fields};
use crate::extract::{after_thinking, leading_object};

const NO_CALL: &str = "there was no tool call in it; text around a call is not allowed";

/// Every call of a text that is nothing but calls. The error is for the model.
pub(super) fn read(text: &str) -> Result<Vec<SaidCall>, String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let text = if begins_with_thinking(text) {
        after_thinking(text).map_err(|error| error.to_string())?
    } else {
        text
    };
    let mut rest = after_analysis(text.trim())?.trim();
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let (call, after) = one(rest)?;
        calls.push(call);
        rest = without_marks(after);
    }
    Ok(calls)
}

/// Whether the text begins with thinking, whose opening tag may stand in the prompt. Behind the begin of a call
/// such tags are part of its arguments.
fn begins_with_thinking(text: &str) -> bool {
    let first = |marks: &[&str]| marks.iter().filter_map(|mark| text.find(mark)).min();
    match (first(&["</think>"]), first(&["<tool_call>", "<function=", "[TOOL_REQUEST]", "<|message|>"])) {
        _ if text.starts_with("<think>") => true,
        (Some(end), Some(call)) => end < call,
        (end, None) => end.is_some(),
        (None, Some(_)) => false,
    }
}

/// The call that a text begins with, and what follows it.
fn one(text: &str) -> Result<(SaidCall, &str), String> {
    if let Some(body) = text.strip_prefix("<tool_call>") {
        let body = body.trim_start();
        if body.starts_with("<function=") {
            let (call, rest) = tagged(body)?;
            return Ok((call, closed(rest, "</tool_call>")?));
        }
        let (call, rest) = named_object(body)?;
        Ok((call, closed(rest, "</tool_call>")?))
    } else if text.starts_with("<function=") {
        tagged(text)
    } else if let Some(body) = text.strip_prefix("[TOOL_REQUEST]") {
        let (call, rest) = named_object(body.trim_start())?;
        Ok((call, closed(rest, "[END_TOOL_REQUEST]")?))
    } else if text.contains("<|message|>") {
        harmony(text)
    } else {
        Err(NO_CALL.to_owned())
    }
}

fn closed<'a>(text: &'a str, mark: &str) -> Result<&'a str, String> {
    text.trim_start().strip_prefix(mark).ok_or_else(|| format!("the tool call was not closed by {mark}"))
}

/// `{"name": …, "arguments": …}`; Llama says `parameters`.
fn named_object(text: &str) -> Result<(SaidCall, &str), String> {
    if !text.starts_with('{') {
        return Err(NO_CALL.to_owned());
    }
    let (object, rest) = leading_object(text).map_err(|error| error.to_string())?;
    let fields = unique_fields(&object.json)?;
    let name = fields.get("name").and_then(Value::as_str).ok_or("the tool call has no `name`")?;
    let arguments = match (fields.get("arguments"), fields.get("parameters")) {
        (Some(_), Some(_)) => return Err("the tool call has both `arguments` and `parameters`".to_owned()),
        (Some(arguments), None) | (None, Some(arguments)) => arguments.clone(),
        (None, None) => Value::Null,
    };
    Ok((SaidCall { name: name.to_owned(), arguments: SaidArguments::Json(arguments) }, rest))
}

/// `<function=N><parameter=K>V</parameter>…`, with or without `</function>`.
fn tagged(text: &str) -> Result<(SaidCall, &str), String> {
    let head = text.strip_prefix("<function=").and_then(|text| text.split_once('>'));
    let (name, mut rest) = head.ok_or("the tool call has no name")?;
    let mut texts = Vec::new();
    while let Some(parameter) = rest.trim_start().strip_prefix("<parameter=") {
        let (key, value) = parameter.split_once('>').ok_or("a parameter has no name")?;
        let (value, after) = value
            .split_once("</parameter>")
            .ok_or_else(|| format!("the parameter `{key}` was not closed"))?;
        // The format puts each value on lines of its own.
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        texts.push((key.trim().to_owned(), value.to_owned()));
        rest = after;
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("</function>").unwrap_or(rest);
    Ok((SaidCall { name: name.trim().to_owned(), arguments: SaidArguments::Texts(texts) }, rest))
}

/// `to=functions.N … <|message|>{…}`.
fn harmony(text: &str) -> Result<(SaidCall, &str), String> {
    let (head, body) = text.split_once("<|message|>").ok_or(NO_CALL)?;
    let mut name = None;
    for word in words_of(head) {
        match word.strip_prefix("to=functions.") {
            Some(tool) if name.is_none() => name = Some(tool.to_owned()),
            None if matches!(word.as_str(), "assistant" | "commentary" | "json" | "code") => {}
            _ => return Err(NO_CALL.to_owned()),
        }
    }
    let name = name.ok_or(NO_CALL)?;
    let body = body.trim_start();
    if !body.starts_with('{') {
        return Err("the tool call's message must be one JSON object".to_owned());
    }
    let (object, rest) = leading_object(body).map_err(|error| error.to_string())?;
    // As text, so that a field given twice is found.
    let arguments = SaidArguments::Json(Value::String(object.json));
    Ok((SaidCall { name, arguments }, rest))
}

/// The words of a harmony header without its `<|…|>` marks.
fn words_of(head: &str) -> Vec<String> {
    let mut plain = String::with_capacity(head.len());
    let mut rest = head;
    while let Some((before, mark)) = rest.split_once("<|") {
        plain.push_str(before);
        plain.push(' ');
        rest = mark.split_once("|>").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain.split_whitespace().map(str::to_owned).collect()
}

/// The text behind harmony's thinking. A call in there is thought, not made.
fn after_analysis(text: &str) -> Result<&str, String> {
    let mut rest = text;
    loop {
        let head = rest.strip_prefix("<|start|>assistant").unwrap_or(rest);
        let Some(thinking) = head.strip_prefix("<|channel|>analysis") else { return Ok(rest) };
        rest = thinking
            .split_once("<|end|>")
            .ok_or("it ended inside the thinking, before any tool call")?
            .1
            .trim_start();
    }
}

/// The text without end marks such as `<|call|>` before what follows.
pub(super) fn without_marks(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(mark) = rest.strip_prefix("<|") {
        match mark.split_once("|>") {
            // These begin something.
            Some(("start" | "channel" | "message" | "constrain", _)) | None => break,
            Some((name, after)) if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                rest = after.trim_start();
            }
            Some(_) => break,
        }
    }
    rest
}

//! Takes the one JSON object out of a model's text. Repairs are limited to what has one reading only:
//! trailing commas, comments, raw control characters in strings, stray closers. Nothing is guessed.

use serde_json::Value;

/// The object that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// Its text after the repairs; valid JSON.
    pub json: String,
    /// Its value.
    pub value: Value,
}

/// Why no object was taken. The words are for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// There is no object.
    #[error("there was no JSON object in the answer")]
    None,
    /// The thinking never ended.
    #[error("the answer ended inside its thinking, before any JSON object")]
    OnlyThinking,
    /// An object has no end.
    #[error("the JSON object was not closed")]
    Unclosed,
    /// An object is not JSON, also after the repairs.
    #[error("the answer was not valid JSON: {0}")]
    Invalid(String),
    /// There are several, and they differ.
    #[error("the answer held different JSON objects; give exactly one")]
    Ambiguous,
}

/// Takes the one object out of `text`.
pub fn extract(text: &str) -> Result<Extracted, ExtractError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
        return Ok(Extracted { json: text.to_owned(), value });
    }
    let text = after_thinking(text)?;
    let mut found: Option<Extracted> = None;
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let group = Group::read(&rest[start..])?;
        rest = &rest[start + group.length..];
        match serde_json::from_str::<Value>(&group.repaired) {
            Ok(value) if group.is_json_like => match &found {
                Some(before) if before.value != value => return Err(ExtractError::Ambiguous),
                _ => found = Some(Extracted { json: group.repaired, value }),
            },
            // Braces in prose, such as `{files}` and `{}`.
            _ if !group.is_json_like => {}
            Err(error) => return Err(ExtractError::Invalid(error.to_string())),
            Ok(_) => {}
        }
    }
    found.ok_or(ExtractError::None)
}

/// The object that `text` begins with, and what follows it. `text` begins with `{`.
pub(crate) fn leading_object(text: &str) -> Result<(Extracted, &str), ExtractError> {
    let group = Group::read(text)?;
    let value =
        serde_json::from_str(&group.repaired).map_err(|error| ExtractError::Invalid(error.to_string()))?;
    Ok((Extracted { json: group.repaired, value }, &text[group.length..]))
}

/// The text behind a `<think>` block at the start. Templates often write the opening tag into the prompt, so
/// the closing one may stand alone. Tags further in belong to the answer.
pub(crate) fn after_thinking(text: &str) -> Result<&str, ExtractError> {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    match (text.strip_prefix(OPEN), text.find(CLOSE)) {
        (Some(_), None) => Err(ExtractError::OnlyThinking),
        (Some(_), Some(at)) => Ok(&text[at + CLOSE.len()..]),
        (None, Some(at)) if !text.starts_with(['{', '[', '`']) => Ok(&text[at + CLOSE.len()..]),
        _ => Ok(text),
    }
}

/// One balanced group of braces.
struct Group {
    /// Bytes of the text that it takes.
    length: usize,
    repaired: String,
    /// Holds a colon or a quote outside of its strings, so it was meant as JSON.
    is_json_like: bool,
}

impl Group {
    /// Reads the group that `text` begins with.
    fn read(text: &str) -> Result<Self, ExtractError> {
        let mut repaired = String::with_capacity(text.len());
        let mut open: Vec<char> = Vec::new();
        let mut is_json_like = false;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    is_json_like = true;
                    repaired.push('"');
                    read_string(&mut chars, &mut repaired)?;
                }
                '/' if text[at..].starts_with("//") => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
                '/' if text[at..].starts_with("/*") => {
                    let length = text[at..].find("*/").ok_or(ExtractError::Unclosed)? + 2;
                    while chars.next_if(|(next, _)| *next < at + length).is_some() {}
                }
                '{' | '[' => {
                    open.push(if c == '{' { '}' } else { ']' });
                    repaired.push(c);
                }
                '}' | ']' if open.last() == Some(&c) => {
                    open.pop();
                    drop_trailing_comma(&mut repaired);
                    repaired.push(c);
                    if open.is_empty() {
                        return Ok(Self { length: at + 1, repaired, is_json_like });
                    }
                }
                // Closes something further out: a closer is missing before it, and where is a guess.
                '}' | ']' if open.contains(&c) => {
                    return Err(ExtractError::Invalid(format!("`{c}` where another bracket is open")));
                }
                // Closes nothing.
                '}' | ']' => {}
                _ => {
                    is_json_like |= c == ':';
                    repaired.push(c);
                }
            }
        }
        Err(ExtractError::Unclosed)
    }
}

/// Copies a string to its closing quote, which is copied too.
fn read_string(
    chars: &mut impl Iterator<Item = (usize, char)>,
    repaired: &mut String,
) -> Result<(), ExtractError> {
    while let Some((_, c)) = chars.next() {
        match c {
            '"' => {
                repaired.push('"');
                return Ok(());
            }
            '\\' => {
                repaired.push('\\');
                let (_, escaped) = chars.next().ok_or(ExtractError::Unclosed)?;
                repaired.push(escaped);
            }
            '\n' => repaired.push_str("\\n"),
            '\r' => repaired.push_str("\\r"),
            '\t' => repaired.push_str("\\t"),
            c if c < ' ' => repaired.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => repaired.push(c),
        }
    }
    Err(ExtractError::Unclosed)
}

fn drop_trailing_comma(repaired: &mut String) {
    let kept = repaired.trim_end().len();
    // `{,}` has no value before its comma and stays wrong.
    if repaired[..kept].ends_with(',') && !repaired[..kept - 1].trim_end().ends_with(['{', '[', ',']) {
        repaired.truncate(kept - 1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_case_of_real_models() {
        let mut count = 0;
        for line in include_str!("../cases/json_extraction.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let found = extract(case["text"].as_str().unwrap()).map_or(Value::Null, |found| found.value);
            assert_eq!(found, case["expect"], "{line}");
            count += 1;
        }
        assert!(count >= 12, "the case file was cut");
    }

    #[track_caller]
    fn takes(text: &str, expect: &Value) {
        let found = extract(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(&found.value, expect, "{text}");
        assert_eq!(serde_json::from_str::<Value>(&found.json).unwrap(), *expect, "{text}");
    }

    #[track_caller]
    fn refuses(text: &str, expect: &ExtractError) {
        assert_eq!(extract(text).as_ref(), Err(expect), "{text}");
    }

    #[test]
    fn strings_are_left_alone() {
        let tricky = json!({"a": "</think> // no comment, {\"b\": 1,} <|end|> ```", "b": "}]\\"});
        takes(&tricky.to_string(), &tricky);
        takes(
            &format!("Here: {tricky} <|call|>").replace("</think>", ""),
            &json!({"a": " // no comment, {\"b\": 1,} <|end|> ```", "b": "}]\\"}),
        );
    }

    #[test]
    fn limited_repairs() {
        takes("\u{feff}{\"a\":1}", &json!({"a": 1}));
        takes(r#"{"a":[1,2,],"b":{"c":1, /* x */ },}"#, &json!({"a": [1, 2], "b": {"c": 1}}));
        takes("{\"a\":\"x\ty\r\u{1}\"}", &json!({"a": "x\ty\r\u{1}"}));
        takes(r#"{"a":1}}"#, &json!({"a": 1}));
        takes(r#"{"a":{"b":1}]}"#, &json!({"a": {"b": 1}}));
        takes(r#"{"a":1}{"a":1}"#, &json!({"a": 1}));
        takes(r#"[TOOL_REQUEST]{"a":1}[END_TOOL_REQUEST]"#, &json!({"a": 1}));
        takes(r#"Replace {files} and {} by: {"a":"{id}"}"#, &json!({"a": "{id}"}));
        takes("thoughts {\"a\":2}</think>\n{\"a\":1}", &json!({"a": 1}));
    }

    #[test]
    fn nothing_is_guessed() {
        refuses("<think>{\"a\":1}", &ExtractError::OnlyThinking);
        refuses(r#"{"a":1} {"b":"#, &ExtractError::Unclosed);
        refuses(r#"{"a":"x"#, &ExtractError::Unclosed);
        refuses(r#"{"a":1 /* x"#, &ExtractError::Unclosed);
        refuses(r#"{"a":1}, or {"a":2}"#, &ExtractError::Ambiguous);
        for invalid in [
            r#"{"a":[1,2}"#,
            r#"{a:1}"#,
            r#"{'a':1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":,}"#,
            r#"{"a":True}"#,
            r#"{"a":[,]}"#,
        ] {
            assert!(
                matches!(extract(invalid), Err(ExtractError::Invalid(_))),
                "{invalid}: {:?}",
                extract(invalid)
            );
        }
        refuses("{,}", &ExtractError::None);
        refuses("[1, 2]", &ExtractError::None);
        takes("{}", &json!({}));
    }

    #[test]
    fn deep_nesting_is_refused_not_overflown() {
        let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        assert!(matches!(extract(&deep), Err(ExtractError::Invalid(_))));
    }
}

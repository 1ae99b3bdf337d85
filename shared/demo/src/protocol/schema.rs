//! Whether a schema is one that every server's grammar builder takes.

use serde_json::Value;

/// Keywords that some server refuses or ignores.
const NOT_PORTABLE: [&str; 20] = [
    "$ref",
    "$defs",
    "$schema",
    "definitions",
    "title",
    "format",
    "pattern",
    "default",
    "const",
    "oneOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "uniqueItems",
    "patternProperties",
    "allOf",
];

/// Checks the schema of a contract whose own fields are `fields`, in this order.
pub(super) fn check(schema: &Value, fields: &[String], wrong: &mut Vec<String>) {
    let found: Vec<&String> =
        schema.get("properties").and_then(Value::as_object).map(|p| p.keys().collect()).unwrap_or_default();
    if found != fields.iter().collect::<Vec<_>>() {
        wrong.push(format!("schema: its fields are {found:?}, the contract has {fields:?} in this order"));
    }
    walk("schema", schema, wrong);
}

fn walk(path: &str, schema: &Value, wrong: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else {
        wrong.push(format!("{path}: a schema must be an object, not {schema}"));
        return;
    };
    for keyword in NOT_PORTABLE.iter().filter(|keyword| schema.contains_key(**keyword)) {
        wrong.push(format!("{path}: `{keyword}` is not portable"));
    }
    if schema.get("type").is_some_and(Value::is_array) {
        wrong.push(format!("{path}: `type` is a list; use `anyOf`"));
    }
    if schema.contains_key("properties") || schema.get("type").is_some_and(|kind| kind == "object") {
        check_object(path, schema, wrong);
    }
    if let Some(items) = schema.get("items") {
        walk(&format!("{path}[]"), items, wrong);
    }
    for (place, choice) in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
        walk(&format!("{path}.anyOf[{place}]"), choice, wrong);
    }
}

fn check_object(path: &str, schema: &serde_json::Map<String, Value>, wrong: &mut Vec<String>) {
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        wrong.push(format!("{path}: `additionalProperties` is not false"));
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if !required.contains(&name.as_str()) {
            wrong.push(format!("{path}: property `{name}` is not required"));
        }
        walk(&format!("{path}.{name}"), property, wrong);
    }
}

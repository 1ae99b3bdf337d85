//! Where an answer leaves its portable schema, in words for the model. Serde says what is wrong in a tagged
//! enum, but not where; a small model needs the place.

use serde_json::Value;

/// The first place where `value` leaves `schema`, a schema of [`portable_schema`](crate::portable_schema).
/// `None` where the value has the schema's shape.
pub(crate) fn first_departure(value: &Value, schema: &Value) -> Option<String> {
    departure(value, schema, "")
}

fn departure(value: &Value, schema: &Value, path: &str) -> Option<String> {
    if let Some(branches) = schema["anyOf"].as_array() {
        return choice(value, branches, path);
    }
    if let Some(allowed) = schema["enum"].as_array() {
        return (!allowed.contains(value)).then(|| {
            let names: Vec<String> = allowed.iter().map(Value::to_string).collect();
            format!("{} must be one of {}, not {}", place(path), names.join(", "), shown(value))
        });
    }
    let wanted = schema["type"].as_str().unwrap_or_default();
    let fits = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    };
    if !fits {
        return Some(format!("{} must be of type {wanted}, not {}", place(path), shown(value)));
    }
    match value {
        Value::Object(fields) => {
            let named = schema["properties"].as_object()?;
            named
                .iter()
                .find_map(|(name, field)| match fields.get(name) {
                    None => Some(format!("{} is missing", place(&below(path, name)))),
                    Some(value) => departure(value, field, &below(path, name)),
                })
                .or_else(|| {
                    let unknown = fields.keys().find(|name| !named.contains_key(*name))?;
                    Some(format!("{} is not a field; leave it out", place(&below(path, unknown))))
                })
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| departure(item, &schema["items"], &format!("{path}[{at}]"))),
        _ => None,
    }
}

/// Departs only where every branch does. The words come from the branch that was meant: the one whose tag
/// the value carries, else the one that got furthest.
fn choice(value: &Value, branches: &[Value], path: &str) -> Option<String> {
    let mut words = Vec::new();
    for branch in branches {
        let found = departure(value, branch, path)?;
        words.push((branch, found));
    }
    let tag_of = |branch: &Value| {
        let (name, field) = branch["properties"].as_object()?.iter().next()?;
        Some((name.clone(), field["enum"].as_array()?.first()?.clone()))
    };
    let meant = words
        .iter()
        .find(|(branch, _)| tag_of(branch).is_some_and(|(name, tag)| value.get(&name) == Some(&tag)));
    if let Some((_, found)) = meant {
        return Some(found.clone());
    }
    let tags: Vec<(String, Value)> = branches.iter().filter_map(tag_of).collect();
    match tags.first() {
        Some((name, _)) if value.is_object() => {
            let allowed: Vec<String> = tags.iter().map(|(_, tag)| tag.to_string()).collect();
            Some(format!("{} must be one of {}", place(&below(path, name)), allowed.join(", ")))
        }
        _ => words.into_iter().next().map(|(_, found)| found),
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn place(path: &str) -> String {
    if path.is_empty() { "the answer".to_owned() } else { format!("`{path}`") }
}

/// A value on a few characters.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 {
        text
    } else {
        format!("{}…", text.chars().take(40).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use nightforge_domain::contract::{CodingAction, FirstFile};
    use serde_json::json;

    use super::*;
    use crate::portable_schema;

    #[track_caller]
    fn check_action(value: &Value, expect: Option<&str>) {
        let schema = portable_schema::<CodingAction>().unwrap();
        assert_eq!(first_departure(value, &schema).as_deref(), expect);
    }

    #[test]
    fn names_the_place() {
        check_action(&json!({"thought": "t", "action": {"tool": "run_tests", "file": null}}), None);
        check_action(&json!([]), Some("the answer must be of type object, not []"));
        check_action(&json!({"action": {}}), Some("`thought` is missing"));
        let action = |action: Value| json!({"thought": "t", "action": action});
        check_action(
            &action(json!({"tool": "write_file", "path": "a"})),
            Some("`action.content` is missing"),
        );
        check_action(
            &action(json!({"tool": "read_file", "path": "a", "start_line": "1", "line_count": null})),
            Some("`action.start_line` must be of type integer, not \"1\""),
        );
        check_action(
            &action(json!({"tool": "run_tests", "file": null, "x": 1})),
            Some("`action.x` is not a field; leave it out"),
        );
        check_action(
            &action(json!({"tool": "finish", "outcome": "won", "note": ""})),
            Some("`action.outcome` must be one of \"done\", \"blocked\", not \"won\""),
        );
        let tools =
            first_departure(&action(json!({"tool": "bash"})), &portable_schema::<CodingAction>().unwrap());
        assert!(tools.unwrap().starts_with("`action.tool` must be one of \"read_file\", \"list_files\""));
    }

    #[test]
    fn plain_types_are_told_apart() {
        let schema = portable_schema::<FirstFile>().unwrap();
        let departs = |more: Value| {
            first_departure(&json!({"thought": "", "path": "", "content": "", "more": more}), &schema)
        };
        assert_eq!(departs(json!(true)), None);
        assert_eq!(departs(json!("true")).as_deref(), Some("`more` must be of type boolean, not \"true\""));
    }
}

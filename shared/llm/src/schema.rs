//! The schema of a contract in the form that every server takes, and the lint that refuses types which have
//! no such form. Both are one walk: what it does not know, it refuses.

use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Keywords that only narrow or describe a type; left out, because servers differ in what they take. The
/// type itself checks what they said.
const LEFT_OUT: &[&str] = &[
    "$schema",
    "title",
    "format",
    "default",
    "pattern",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
];

/// Keywords that the walk reads.
const READ: &[&str] = &[
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "oneOf",
    "anyOf",
];

/// Why a type can't be a contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NotPortable {
    /// The type.
    pub type_name: String,
    /// Each place in it, and what is wrong there.
    pub findings: Vec<String>,
}

impl fmt::Display for NotPortable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` has no portable schema: {}", self.type_name, self.findings.join("; "))
    }
}

/// The portable schema of a type: inlined, without bounds and formats, every property required and no other
/// allowed, keys in declared order. Byte-stable.
pub fn portable_schema<T: JsonSchema>() -> Result<Value, NotPortable> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut walk = Walk::default();
    let portable = walk.node(schema.as_value(), "$");
    if walk.findings.is_empty() && portable["type"] != "object" {
        walk.refuse("$", "is not an object; a contract is a struct");
    }
    if walk.findings.is_empty() {
        Ok(portable)
    } else {
        Err(NotPortable { type_name: T::schema_name().into_owned(), findings: walk.findings })
    }
}

#[derive(Debug, Default)]
struct Walk {
    findings: Vec<String>,
}

impl Walk {
    fn refuse(&mut self, path: &str, what: &str) -> Value {
        self.findings.push(format!("{path} {what}"));
        Value::Null
    }

    fn node(&mut self, node: &Value, path: &str) -> Value {
        let Some(node) = node.as_object() else {
            return self.refuse(path, "is free JSON; give it a type");
        };
        if node.contains_key("$ref") || node.contains_key("$defs") {
            return self.refuse(path, "is recursive; give it a fixed depth");
        }
        if node.contains_key("prefixItems") {
            return self.refuse(path, "is a tuple; use a struct");
        }
        if let Some(unknown) = node.keys().find(|key| ![READ, LEFT_OUT].concat().contains(&key.as_str())) {
            return self.refuse(path, &format!("has the keyword `{unknown}`, which not every server takes"));
        }
        let is_choice = node.contains_key("oneOf") || node.contains_key("anyOf");
        if is_choice
            && (node.contains_key("properties") || node.contains_key("oneOf") && node.contains_key("anyOf"))
        {
            return self.refuse(path, "mixes fields with a choice; do not flatten enums");
        }
        let mut portable = Map::new();
        if let Some(description) = node.get("description") {
            portable.insert("description".to_owned(), description.clone());
        }
        if let Some(branches) = node.get("oneOf").or(node.get("anyOf")).and_then(Value::as_array) {
            self.choice(branches, path, &mut portable);
        } else if let Some(constant) = node.get("const") {
            self.constants(std::slice::from_ref(constant), path, &mut portable);
        } else if let Some(constants) = node.get("enum").and_then(Value::as_array) {
            self.constants(constants, path, &mut portable);
        } else {
            self.typed(node, path, &mut portable);
        }
        Value::Object(portable)
    }

    fn choice(&mut self, branches: &[Value], path: &str, portable: &mut Map<String, Value>) {
        let constants: Option<Vec<Vec<Value>>> = branches.iter().map(constants_of).collect();
        if let Some(constants) = constants {
            return self.constants(&constants.concat(), path, portable);
        }
        let branches =
            branches.iter().enumerate().map(|(at, branch)| self.node(branch, &format!("{path}|{at}")));
        let branches: Vec<Value> = branches.collect();
        portable.insert("anyOf".to_owned(), Value::Array(branches));
    }

    fn constants(&mut self, constants: &[Value], path: &str, portable: &mut Map<String, Value>) {
        // A nullable enum names null among its texts.
        let (nulls, texts): (Vec<&Value>, Vec<&Value>) =
            constants.iter().partition(|constant| constant.is_null());
        if !texts.iter().all(|constant| constant.is_string()) {
            self.refuse(path, "has constants that are not strings");
            return;
        }
        if nulls.is_empty() {
            portable.insert("type".to_owned(), json!("string"));
            portable.insert("enum".to_owned(), json!(texts));
        } else {
            let branches = json!([{ "type": "string", "enum": texts }, { "type": "null" }]);
            portable.insert("anyOf".to_owned(), branches);
        }
    }

    fn typed(&mut self, node: &Map<String, Value>, path: &str, portable: &mut Map<String, Value>) {
        match node.get("type") {
            Some(Value::Array(types)) => {
                let branches: Vec<Value> = types
                    .iter()
                    .map(|one| {
                        let mut branch = Map::new();
                        self.one_type(one.as_str().unwrap_or_default(), node, path, &mut branch);
                        Value::Object(branch)
                    })
                    .collect();
                portable.insert("anyOf".to_owned(), Value::Array(branches));
            }
            Some(Value::String(one)) => self.one_type(one, node, path, portable),
            _ => {
                self.refuse(path, "is free JSON; give it a type");
            }
        }
    }

    fn one_type(
        &mut self,
        one: &str,
        node: &Map<String, Value>,
        path: &str,
        portable: &mut Map<String, Value>,
    ) {
        portable.insert("type".to_owned(), json!(one));
        match one {
            "string" | "integer" | "number" | "boolean" | "null" => {}
            "array" => {
                let items = self.node(node.get("items").unwrap_or(&Value::Null), &format!("{path}[]"));
                portable.insert("items".to_owned(), items);
            }
            "object" => self.object(node, path, portable),
            other => {
                self.refuse(path, &format!("has the unknown type `{other}`"));
            }
        }
    }

    fn object(&mut self, node: &Map<String, Value>, path: &str, portable: &mut Map<String, Value>) {
        if node.get("additionalProperties").is_some_and(|others| *others != json!(false)) {
            self.refuse(path, "is a map; use a list of structs");
            return;
        }
        let Some(properties) = node.get("properties").and_then(Value::as_object) else {
            self.refuse(path, "is an object without named fields");
            return;
        };
        let mut fields = Map::new();
        // The tag of an enum comes first: a model that has named its tool fills in the right fields.
        let (tags, others): (Vec<_>, Vec<_>) =
            properties.iter().partition(|(_, field)| field.get("const").is_some());
        for (name, field) in tags.into_iter().chain(others) {
            let field = self.node(field, &format!("{path}.{name}"));
            fields.insert(name.clone(), field);
        }
        let names: Vec<String> = fields.keys().cloned().collect();
        portable.insert("properties".to_owned(), Value::Object(fields));
        portable.insert("required".to_owned(), json!(names));
        portable.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// The constants of a branch that is nothing but constants.
fn constants_of(branch: &Value) -> Option<Vec<Value>> {
    match (branch.get("const"), branch.get("enum")) {
        (Some(constant), _) => Some(vec![constant.clone()]),
        (None, Some(Value::Array(constants))) => Some(constants.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

//! Mistakes in the configuration, told with the file or the variable, the key, and what can stand there. Values are
//! not shown: one may be a secret.

use figment::error::Kind;
use figment::{Figment, Metadata};

/// Every mistake on a line.
pub(super) fn explain(errors: figment::Error) -> String {
    errors.into_iter().map(|error| line(&error)).collect::<Vec<_>>().join("\n")
}

fn line(error: &figment::Error) -> String {
    let place = place(error.metadata.as_ref(), &error.path);
    let path = error.path.join(".");
    let within = if path.is_empty() { String::new() } else { format!(" `{path}`:") };
    match &error.kind {
        Kind::UnknownField(key, known) => {
            let parent = path.strip_suffix(key.as_str()).unwrap_or(&path).trim_end_matches('.');
            let key = if parent.is_empty() { key.clone() } else { format!("{parent}.{key}") };
            format!("{place}: unknown key `{key}`; known there: {}", known.join(", "))
        }
        Kind::MissingField(key) => format!("{place}:{within} the key `{key}` is missing"),
        Kind::InvalidType(_, expected)
        | Kind::InvalidValue(_, expected)
        | Kind::InvalidLength(_, expected) => {
            format!("{place}:{within} not {}", in_words(&expected.to_string()))
        }
        Kind::Message(message) => format!("{place}:{within} {}", without_source(message)),
        other => format!("{place}:{within} {other}"),
    }
}

/// Where the value of `key`, or the first one below it, was written.
pub(super) fn place_of(figment: &Figment, key: &str) -> String {
    let key = key.trim_end_matches('.');
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    place(figment.find_metadata(key), &path)
}

fn place(metadata: Option<&Metadata>, path: &[String]) -> String {
    let Some(metadata) = metadata else { return "the configuration".to_owned() };
    match metadata.source.as_ref().and_then(|source| source.file_path()) {
        Some(file) => file.display().to_string(),
        None if metadata.name.contains("environment") && !path.is_empty() => {
            format!("NIGHTFORGE_{}", path.join("__").to_ascii_uppercase())
        }
        None if metadata.name.contains("environment") => "a NIGHTFORGE_* variable".to_owned(),
        None => "the configuration".to_owned(),
    }
}

/// What serde calls by its type, for people.
fn in_words(expected: &str) -> String {
    let whole = |max: u64| format!("a whole number from 0 to {max}");
    match expected.trim_matches('`') {
        "u8" => whole(u64::from(u8::MAX)),
        "u16" => whole(u64::from(u16::MAX)),
        "u32" => whole(u64::from(u32::MAX)),
        "u64" => "a whole number from 0".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        "path string" => "a path".to_owned(),
        "socket address" => "an address such as 127.0.0.1:7700".to_owned(),
        name if name.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

/// The TOML parser draws the line that it stopped at, with whatever secret stands on it.
fn without_source(message: &str) -> String {
    let drawn = |line: &&str| {
        let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        !line.trim_start().starts_with('|')
    };
    message.lines().filter(drawn).map(str::trim).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_parsed_is_not_shown() {
        let message =
            "TOML parse error at line 1, column 7\n  |\n1 | url = hunter2\n  |       ^\ninvalid string\n";
        assert_eq!(without_source(message), "TOML parse error at line 1, column 7: invalid string");
    }
}

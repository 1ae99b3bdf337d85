//! The settings as they hold, each with where it comes from.

use figment::Figment;
use figment::value::Value;
use serde::Serialize;

use super::mistakes::place_of;
use super::{Settings, masked, sources};
use crate::args::SettingsArgs;
use crate::exit::Failure;

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Setting {
    /// Its path in `nightforge.toml`.
    pub(crate) key: String,
    /// As it holds, passwords masked.
    pub(crate) value: serde_json::Value,
    /// A file, a variable, a flag, or `default`.
    pub(crate) source: String,
}

/// Every setting, checked as a role would check it.
///
/// # Errors
/// As for a role's start.
pub(crate) fn shown(args: &SettingsArgs) -> Result<Vec<Setting>, Failure> {
    let figment = sources(args)?;
    let settings = super::read(&figment, args, None)?;
    Ok(rows(&figment, &settings, args))
}

fn rows(figment: &Figment, settings: &Settings, args: &SettingsArgs) -> Vec<Setting> {
    let source = |key: &str| match figment.contains(key) {
        true => place_of(figment, key),
        false => "default".to_owned(),
    };
    let row =
        |key: &str, value: serde_json::Value| Setting { key: key.to_owned(), value, source: source(key) };
    let url = |key: &str| match figment.extract_inner::<String>(key) {
        Ok(url) => serde_json::Value::from(masked(&url)),
        Err(_) => serde_json::Value::Null,
    };
    let data = Setting {
        source: if args.data.is_some() { "--data".to_owned() } else { source("data") },
        ..row("data", settings.place.data.display().to_string().into())
    };
    let database = match url("database_url") {
        serde_json::Value::Null => settings.place.database(&settings.place.data).into(),
        url => url,
    };
    let mut rows = vec![
        row("listen", settings.listen.to_string().into()),
        data,
        row("database_url", database),
        row("redis_url", url("redis_url")),
        row("discover", settings.discover.clone().into()),
    ];
    let limits = serde_json::to_value(&settings.limits).unwrap_or_default();
    for (name, value) in limits.as_object().into_iter().flatten() {
        rows.push(row(&format!("limits.{name}"), value.clone()));
    }
    for table in ["roles", "models", "research"] {
        if let Ok(value) = figment.find_value(table) {
            // All of it is written somewhere; an entry of a list is found by the list's own place.
            written(table, &value, &mut |key, value| {
                let mut place = key;
                while let (false, Some((parent, _))) = (figment.contains(place), place.rsplit_once('.')) {
                    place = parent;
                }
                rows.push(Setting { source: source(place), ..row(key, without_queries(value)) });
            });
        }
    }
    rows
}

/// What the query of an address holds may be a token. Addresses with passwords are refused before they come here.
fn without_queries(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::String(text) if text.contains("://") => {
            text.split_once('?').map_or_else(|| text.clone(), |(address, _)| format!("{address}?…")).into()
        }
        serde_json::Value::Array(values) => values.into_iter().map(without_queries).collect(),
        value => value,
    }
}

/// Each value below `value`, with its path.
fn written(key: &str, value: &Value, found: &mut impl FnMut(&str, serde_json::Value)) {
    match value {
        Value::Dict(_, entries) => {
            for (name, value) in entries {
                written(&format!("{key}.{name}"), value, found);
            }
        }
        Value::Array(_, entries) if entries.iter().any(|entry| entry.as_dict().is_some()) => {
            for (place, value) in entries.iter().enumerate() {
                written(&format!("{key}.{place}"), value, found);
            }
        }
        value => found(key, serde_json::to_value(value).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use figment::providers::{Format, Toml};

    use super::*;

    #[test]
    fn values_stand_with_their_sources_and_without_passwords() {
        let toml = "redis_url = \"redis://:hunter2@cache\"\n[limits]\nmax_turns = 9\n[models.coder]\nname = \"m\"\n\
                    [[models.coder.endpoints]]\nurl = \"http://127.0.0.1:1234/v1\"\n\
                    [research]\nallow = [\"wiki:8080\"]\n[[research.search]]\nkind = \"feeds\"\n\
                    urls = [\"https://h/feed?key=hunter2\"]\n";
        let figment = Figment::from(Toml::string(toml));
        let args = SettingsArgs { config: None, data: Some("/data".into()) };
        let settings = super::super::read(&figment, &args, None).unwrap();
        let rows = rows(&figment, &settings, &args);
        let of =
            |key: &str| rows.iter().find(|row| row.key == key).unwrap_or_else(|| panic!("{key}: {rows:?}"));
        assert_eq!((of("listen").value.as_str(), &*of("listen").source), (Some("127.0.0.1:7700"), "default"));
        assert_eq!((of("data").value.as_str(), &*of("data").source), (Some("/data"), "--data"));
        assert_eq!(of("database_url").value, "sqlite:/data/nightforge.db");
        assert_eq!(of("redis_url").value, "redis://:***@cache");
        assert_eq!(of("limits.max_turns").value, 9);
        assert_ne!(of("limits.max_turns").source, "default");
        assert_eq!(of("limits.max_attempts").source, "default");
        assert_eq!(of("models.coder.endpoints.0.url").value, "http://127.0.0.1:1234/v1");
        assert_ne!(of("models.coder.endpoints.0.url").source, "default");
        assert_eq!(of("research.allow").value[0], "wiki:8080");
        assert_eq!(of("research.search.0.kind").value, "feeds");
        assert_eq!(of("research.search.0.urls").value[0], "https://h/feed?…");
        assert_ne!(of("research.search.0.urls").source, "default");
        assert!(!format!("{rows:?}").contains("hunter2"));
    }
}

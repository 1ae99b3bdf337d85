//! Settings of `up`: `nightforge.toml`, then `NIGHTFORGE_*` variables, then flags. Raw text becomes a checked
//! [`Settings`] once; nothing else reads the configuration.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::Figment;
use figment::providers::{Env, Format, Toml};
use nightforge_domain::{AgentModels, Limits, ModelName};
use nightforge_llm::{Sampling, SecretString, TimeLimits};
use serde::Deserialize;

use crate::args::Up;
use crate::data_folder;
use crate::exit::Failure;
use crate::roles::{ServedEndpoint, ServedModel};

const FILE: &str = "nightforge.toml";

/// Tokens of one answer, where the configuration names no other number: room for a file of 400 lines.
pub(crate) const CODE_MAX_TOKENS: u32 = 8_192;

/// `NIGHTFORGE_*` variables that are not settings of `up`.
const OTHER_VARIABLES: [&str; 3] = ["config", "log", "server"];

/// The configuration as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    listen: Option<SocketAddr>,
    data: Option<PathBuf>,
    /// Base URLs that are looked at where no model is configured, instead of the usual ports.
    discover: Option<Vec<String>>,
    models: BTreeMap<String, WrittenModel>,
    roles: WrittenRoles,
    limits: Limits,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenModel {
    name: String,
    context: Option<u64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    first_token_s: Option<u64>,
    idle_s: Option<u64>,
    #[serde(default)]
    endpoints: Vec<WrittenEndpoint>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEndpoint {
    url: String,
    gpu: Option<String>,
    #[serde(default = "one_slot")]
    slots: u32,
    api_key_env: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenRoles {
    initializer: Option<String>,
    coder: Option<String>,
}

fn one_slot() -> u32 {
    1
}

/// The configuration, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Address of the HTTP interface. Default 127.0.0.1:7700.
    pub(crate) listen: SocketAddr,
    /// The data folder. Default `nightforge` in the XDG data folder.
    pub(crate) data: PathBuf,
    /// Where models are looked for, if the configuration says it.
    pub(crate) discover: Option<Vec<String>>,
    /// The configured models and who calls which; `None` where none is configured.
    pub(crate) models: Option<(Vec<ServedModel>, AgentModels)>,
    /// The limits of a task that names none.
    pub(crate) limits: Limits,
}

/// Reads and checks the settings.
///
/// # Errors
/// With the file or variable, the key, and what can stand there.
pub(crate) fn load(up: &Up) -> Result<Settings, Failure> {
    let mut figment = Figment::new();
    if let Some(file) = file(up.config.as_deref())? {
        figment = figment.merge(Toml::file_exact(file));
    }
    figment = figment.merge(Env::prefixed("NIGHTFORGE_").ignore(&OTHER_VARIABLES).split("__"));
    let written: Written = figment.extract().map_err(|error| Failure::config(explain(error)))?;
    check(written, up)
}

/// The file that is read: the named one, which must be there, or the first of the usual ones that is.
fn file(named: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    if let Some(named) = named {
        return match std::fs::metadata(named) {
            Ok(found) if found.is_file() => Ok(Some(named.to_owned())),
            Ok(_) => {
                Err(Failure::config(format!("{} is not a file; name a nightforge.toml", named.display())))
            }
            Err(error) => {
                Err(Failure::config(format!("the configuration {} can't be read: {error}", named.display())))
            }
        };
    }
    let in_xdg =
        data_folder::xdg("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("nightforge").join(FILE));
    Ok([Some(PathBuf::from(FILE)), in_xdg].into_iter().flatten().find(|path| path.is_file()))
}

/// Every mistake on a line: where it stands, which key, what is wrong. Values are not shown: one may be a secret.
fn explain(errors: figment::Error) -> String {
    use figment::error::Kind;
    let line = |error: figment::Error| {
        let place = match &error.metadata {
            Some(metadata) => match metadata.source.as_ref().and_then(|source| source.file_path()) {
                Some(path) => path.display().to_string(),
                None => "a NIGHTFORGE_* variable".to_owned(),
            },
            None => "the configuration".to_owned(),
        };
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
                format!("{place}:{within} not {expected}")
            }
            Kind::Message(message) => format!("{place}:{within} {}", message.trim_end()),
            other => format!("{place}:{within} {other}"),
        }
    };
    errors.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn check(written: Written, up: &Up) -> Result<Settings, Failure> {
    written.limits.check().map_err(|reason| Failure::config(format!("[limits]: {reason}")))?;
    let models = if written.models.is_empty() {
        if written.roles.initializer.is_some() || written.roles.coder.is_some() {
            return Err(Failure::config(
                "[roles] names a model, and no [models.NAME] is configured; add one",
            ));
        }
        None
    } else {
        let names: Vec<ModelName> = written
            .models
            .keys()
            .map(|name| name.parse())
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::config(format!("[models]: {error}")))?;
        let agents = agents(&written.roles, &names)?;
        let served = names
            .iter()
            .zip(written.models.into_values())
            .map(|(name, model)| served(name, model))
            .collect::<Result<_, _>>()?;
        Some((served, agents))
    };
    Ok(Settings {
        listen: up.listen.or(written.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 7700))),
        data: up.data.clone().or(written.data).map_or_else(data_folder::default_path, Ok)?,
        discover: written.discover,
        models,
        limits: written.limits,
    })
}

/// Who calls which model. With a single one configured, everybody calls that.
fn agents(roles: &WrittenRoles, names: &[ModelName]) -> Result<AgentModels, Failure> {
    let listed = || names.iter().map(ModelName::as_str).collect::<Vec<_>>().join(", ");
    let of = |role: &str, wanted: &Option<String>| match (wanted, names) {
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(Failure::config(format!(
            "several models are configured ({}); say in [roles] which one is the {role}: {role} = \"NAME\"",
            listed()
        ))),
        (Some(wanted), _) => names.iter().find(|name| name.as_str() == wanted).cloned().ok_or_else(|| {
            Failure::config(format!(
                "[roles] {role} = \"{wanted}\": there is no such model; configured: {}",
                listed()
            ))
        }),
    };
    Ok(AgentModels { initializer: of("initializer", &roles.initializer)?, coder: of("coder", &roles.coder)? })
}

fn served(name: &ModelName, written: WrittenModel) -> Result<ServedModel, Failure> {
    let wrong = |what: &str| Failure::config(format!("[models.{name}]: {what}"));
    let defaults = Sampling::default();
    let temperature = written.temperature.unwrap_or(defaults.temperature);
    let top_p = written.top_p.unwrap_or(defaults.top_p);
    let max_tokens = written.max_tokens.unwrap_or(CODE_MAX_TOKENS);
    let time_limits = time_limits(&written).map_err(wrong)?;
    if !(0.0..=2.0).contains(&temperature) {
        return Err(wrong("temperature must be between 0 and 2"));
    }
    if !(top_p > 0.0 && top_p <= 1.0) {
        return Err(wrong("top_p must be above 0 and at most 1"));
    }
    if max_tokens == 0 || written.context == Some(0) {
        return Err(wrong("max_tokens and context must be at least 1"));
    }
    if written.endpoints.is_empty() {
        return Err(wrong(
            "it has no endpoint; add [[models.NAME.endpoints]] with url = \"http://127.0.0.1:1234/v1\"",
        ));
    }
    let endpoints = written.endpoints.into_iter().map(|endpoint| {
        if endpoint.slots == 0 {
            return Err(wrong("slots must be at least 1"));
        }
        let api_key =
            endpoint.api_key_env.as_deref().map(key_from).transpose().map_err(|reason| wrong(&reason))?;
        Ok(ServedEndpoint { url: endpoint.url, gpu: endpoint.gpu, slots: endpoint.slots, api_key })
    });
    Ok(ServedModel {
        name: name.clone(),
        server_name: written.name,
        context_tokens: written.context,
        sampling: Sampling { temperature, top_p, max_tokens, ..defaults },
        time_limits,
        endpoints: endpoints.collect::<Result<_, Failure>>()?,
    })
}

/// A server that reads prompts slowly, as on a CPU, needs longer limits than the usual ones.
fn time_limits(written: &WrittenModel) -> Result<TimeLimits, &'static str> {
    let mut limits = TimeLimits::default();
    if let Some(seconds) = written.first_token_s {
        limits.first_token = Duration::from_secs(seconds);
        limits.first_token_cap = limits.first_token_cap.max(limits.first_token);
    }
    if let Some(seconds) = written.idle_s {
        limits.idle = Duration::from_secs(seconds);
    }
    if limits.first_token.is_zero() || limits.idle.is_zero() {
        return Err("first_token_s and idle_s must be at least 1");
    }
    Ok(limits)
}

/// A key stands in a variable of its own, never in the file.
fn key_from(variable: &str) -> Result<SecretString, String> {
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(SecretString::from(key)),
        _ => Err(format!(
            "api_key_env names the variable {variable}, which is not set; export it with the key"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(toml: &str) -> Result<Settings, String> {
        let up = Up { config: None, listen: None, data: Some("/data".into()) };
        let written: Written = Figment::from(Toml::string(toml)).extract().map_err(explain)?;
        check(written, &up).map_err(|failure| failure.message)
    }

    const CODER: &str = "[models.coder]\nname = \"openai/gpt-oss-20b\"\n[[models.coder.endpoints]]\nurl = \"http://127.0.0.1:1234/v1\"\n";

    #[test]
    fn nothing_configured_is_the_defaults() {
        let settings = settings("").unwrap();
        assert_eq!(settings.listen.to_string(), "127.0.0.1:7700");
        assert!(settings.models.is_none());
        assert_eq!(settings.limits, Limits::default());
    }

    #[test]
    fn one_model_serves_every_agent() {
        let (models, agents) = settings(CODER).unwrap().models.unwrap();
        assert_eq!(agents.initializer.as_str(), "coder");
        assert_eq!((models[0].server_name.as_str(), models[0].endpoints[0].slots), ("openai/gpt-oss-20b", 1));
    }

    #[test]
    fn limits_are_laid_over_the_defaults() {
        let limits = settings("[limits]\nmin_features = 3\n").unwrap().limits;
        assert_eq!(limits, Limits { min_features: 3, ..Limits::default() });
    }

    #[test]
    fn each_mistake_is_named() {
        let two = format!("{CODER}{}", CODER.replace("coder", "small"));
        let cases = [
            ("colour = 1".to_owned(), "unknown key `colour`; known there: listen, data"),
            ("[limits]\nmax_luck = 1".to_owned(), "unknown key `limits.max_luck`; known there: min_features"),
            (
                format!("{CODER}key = \"x\""),
                "unknown key `models.coder.endpoints.0.key`; known there: url, gpu",
            ),
            ("[limits]\nmax_turns = 0".to_owned(), "[limits]: limit `max_turns`"),
            ("listen = \"here\"".to_owned(), "`listen`"),
            ("[models.coder]\ncontext = 1".to_owned(), "`models.coder`: the key `name` is missing"),
            ("[models.coder]\nname = \"m\"".to_owned(), "[models.coder]: it has no endpoint"),
            ("[models.\"a b\"]\nname = \"m\"".to_owned(), "is not a model name"),
            (
                two.clone(),
                "several models are configured (coder, small); say in [roles] which one is the initializer",
            ),
            (
                format!("{two}[roles]\ninitializer = \"big\""),
                "there is no such model; configured: coder, small",
            ),
            ("[roles]\ncoder = \"x\"".to_owned(), "no [models.NAME] is configured"),
            (CODER.replace("[[", "temperature = 7\n[["), "temperature must be between"),
            (format!("{CODER}slots = 0"), "slots must be at least 1"),
            (format!("{CODER}api_key_env = \"NO_SUCH_KEY_IS_SET\""), "NO_SUCH_KEY_IS_SET, which is not set"),
        ];
        for (toml, part) in cases {
            let message = settings(&toml).unwrap_err();
            assert!(message.contains(part), "{toml}\n→ {message}");
        }
    }

    #[test]
    fn values_stand_in_no_message() {
        let message = settings("[limits]\nmax_turns = \"hunter2\"").unwrap_err();
        assert!(!message.contains("hunter2") && message.contains("limits.max_turns"), "{message}");
    }
}

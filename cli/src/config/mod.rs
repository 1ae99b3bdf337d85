//! Settings of every role: `nightforge.toml`, then `NIGHTFORGE_*` variables, then flags. Raw text becomes a checked
//! [`Settings`] once; nothing else reads the configuration.

mod endpoints;
mod mistakes;
mod research;
mod shown;
mod urls;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::Figment;
use figment::providers::{Env, Format, Toml};
use nightforge_api::LimitChanges;
use nightforge_domain::{Agent, AgentModels, Limits, ModelName};
use nightforge_llm::{ModeRule, Sampling, SecretString, TimeLimits};
use serde::Deserialize;

use self::endpoints::WrittenEndpoint;
use self::mistakes::{explain, place_of};
use self::research::WrittenResearch;
use crate::args::SettingsArgs;
use crate::data_folder;
use crate::exit::Failure;
use crate::place::Place;
use crate::roles::ServedModel;
use crate::search::SearchPlan;

pub(crate) use self::endpoints::{MAX_SLOTS, checked_endpoint};
pub(crate) use self::shown::shown;
pub(crate) use self::urls::masked;

const FILE: &str = "nightforge.toml";

/// Where the HTTP interface listens unless told otherwise.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7700);

/// Tokens of one answer, where the configuration names no other number: room for a file of 400 lines.
pub(crate) const CODE_MAX_TOKENS: u32 = 8_192;

/// A context below this has no room for a prompt and its answer.
const LEAST_CONTEXT_TOKENS: u64 = 2_048;

/// The longest silence of a server that can be asked for: a day, in seconds.
const MAX_SILENCE_S: u64 = 86_400;

/// `NIGHTFORGE_*` variables that are not settings.
const OTHER_VARIABLES: [&str; 3] = ["config", "log", "server"];

/// The configuration as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    listen: Option<SocketAddr>,
    data: Option<PathBuf>,
    database_url: Option<String>,
    redis_url: Option<String>,
    /// Base URLs that are looked at where no model is configured, instead of the usual ports.
    discover: Option<Vec<String>>,
    models: BTreeMap<String, WrittenModel>,
    roles: WrittenRoles,
    research: WrittenResearch,
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
    /// Overrides what the start-up probe finds.
    mode: Option<ModeRule>,
    first_token_s: Option<u64>,
    idle_s: Option<u64>,
    #[serde(default)]
    endpoints: Vec<WrittenEndpoint>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenRoles {
    initializer: Option<String>,
    coder: Option<String>,
    /// Where it is missing, the coder's model.
    manager: Option<String>,
    /// Where one of these is missing, the manager's model.
    researcher: Option<String>,
    critic: Option<String>,
    synthesizer: Option<String>,
}

impl WrittenRoles {
    fn are_given(&self) -> bool {
        let Self { initializer, coder, manager, researcher, critic, synthesizer } = self;
        [initializer, coder, manager, researcher, critic, synthesizer].iter().any(|role| role.is_some())
    }
}

/// The configuration, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Address of the HTTP interface. Default 127.0.0.1:7700.
    pub(crate) listen: SocketAddr,
    /// Data folder, database, Redis. Default: `nightforge` in the XDG data folder, an SQLite file in it, no Redis.
    pub(crate) place: Place,
    /// Where models are looked for, if the configuration says it.
    pub(crate) discover: Option<Vec<String>>,
    /// The configured models and who calls which; `None` where none is configured.
    pub(crate) models: Option<(Vec<ServedModel>, AgentModels)>,
    /// Where research looks for sources; nowhere by default.
    pub(crate) search: SearchPlan,
    /// The limits of a task that names none.
    pub(crate) limits: Limits,
}

/// Reads and checks the settings. `listen` is the flag of that name, where the verb has it.
///
/// # Errors
/// With the file or variable, the key, and what can stand there.
pub(crate) fn load(args: &SettingsArgs, listen: Option<SocketAddr>) -> Result<Settings, Failure> {
    read(&sources(args)?, args, listen)
}

/// The file, with the variables laid over it.
fn sources(args: &SettingsArgs) -> Result<Figment, Failure> {
    let mut figment = Figment::new();
    if let Some(file) = file(args.config.as_deref())? {
        figment = figment.merge(Toml::file_exact(file));
    }
    Ok(figment.merge(Env::prefixed("NIGHTFORGE_").ignore(&OTHER_VARIABLES).split("__")))
}

fn read(figment: &Figment, args: &SettingsArgs, listen: Option<SocketAddr>) -> Result<Settings, Failure> {
    let written: Written = figment.extract().map_err(|error| Failure::config(explain(error)))?;
    check(written, args, listen, figment)
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

fn check(
    written: Written,
    args: &SettingsArgs,
    listen: Option<SocketAddr>,
    figment: &Figment,
) -> Result<Settings, Failure> {
    let wrong = |key: &str, what: &str| Failure::config(format!("{}: {what}", place_of(figment, key)));
    nightforge_api::check_limits(&written.limits).map_err(|reason| {
        let named = LimitChanges::NAMES.iter().find(|name| reason.contains(&format!("`{name}`")));
        wrong(&format!("limits.{}", named.unwrap_or(&"")), &format!("[limits]: {reason}"))
    })?;
    if args.data.is_none() && written.data.as_ref().is_some_and(|data| data.as_os_str().is_empty()) {
        return Err(wrong("data", "data is empty; name a folder, or leave it out"));
    }
    if let Some(discover) = &written.discover {
        endpoints::check_discover(discover).map_err(|reason| wrong("discover", &reason))?;
    }
    let models = if written.models.is_empty() {
        if written.roles.are_given() {
            return Err(wrong("roles", "[roles] names a model, and no [models.NAME] is configured; add one"));
        }
        None
    } else {
        let names: Vec<ModelName> = written
            .models
            .keys()
            .map(|name| name.parse())
            .collect::<Result<_, _>>()
            .map_err(|error| wrong("models", &format!("[models]: {error}")))?;
        let agents = agents(&written.roles, &names)
            .map_err(|reason| wrong(if figment.contains("roles") { "roles" } else { "models" }, &reason))?;
        let served = names
            .iter()
            .zip(written.models.into_values())
            .map(|(name, model)| {
                served(name, model)
                    .map_err(|reason| wrong(&format!("models.{name}"), &format!("[models.{name}]: {reason}")))
            })
            .collect::<Result<_, _>>()?;
        Some((served, agents))
    };
    let search = research::checked(written.research)
        .map_err(|(key, reason)| wrong(&format!("research.{key}"), &format!("[research] {reason}")))?;
    let url = |key: &str, url: Option<String>, schemes: &[&str]| {
        url.map(|url| urls::checked(url, schemes).map_err(|reason| wrong(key, &format!("{key}: {reason}"))))
            .transpose()
    };
    Ok(Settings {
        listen: listen.or(written.listen).unwrap_or(DEFAULT_LISTEN),
        place: Place {
            data: args.data.clone().or(written.data).map_or_else(data_folder::default_path, Ok)?,
            database_url: url("database_url", written.database_url, &urls::DATABASES)?
                .map(SecretString::from),
            redis_url: url("redis_url", written.redis_url, &urls::REDIS)?.map(SecretString::from),
        },
        discover: written.discover,
        models,
        search,
        limits: written.limits,
    })
}

/// Who calls which model. With a single one configured, everybody calls that.
fn agents(roles: &WrittenRoles, names: &[ModelName]) -> Result<AgentModels, String> {
    let listed = || names.iter().map(ModelName::as_str).collect::<Vec<_>>().join(", ");
    let of = |role: &str, wanted: &Option<String>| match (wanted, names) {
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(format!(
            "several models are configured ({}); say in [roles] which one is the {role}: {role} = \"NAME\"",
            listed()
        )),
        (Some(wanted), _) => names.iter().find(|name| name.as_str() == wanted).cloned().ok_or_else(|| {
            format!("[roles] {role} = \"{wanted}\": there is no such model; configured: {}", listed())
        }),
    };
    let initializer = of("initializer", &roles.initializer)?;
    let coder = of("coder", &roles.coder)?;
    let or = |role: &str, wanted: &Option<String>, otherwise: &ModelName| match wanted {
        Some(_) => of(role, wanted),
        None => Ok(otherwise.clone()),
    };
    let manager = or("manager", &roles.manager, &coder)?;
    let researcher = or("researcher", &roles.researcher, &manager)?;
    let critic = or("critic", &roles.critic, &manager)?;
    let synthesizer = or("synthesizer", &roles.synthesizer, &manager)?;
    Ok(AgentModels::chosen(|agent| match agent {
        Agent::Initializer => initializer.clone(),
        Agent::Coder | Agent::Verifier => coder.clone(),
        Agent::Manager => manager.clone(),
        Agent::Researcher => researcher.clone(),
        Agent::Critic => critic.clone(),
        Agent::Synthesizer => synthesizer.clone(),
    }))
}

fn served(name: &ModelName, written: WrittenModel) -> Result<ServedModel, String> {
    let wrong = |what: String| Err(what);
    let defaults = Sampling::default();
    let temperature = written.temperature.unwrap_or(defaults.temperature);
    let top_p = written.top_p.unwrap_or(defaults.top_p);
    let max_tokens = written.max_tokens.unwrap_or(CODE_MAX_TOKENS);
    if written.name.trim().is_empty() {
        return wrong("name is empty; write the model's name as its server lists it".to_owned());
    }
    if !(0.0..=2.0).contains(&temperature) {
        return wrong("temperature must be between 0 and 2".to_owned());
    }
    if !(top_p > 0.0 && top_p <= 1.0) {
        return wrong("top_p must be above 0 and at most 1".to_owned());
    }
    if max_tokens == 0 {
        return wrong("max_tokens must be at least 1".to_owned());
    }
    if written.context.is_some_and(|tokens| tokens < LEAST_CONTEXT_TOKENS) {
        return wrong(format!(
            "context must be at least {LEAST_CONTEXT_TOKENS} tokens; leave it out if it is not known"
        ));
    }
    Ok(ServedModel {
        name: name.clone(),
        time_limits: time_limits(&written)?,
        endpoints: endpoints::served(&written.name, written.context, written.endpoints)?,
        mode: written.mode.unwrap_or_default(),
        server_name: written.name,
        context_tokens: written.context,
        sampling: Sampling { temperature, top_p, max_tokens, ..defaults },
    })
}

/// A server that reads prompts slowly, as on a CPU, needs longer limits than the usual ones.
fn time_limits(written: &WrittenModel) -> Result<TimeLimits, String> {
    let duration = |key: &str, seconds: u64| match seconds {
        1..=MAX_SILENCE_S => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("{key} must be from 1 to {MAX_SILENCE_S}, which is a day in seconds")),
    };
    let mut limits = TimeLimits::default();
    if let Some(seconds) = written.first_token_s {
        limits.first_token = duration("first_token_s", seconds)?;
        limits.first_token_cap = limits.first_token_cap.max(limits.first_token);
    }
    if let Some(seconds) = written.idle_s {
        limits.idle = duration("idle_s", seconds)?;
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(toml: &str) -> Result<Settings, String> {
        let args = SettingsArgs { config: None, data: Some("/data".into()) };
        read(&Figment::from(Toml::string(toml)), &args, None).map_err(|failure| failure.message)
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
        assert_eq!(agents.of(Agent::Initializer).unwrap().as_str(), "coder");
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
            (CODER.replace("openai/gpt-oss-20b", " "), "[models.coder]: name is empty"),
            (CODER.replace("[[", "context = 2047\n[["), "context must be at least 2048"),
            (CODER.replace("[[", "first_token_s = 86401\n[["), "first_token_s must be from 1 to 86400"),
            (CODER.replace("[[", "idle_s = 0\n[["), "idle_s must be from 1 to 86400"),
            ("[limits]\nsession_ms = 604800001".to_owned(), "[limits]: limit `session_ms` must be at most"),
            (
                "[limits]\nmax_turns = -1".to_owned(),
                "`limits.max_turns`: not a whole number from 0 to 4294967295",
            ),
            ("[limits]\nmax_turns = \"x\"".to_owned(), "`limits.max_turns`: not a whole number from 0"),
            ("models = { coder = 1 }".to_owned(), "`models.coder`: not a table"),
            ("discover = \"x\"".to_owned(), "`discover`: not a list"),
            ("discover = []".to_owned(), "discover is empty"),
            (CODER.replace("[[", "mode = \"loud\"\n[["), "unknown variant"),
            ("database_url = \"mysql://h/d\"".to_owned(), "database_url: write sqlite:PATH or postgres://"),
            ("redis_url = \"127.0.0.1:6379\"".to_owned(), "redis_url: write redis://"),
        ];
        for (toml, part) in cases {
            let message = settings(&toml).unwrap_err();
            assert!(message.contains(part), "{toml}\n→ {message}");
        }
    }

    #[test]
    fn the_data_folder_has_a_name() {
        let read = |flag: Option<&str>| {
            let args = SettingsArgs { config: None, data: flag.map(Into::into) };
            read(&Figment::from(Toml::string("data = \"\"")), &args, None).map_err(|failure| failure.message)
        };
        assert!(read(None).unwrap_err().contains("data is empty; name a folder"));
        assert_eq!(read(Some("/data")).unwrap().place.data, Path::new("/data"));
    }

    #[test]
    fn values_stand_in_no_message() {
        let message = settings("[limits]\nmax_turns = \"hunter2\"").unwrap_err();
        assert!(!message.contains("hunter2") && message.contains("limits.max_turns"), "{message}");
    }
}

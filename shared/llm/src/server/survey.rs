//! Finds out which server answers and what it has. The server is known by its own answers, never by its port.

use serde_json::Value;

use super::ask::{Asker, Fault, Missed, NOT_OPENAI, start_of};
use super::judge;
use super::kind::ServerKind;
use super::names::same_model;
use super::state::{EndpointState, Sighting};
use super::{llama_cpp, lm_studio, ollama, other, sglang, vllm};
use crate::client::Client;

pub(super) const LIST: &str = "GET /models";

/// What a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Which server it is.
    pub server: ServerKind,
    /// Its models, loaded or not, in its order.
    pub models: Vec<ListedModel>,
    /// Calls that it computes at a time, where it says so.
    pub server_slots: Option<u32>,
    /// What was asked, for messages.
    pub(super) asked: &'static str,
    /// All its slots compute: what it said, for messages.
    pub(super) busy: Option<String>,
}

/// One model of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// The server's name for it.
    pub name: String,
    /// Further names under which it can be asked for.
    pub(super) aliases: Vec<String>,
    /// Whether it is in memory.
    pub residence: Residence,
    /// Tokens of context that one call may use; for a model that is not loaded mostly unknown.
    pub context_tokens: Option<u64>,
    /// Whether it makes vectors, not text.
    pub embeds: bool,
}

/// Whether a model is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residence {
    /// It can be asked.
    Loaded,
    /// It is being loaded.
    Loading,
    /// It is on disk.
    Installed,
}

impl ListedModel {
    pub(super) fn new(name: &str, residence: Residence) -> Self {
        Self {
            name: name.to_owned(),
            aliases: Vec::new(),
            residence,
            context_tokens: None,
            embeds: name.to_ascii_lowercase().contains("embed"),
        }
    }

    pub(super) fn is(&self, asked: &str) -> bool {
        same_model(asked, &self.name) || self.aliases.iter().any(|alias| same_model(asked, alias))
    }
}

impl Survey {
    pub(super) fn new(server: ServerKind, asked: &'static str, models: Vec<ListedModel>) -> Self {
        Self { server, models, server_slots: None, asked, busy: None }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.models.iter().map(|model| model.name.clone()).collect()
    }
}

impl Client {
    /// Which server answers and what it has, whatever model this client asks for. Takes at most 5 s.
    ///
    /// # Errors
    /// What was seen where the server could not be asked: its state is `Unreachable`, `Alive`, `Loading` or
    /// `AuthNeeded`.
    pub async fn survey(&self) -> Result<Survey, Sighting> {
        let ask = Asker::new(self);
        survey(&ask).await.map_err(|fault| judge::faulty(self, &fault))
    }
}

/// Asks a known server's own path first; a server that no longer answers as itself is found anew.
pub(super) async fn survey(ask: &Asker<'_>) -> Result<Survey, Fault> {
    let learned = &ask.client.inner.learned;
    let known = match ask.client.server() {
        Some(ServerKind::LmStudio) => Some((lm_studio::see(ask).await, lm_studio::V1)),
        Some(ServerKind::Ollama) => Some((ollama::see(ask).await, ollama::ASKED)),
        // The others are asked for their list anyway, and it shows who they are.
        _ => None,
    };
    match known {
        Some((Ok(survey), _)) => return Ok(survey),
        Some((Err(missed @ (Missed::Fault(_) | Missed::Late)), asked)) => return Err(missed.fault(asked)),
        Some((Err(Missed::NotThere { .. }), _)) | None => {}
    }
    let list = match ask.list().await {
        Ok(list) => list,
        // Where it wants a key, LM Studio says even of /v1/models that it does not have it.
        Err(missed @ Missed::NotThere { lm_studio: true, .. }) => {
            learned.is_at(ServerKind::LmStudio);
            return match lm_studio::see(ask).await {
                Ok(survey) => Ok(survey),
                Err(Missed::Fault(fault)) => Err(fault),
                Err(_) => Err(missed.fault(LIST)),
            };
        }
        Err(missed) => return Err(missed.fault(LIST)),
    };
    let entries = entries(&list)?;
    let names: Vec<String> = entries.iter().filter_map(name_of).collect();
    let server = server_of(ask, entries, &names).await?;
    learned.is_at(server);
    let seen = match server {
        ServerKind::LmStudio => lm_studio::see(ask).await,
        ServerKind::Ollama => ollama::see(ask).await,
        ServerKind::LlamaCpp => return llama_cpp::see(ask, entries).await,
        ServerKind::Vllm => return vllm::see(ask, entries).await,
        ServerKind::Sglang => return sglang::see(ask, entries).await,
        ServerKind::Other => Ok(other::see(entries)),
    };
    match seen {
        Ok(survey) => Ok(survey),
        // Its list looks like a known server's, and it has not that one's paths.
        Err(Missed::NotThere { .. }) => {
            learned.is_at(ServerKind::Other);
            learned.facts().others_models = Some(names);
            Ok(other::see(entries))
        }
        Err(missed) => Err(missed.fault(LIST)),
    }
}

fn entries(list: &Value) -> Result<&[Value], Fault> {
    match (&list["data"], &list["models"]) {
        (Value::Array(entries), _) | (_, Value::Array(entries)) => Ok(entries),
        // Ollama without any model.
        (Value::Null, _) if list["object"] == "list" => Ok(&[]),
        _ => Err(Fault {
            state: EndpointState::Alive,
            server: None,
            asked: LIST,
            came_back: format!("`{}`, no list of models", start_of(&list.to_string())),
            remedy: NOT_OPENAI.to_owned(),
        }),
    }
}

/// By the models' owner; a local server whose models' owners say nothing is asked once whether it is Ollama.
async fn server_of(ask: &Asker<'_>, entries: &[Value], names: &[String]) -> Result<ServerKind, Fault> {
    let learned = &ask.client.inner.learned;
    if learned.facts().others_models.as_deref() == Some(names) {
        return Ok(ServerKind::Other);
    }
    let owner = entries.iter().find_map(|entry| ServerKind::of_owner(entry["owned_by"].as_str()?));
    if let Some(server) = owner {
        return Ok(server);
    }
    // Over TLS it is a service, and no business of it which paths it does not have.
    if ask.client.inner.endpoint.tls {
        return Ok(ServerKind::Other);
    }
    match ask.get(ollama::RUNNING, ollama::ASKED).await {
        Ok(running) if running["models"].is_array() => Ok(ServerKind::Ollama),
        Err(Missed::NotThere { lm_studio: true, .. }) => Ok(ServerKind::LmStudio),
        Err(missed @ Missed::Late) => Err(missed.fault(ollama::ASKED)),
        Ok(_) | Err(_) => {
            learned.is_at(ServerKind::Other);
            learned.facts().others_models = Some(names.to_vec());
            Ok(ServerKind::Other)
        }
    }
}

/// A listed model's name, under whichever key.
pub(super) fn name_of(entry: &Value) -> Option<String> {
    ["id", "name", "model"].iter().find_map(|key| entry[*key].as_str().map(str::to_owned))
}

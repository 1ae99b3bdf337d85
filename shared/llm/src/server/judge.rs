//! Makes of what a server has one state for the model that is asked for, with words for a person.

use super::ask::{Asker, Fault};
use super::kind::ServerKind;
use super::learned::smaller;
use super::state::{EndpointState, Sighting};
use super::survey::{ListedModel, Residence, Survey, survey};
use crate::client::Client;

/// Names of models that a message lists; remote servers have hundreds.
const NAMES_IN_A_MESSAGE: usize = 12;

impl Client {
    /// Which server this is and whether the model can be asked. Takes at most 5 s, and mostly one or two requests;
    /// none of them makes the model compute, but for one token every 10 s at SGLang.
    ///
    /// The server is known by its own answers, remembered, and found anew when it no longer answers as itself.
    /// The context that it has loaded is from then on what [`Client::context_tokens`] gives.
    pub async fn look(&self) -> Sighting {
        let ask = Asker::new(self);
        match survey(&ask).await {
            Ok(survey) => {
                let (sighting, server_context) = judge(self, &survey);
                self.inner.learned.saw(&sighting, server_context);
                sighting
            }
            Err(fault) => faulty(self, &fault),
        }
    }
}

/// What is seen where the server could not be asked further.
pub(super) fn faulty(client: &Client, fault: &Fault) -> Sighting {
    if let Some(server) = fault.server {
        client.inner.learned.is_at(server);
    }
    Sighting {
        server: client.server().unwrap_or(ServerKind::Other),
        state: fault.state,
        message: client.inner.endpoint.say(fault.asked, &fault.came_back, &fault.remedy),
        models: Vec::new(),
        context_tokens: client.context_tokens(),
        server_slots: client.server_slots(),
    }
}

/// The state of the client's model, and the context that the server has loaded it with.
fn judge(client: &Client, survey: &Survey) -> (Sighting, Option<u64>) {
    let endpoint = &client.inner.endpoint;
    let model = model(survey, &endpoint.model);
    let loaded = model.filter(|model| model.residence == Residence::Loaded);
    let server_context = loaded.and_then(|model| model.context_tokens);
    let context_tokens = smaller(server_context, endpoint.context_tokens);
    let server = survey.server;
    let (state, came_back, remedy) = match model {
        None => (EndpointState::WrongModel, has(survey), server.install(&endpoint.model)),
        Some(model) => match model.residence {
            Residence::Loading => (
                EndpointState::Loading,
                format!("{server} is loading the model"),
                "Wait until it is loaded".to_owned(),
            ),
            Residence::Installed => (
                EndpointState::Cold,
                format!("{server} has the model installed, not loaded"),
                "It is loaded before the first call".to_owned(),
            ),
            Residence::Loaded => judge_loaded(client, survey, server_context, context_tokens),
        },
    };
    let sighting = Sighting {
        server,
        state,
        message: endpoint.say(survey.asked, &came_back, &remedy),
        models: survey.names(),
        context_tokens,
        server_slots: survey.server_slots,
    };
    (sighting, server_context)
}

fn judge_loaded(
    client: &Client,
    survey: &Survey,
    server_context: Option<u64>,
    context_tokens: Option<u64>,
) -> (EndpointState, String, String) {
    let (endpoint, server) = (&client.inner.endpoint, survey.server);
    let (configured, least) = (endpoint.context_tokens, endpoint.least_context_tokens);
    let here = "under [models.NAME] in nightforge.toml";
    let Some(context) = context_tokens else {
        let update =
            if server == ServerKind::Ollama { "Update Ollama, which then tells it, or set" } else { "Set" };
        let remedy =
            format!("{update} `context = N` {here} to the tokens that the server has loaded it with");
        return (EndpointState::ContextUnknown, format!("{server} does not tell its context length"), remedy);
    };
    let loaded = match (server_context, configured) {
        (Some(seen), Some(configured)) if configured > seen => format!(
            "{server} has the model loaded with {seen} tokens of context, fewer than the {configured} that are \
             configured; {seen} count"
        ),
        (Some(seen), Some(configured)) if configured < seen => format!(
            "{server} has the model loaded with {seen} tokens of context, of which the configured {configured} are used"
        ),
        (Some(seen), _) => format!("{server} has the model loaded with {seen} tokens of context"),
        (None, _) => format!(
            "{server} has the model and does not tell its context length; the configured {context} tokens count"
        ),
    };
    if context < least {
        let remedy = match server_context {
            Some(seen) if seen >= least => {
                format!("Set `context` {here} to at least {least}, or leave it out")
            }
            None => format!(
                "{}, and set `context` {here} to it",
                server.longer_context(&endpoint.model, least, survey.server_slots)
            ),
            Some(_) => server.longer_context(&endpoint.model, least, survey.server_slots),
        };
        return (EndpointState::ContextTooSmall, format!("{loaded}; at least {least} are needed"), remedy);
    }
    match &survey.busy {
        Some(busy) => (EndpointState::Busy, format!("{loaded}; {busy}"), "A call waits its turn".to_owned()),
        None => (EndpointState::Ready, loaded, "It can be asked".to_owned()),
    }
}

/// The model that is meant: by its very name, else by one that means the same, a loaded one before others.
fn model<'a>(survey: &'a Survey, asked: &str) -> Option<&'a ListedModel> {
    let rank = |model: &ListedModel| {
        let residence = match model.residence {
            Residence::Loaded => 0,
            Residence::Loading => 1,
            Residence::Installed => 2,
        };
        (model.name != asked, residence)
    };
    survey.models.iter().filter(|model| model.is(asked)).min_by_key(|model| rank(model))
}

fn has(survey: &Survey) -> String {
    let names: Vec<String> =
        survey.models.iter().take(NAMES_IN_A_MESSAGE).map(|model| format!("`{}`", model.name)).collect();
    let more = survey.models.len().saturating_sub(NAMES_IN_A_MESSAGE);
    match (names.is_empty(), more) {
        (true, _) => format!("{} has no model", survey.server),
        (false, 0) => format!("{} has the models {}", survey.server, names.join(", ")),
        (false, more) => format!("{} has the models {} and {more} more", survey.server, names.join(", ")),
    }
}

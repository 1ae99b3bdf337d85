//! llama.cpp's `llama-server`. `/props` has the context of one slot and the number of slots; while the model is
//! loaded it answers 503, as every path but the list of models does
//! (<https://github.com/ggml-org/llama.cpp/tree/master/tools/server>).
//!
//! Started without a model it routes to several (`--models-dir`). Then the list says of each whether it is loaded and
//! with how much context, and is all that is asked for: a question about one model loads it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::ask::{Asker, Fault, Missed};
use super::kind::ServerKind;
use super::state::EndpointState;
use super::survey::{LIST, ListedModel, Residence, Survey, name_of};

const PROPS: &str = "GET /props";
const HEALTH: &str = "GET /health";
const SLOTS: &str = "GET /slots";
/// Asked for more often, `/slots` keeps requests running whose client has gone away.
const SLOTS_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn see(ask: &Asker<'_>, entries: &[Value]) -> Result<Survey, Fault> {
    let models: Vec<ListedModel> = entries.iter().filter_map(model).collect();
    if entries.iter().any(|entry| entry["status"].is_object()) {
        return Ok(Survey::new(ServerKind::LlamaCpp, LIST, models));
    }
    let mut survey = Survey::new(ServerKind::LlamaCpp, PROPS, models);
    let props = match ask.get("/props", PROPS).await {
        Ok(props) => props,
        Err(Missed::Fault(fault)) if fault.state == EndpointState::Loading => return Ok(loading(survey)),
        // A proxy before it, or a build without the path.
        Err(Missed::NotThere { .. }) => {
            survey.asked = HEALTH;
            return match ask.is_well("/health", HEALTH).await {
                Ok(()) | Err(Missed::NotThere { .. }) => Ok(survey),
                Err(Missed::Fault(fault)) if fault.state == EndpointState::Loading => Ok(loading(survey)),
                Err(missed) => Err(named(missed.fault(HEALTH))),
            };
        }
        Err(missed) => return Err(named(missed.fault(PROPS))),
    };
    let context = props["default_generation_settings"]["n_ctx"].as_u64().filter(|tokens| *tokens > 0);
    for model in &mut survey.models {
        model.context_tokens = context.or(model.context_tokens);
        if props["is_sleeping"] == true {
            model.residence = Residence::Installed;
        }
    }
    survey.server_slots = props["total_slots"].as_u64().and_then(|slots| u32::try_from(slots).ok());
    if props["endpoint_slots"] != false {
        survey.busy = busy(ask).await;
    }
    Ok(survey)
}

fn model(entry: &Value) -> Option<ListedModel> {
    // Only where it routes to several models.
    let residence = match entry["status"]["value"].as_str() {
        Some("loaded") | None => Residence::Loaded,
        Some("loading") => Residence::Loading,
        Some(_) => Residence::Installed,
    };
    let aliases = entry["aliases"].as_array().into_iter().flatten();
    Some(ListedModel {
        // Of one slot, as in `/props`. A build that does not tell it here does there.
        context_tokens: entry["meta"]["n_ctx"].as_u64().filter(|tokens| *tokens > 0),
        aliases: aliases.filter_map(|alias| alias.as_str().map(str::to_owned)).collect(),
        ..ListedModel::new(&name_of(entry)?, residence)
    })
}

fn loading(mut survey: Survey) -> Survey {
    for model in &mut survey.models {
        model.residence = Residence::Loading;
    }
    survey
}

fn named(fault: Fault) -> Fault {
    Fault { server: Some(ServerKind::LlamaCpp), ..fault }
}

/// Whether all slots compute. Not known, and not said, where the server keeps its slots to itself.
async fn busy(ask: &Asker<'_>) -> Option<String> {
    let learned = &ask.client.inner.learned;
    let before = learned.facts().slots_seen;
    let all = match before {
        Some((at, all)) if at.elapsed() < SLOTS_EVERY => all,
        _ => {
            let all = match ask.get("/slots", SLOTS).await {
                Ok(Value::Array(slots)) => {
                    !slots.is_empty() && slots.iter().all(|slot| slot["is_processing"] == true)
                }
                // It answers between two batches; one that long is only computed where there is much to do.
                Err(Missed::Late) => true,
                Ok(_) | Err(_) => false,
            };
            learned.facts().slots_seen = Some((Instant::now(), all));
            all
        }
    };
    all.then(|| "all its slots compute".to_owned())
}

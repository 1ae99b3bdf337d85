//! LM Studio. Its `/v1/models` lists what is installed, so its own API is asked: `/api/v1/models` since 0.4, and
//! before that `/api/v0/models` (<https://lmstudio.ai/docs/developer/rest>).

use serde_json::Value;

use super::ask::{Asker, Missed};
use super::kind::ServerKind;
use super::survey::{ListedModel, Residence, Survey};

pub(super) const V1: &str = "GET /api/v1/models";
const V0: &str = "GET /api/v0/models";

pub(super) async fn see(ask: &Asker<'_>) -> Result<Survey, Missed> {
    let v0_alone = ask.client.inner.learned.facts().lm_studio_v0;
    if !v0_alone {
        match ask.get("/api/v1/models", V1).await {
            Ok(list) => {
                let models = list["models"].as_array().ok_or_else(|| not_its_list(&list))?;
                return Ok(Survey::new(ServerKind::LmStudio, V1, models.iter().flat_map(model_v1).collect()));
            }
            Err(Missed::NotThere { .. }) => {}
            Err(missed) => return Err(missed),
        }
    }
    let answer = ask.get("/api/v0/models", V0).await;
    // An update brings the newer one.
    ask.client.inner.learned.facts().lm_studio_v0 = answer.is_ok() && !v0_alone;
    let list = answer?;
    let models = list["data"].as_array().ok_or_else(|| not_its_list(&list))?;
    Ok(Survey::new(ServerKind::LmStudio, V0, models.iter().filter_map(model_v0).collect()))
}

/// A model, and each loaded instance of it that has a name of its own.
fn model_v1(entry: &Value) -> Vec<ListedModel> {
    let Some(key) = entry["key"].as_str() else { return Vec::new() };
    let embeds = entry["type"] == "embedding";
    let mut aliases = texts(&entry["variants"]);
    aliases.extend(entry["selected_variant"].as_str().map(str::to_owned));
    let mut model = ListedModel { aliases, embeds, ..ListedModel::new(key, Residence::Installed) };
    let mut named = Vec::new();
    for instance in entry["loaded_instances"].as_array().into_iter().flatten() {
        let context = instance["config"]["context_length"].as_u64();
        let name = instance["id"].as_str().unwrap_or(key);
        if model.is(name) {
            // Which of several instances answers is LM Studio's choice: the shortest counts.
            let first = model.residence != Residence::Loaded;
            model.context_tokens = match (first, model.context_tokens, context) {
                (true, _, context) => context,
                (false, Some(before), Some(context)) => Some(before.min(context)),
                (false, ..) => None,
            };
            model.residence = Residence::Loaded;
        } else {
            let residence = Residence::Loaded;
            named.push(ListedModel { context_tokens: context, embeds, ..ListedModel::new(name, residence) });
        }
    }
    named.insert(0, model);
    named
}

fn model_v0(entry: &Value) -> Option<ListedModel> {
    let residence = match entry["state"].as_str() {
        Some("loaded") => Residence::Loaded,
        Some("loading") => Residence::Loading,
        _ => Residence::Installed,
    };
    let context_tokens = entry["loaded_context_length"].as_u64();
    let embeds = entry["type"] == "embeddings";
    Some(ListedModel { context_tokens, embeds, ..ListedModel::new(entry["id"].as_str()?, residence) })
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn not_its_list(answer: &Value) -> Missed {
    let came_back = format!("`{}`, no list of models", super::ask::start_of(&answer.to_string()));
    Missed::NotThere { came_back, lm_studio: false }
}

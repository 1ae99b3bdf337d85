//! Ollama. `/api/tags` has what is installed, `/api/ps` what is loaded and with how much context
//! (<https://github.com/ollama/ollama/blob/main/docs/api.md>).

use serde_json::Value;

use super::ask::{Asker, Missed, start_of};
use super::kind::ServerKind;
use super::names::same_model;
use super::survey::{ListedModel, Residence, Survey, name_of};

pub(super) const RUNNING: &str = "/api/ps";
pub(super) const ASKED: &str = "GET /api/ps";
const INSTALLED: &str = "GET /api/tags";

/// Asks for what is loaded first: llama.cpp has the other path too.
pub(super) async fn see(ask: &Asker<'_>) -> Result<Survey, Missed> {
    let running = models(ask.get(RUNNING, ASKED).await?)?;
    let installed = models(ask.get("/api/tags", INSTALLED).await?)?;
    let models = installed.iter().filter_map(|entry| model(entry, &running)).collect();
    Ok(Survey::new(ServerKind::Ollama, ASKED, models))
}

fn model(entry: &Value, running: &[Value]) -> Option<ListedModel> {
    let name = name_of(entry)?;
    let family = entry["details"]["family"].as_str().unwrap_or_default();
    let loaded =
        running.iter().find(|running| name_of(running).is_some_and(|running| same_model(&name, &running)));
    // A cloud model is computed elsewhere and never loaded here.
    let remote = entry["remote_host"].as_str().is_some_and(|host| !host.is_empty());
    let residence = if loaded.is_some() || remote { Residence::Loaded } else { Residence::Installed };
    let model = ListedModel::new(&name, residence);
    Some(ListedModel {
        // Since 0.6.8 or so; older ones do not say.
        context_tokens: loaded.and_then(|running| running["context_length"].as_u64()).filter(|n| *n > 0),
        embeds: model.embeds || family.ends_with("bert"),
        ..model
    })
}

fn models(answer: Value) -> Result<Vec<Value>, Missed> {
    match answer {
        Value::Object(mut fields) => match fields.remove("models") {
            Some(Value::Array(models)) => Ok(models),
            Some(Value::Null) => Ok(Vec::new()),
            _ => Err(not_its_list(&Value::Object(fields))),
        },
        other => Err(not_its_list(&other)),
    }
}

fn not_its_list(answer: &Value) -> Missed {
    let came_back = format!("`{}`, no list of models", start_of(&answer.to_string()));
    Missed::NotThere { came_back, lm_studio: false }
}

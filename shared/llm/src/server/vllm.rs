//! vLLM. The list of models has `max_model_len`; `/health` says whether the engine behind the server lives
//! (<https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html>).

use serde_json::Value;

use super::ask::{Asker, Fault, Missed};
use super::kind::ServerKind;
use super::survey::{LIST, ListedModel, Residence, Survey, name_of};

const HEALTH: &str = "GET /health";

pub(super) async fn see(ask: &Asker<'_>, entries: &[Value]) -> Result<Survey, Fault> {
    match ask.is_well("/health", HEALTH).await {
        // A proxy that passes /v1 alone.
        Ok(()) | Err(Missed::NotThere { .. }) => {}
        Err(missed) => {
            let fault = missed.fault(HEALTH);
            let remedy =
                "Its engine is dead or starts; where this stays, restart vLLM, its log has the cause";
            return Err(Fault { server: Some(ServerKind::Vllm), remedy: remedy.to_owned(), ..fault });
        }
    }
    let length = |entry: &Value| entry["max_model_len"].as_u64().filter(|tokens| *tokens > 0);
    let models = entries.iter().filter_map(|entry| {
        let parent = || {
            // An adapter has its base model's.
            let parent =
                entries.iter().find(|other| !entry["parent"].is_null() && other["id"] == entry["parent"])?;
            length(parent)
        };
        let context_tokens = length(entry).or_else(parent);
        Some(ListedModel { context_tokens, ..ListedModel::new(&name_of(entry)?, Residence::Loaded) })
    });
    Ok(Survey::new(ServerKind::Vllm, LIST, models.collect()))
}

//! SGLang. The list of models has `max_model_len`; older ones tell it in `/get_server_info`
//! (<https://docs.sglang.io/basic_usage/native_api.html>).

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::ask::{Asker, Fault, Missed};
use super::kind::ServerKind;
use super::state::EndpointState;
use super::survey::{LIST, ListedModel, Residence, Survey, name_of};

const HEALTH: &str = "GET /health";
const HEALTH_GENERATE: &str = "GET /health_generate";
const SERVER_INFO: &str = "GET /get_server_info";
/// `/health_generate` makes a token and takes a second for it; in between, `/health` is enough.
const TOKEN_EVERY: Duration = Duration::from_secs(10);

pub(super) async fn see(ask: &Asker<'_>, entries: &[Value]) -> Result<Survey, Fault> {
    let listed = entries.iter().find_map(|entry| length(&entry["max_model_len"]));
    let context_tokens = match listed {
        Some(tokens) => Some(tokens),
        None => told_apart(ask).await,
    };
    let models = entries.iter().filter_map(|entry| {
        let context_tokens = length(&entry["max_model_len"]).or(context_tokens);
        Some(ListedModel { context_tokens, ..ListedModel::new(&name_of(entry)?, Residence::Loaded) })
    });
    let mut survey = Survey::new(ServerKind::Sglang, LIST, models.collect());
    let due = ask.client.inner.learned.facts().token_seen.is_none_or(|at| at.elapsed() >= TOKEN_EVERY);
    let (path, asked) = if due { ("/health_generate", HEALTH_GENERATE) } else { ("/health", HEALTH) };
    match ask.is_well(path, asked).await {
        Ok(()) => {
            if due {
                ask.client.inner.learned.facts().token_seen = Some(Instant::now());
            }
        }
        // A proxy that passes /v1 alone.
        Err(Missed::NotThere { .. }) => {}
        // It reads a long prompt, and makes no token for anybody meanwhile.
        Err(Missed::Late) if due => survey.busy = Some(format!("it made no token for {asked} in time")),
        Err(missed) => {
            let fault = missed.fault(asked);
            // Both, a start and a scheduler that hangs, are a bare 503.
            let starts = fault.state == EndpointState::Alive && fault.came_back.starts_with("HTTP 503");
            return Err(Fault {
                server: Some(ServerKind::Sglang),
                state: if starts { EndpointState::Loading } else { fault.state },
                remedy: "Wait until it has started; where this stays, restart SGLang, its log has the cause"
                    .to_owned(),
                ..fault
            });
        }
    }
    Ok(survey)
}

/// The context where the list does not tell it; asked for once.
async fn told_apart(ask: &Asker<'_>) -> Option<u64> {
    let learned = &ask.client.inner.learned;
    let before = learned.facts().sglang_context;
    if before.is_some() {
        return before;
    }
    let info = ask.get("/get_server_info", SERVER_INFO).await.ok()?;
    // Without `--context-length` the first is null; the second is the same but for a few tokens.
    let context = length(&info["context_length"]).or_else(|| length(&info["max_req_input_len"]));
    learned.facts().sglang_context = context;
    context
}

fn length(value: &Value) -> Option<u64> {
    value.as_u64().filter(|tokens| *tokens > 0)
}

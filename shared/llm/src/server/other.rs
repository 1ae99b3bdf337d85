//! Any other OpenAI-compatible server, most often a remote one: its list of models is all that is asked for.

use serde_json::Value;

use super::kind::ServerKind;
use super::survey::{LIST, ListedModel, Residence, Survey, name_of};

/// The fields in which such servers write a model's context: vLLM's followers, OpenRouter, Groq.
const CONTEXT_FIELDS: [&str; 3] = ["max_model_len", "context_length", "context_window"];

/// What the list says. Listed counts as loaded: nothing else can be known.
pub(super) fn see(entries: &[Value]) -> Survey {
    let models = entries.iter().filter_map(|entry| {
        let model = ListedModel::new(&name_of(entry)?, Residence::Loaded);
        let context = CONTEXT_FIELDS.iter().find_map(|field| entry[*field].as_u64());
        Some(ListedModel { context_tokens: context.filter(|tokens| *tokens > 0), ..model })
    });
    Survey::new(ServerKind::Other, LIST, models.collect())
}

//! The baseline: nothing but async-openai, calling again as soon as an answer is whole.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::fake_model::FakeModel;
use crate::load::MODEL;

/// One call for each prompt size, in bytes; the first one makes no gap.
pub(super) async fn run(model: &FakeModel, prompts: &[usize]) -> anyhow::Result<()> {
    let config = OpenAIConfig::new().with_api_base(model.url()).with_api_key("none");
    let client = Client::with_config(config);
    let first = prompts.first().copied().unwrap_or_default();
    for bytes in std::iter::once(first).chain(prompts.iter().copied()) {
        let request = request(bytes);
        let mut stream = client.chat().create_stream_byot::<_, Value>(request).await?;
        let mut text = String::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            text.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        }
        anyhow::ensure!(!text.is_empty(), "the fake model gave no answer");
    }
    Ok(())
}

/// The name of the contract makes the server count it as a coding turn.
fn request(bytes: usize) -> Value {
    json!({
        "model": MODEL,
        "stream": true,
        "messages": [{"role": "user", "content": "x".repeat(bytes)}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "CodingAction", "schema": {}}},
    })
}

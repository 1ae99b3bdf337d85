//! Whether the model that answered is the one that was asked for. LM Studio answers with whatever is loaded.

use std::collections::HashSet;
use std::sync::PoisonError;
use std::time::Duration;

use async_openai::config::Config;
use nightforge_domain::fault::FaultClass;
use serde_json::Value;

use crate::client::{Answer, Client};
use crate::error::CallError;
use crate::same_model;
use crate::transport::read_capped;

/// A list of models that takes longer is no help.
const LIST_TIME: Duration = Duration::from_secs(5);
const LIST_BYTES: usize = 4 * 1024 * 1024;

impl Client {
    /// Refuses an answer of another model. A name that is no form of the one that was asked for is looked up
    /// once in the server's own list, and is fine from then on where an entry there carries both.
    pub(crate) async fn check_served(&self, answer: &Answer) -> Result<(), CallError> {
        let Some(served) = answer.served_model.as_deref() else { return Ok(()) };
        let asked = self.model();
        if names_one_model(asked, served) || self.known_aliases(|known| known.contains(served)) {
            return Ok(());
        }
        if self.lists_as_alias(served).await {
            self.known_aliases(|known| known.insert(served.to_owned()));
            return Ok(());
        }
        let came_back = format!("an answer of another model, `{served}`, so it is discarded");
        Err(CallError::new(&self.inner.endpoint, FaultClass::ModelMissing, &came_back)
            .with_usage(answer.usage))
    }

    fn known_aliases<R>(&self, look: impl FnOnce(&mut HashSet<String>) -> R) -> R {
        look(&mut self.inner.aliases.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn lists_as_alias(&self, served: &str) -> bool {
        let endpoint = &self.inner.endpoint;
        let asking = async {
            let request = self.inner.http.get(endpoint.url("/models")).headers(endpoint.headers());
            let response = request.send().await.ok().filter(|response| response.status().is_success())?;
            serde_json::from_slice::<Value>(&read_capped(response, LIST_BYTES).await.0).ok()
        };
        match tokio::time::timeout(LIST_TIME, asking).await {
            Ok(Some(list)) => is_alias(&list, &endpoint.model, served),
            // Without a list the name alone has to decide.
            Ok(None) | Err(_) => false,
        }
    }
}

/// Whether one entry of a server's list carries both names. `root` is vLLM's path of a served name, `aliases`
/// are llama.cpp's.
fn is_alias(list: &Value, asked: &str, served: &str) -> bool {
    let entries = ["data", "models"].iter().filter_map(|key| list[*key].as_array()).flatten();
    entries.into_iter().any(|entry| {
        let names: Vec<&str> = ["id", "name", "model", "root"]
            .iter()
            .map(|key| &entry[*key])
            .chain(entry["aliases"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        let carries = |name: &str| names.iter().any(|known| names_one_model(known, name));
        carries(asked) && carries(served)
    })
}

/// Whether two names are forms of one model's name: what [`same_model`] takes, a file or folder with and
/// without its path or publisher, LM Studio's `@quantization`, and a dated version as remote servers answer it.
fn names_one_model(asked: &str, served: &str) -> bool {
    if same_model(asked, served) {
        return true;
    }
    let (asked, served) = (plain(asked), plain(served));
    let (asked_last, served_last) = (last_part(&asked), last_part(&served));
    // Two publishers' files of one name are two models.
    let one_is_bare = !asked.contains('/') || !served.contains('/') || is_path(&asked) || is_path(&served);
    let one_is_unversioned = |longer: &str, shorter: &str| {
        longer.strip_prefix(shorter).is_some_and(|rest| rest.starts_with('@') || is_date(rest))
    };
    one_is_bare
        && (same_model(asked_last, served_last)
            || one_is_unversioned(served_last, asked_last)
            || one_is_unversioned(asked_last, served_last))
        || one_is_unversioned(&served, &asked)
        || one_is_unversioned(&asked, &served)
}

fn plain(name: &str) -> String {
    name.trim().trim_end_matches(['/', '\\']).replace('\\', "/").to_lowercase()
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// A path on the server's disk, not `publisher/model`.
fn is_path(name: &str) -> bool {
    name.starts_with(['/', '~', '.']) || name.contains(":/")
}

/// `-2024-08-06` or `-20240806`.
fn is_date(rest: &str) -> bool {
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    rest.starts_with('-') && digits == 8 && rest.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_of_one_name() {
        for (asked, served) in [
            ("openai/gpt-oss-20b", "openai/gpt-oss-20b"),
            ("openai/gpt-oss-20b", "OpenAI/GPT-OSS-20B"),
            ("openai/gpt-oss-20b", "openai/gpt-oss-20b:2"),
            ("openai/gpt-oss-20b", "gpt-oss-20b"),
            ("gpt-oss-20b", "openai/gpt-oss-20b"),
            ("qwen3", "qwen3:latest"),
            ("qwen3:latest", "qwen3"),
            ("gpt-oss-20b", "/models/gpt-oss-20b.gguf"),
            ("gpt-oss-20b.gguf", "C:\\models\\gpt-oss-20b.gguf"),
            ("Qwen/Qwen3-8B", "/data/models/Qwen3-8B"),
            ("Qwen/Qwen3-8B", "/data/models/Qwen3-8B/"),
            ("./gpt-oss-20b.gguf", "gpt-oss-20b"),
            ("qwen3-8b", "qwen3-8b@q4_k_m"),
            ("qwen/qwen3-8b@q4_k_m", "qwen/qwen3-8b"),
            ("gpt-4o", "gpt-4o-2024-08-06"),
            ("vendor/model", "vendor/model-20250514"),
        ] {
            assert!(names_one_model(asked, served), "{asked} and {served}");
        }
    }

    #[test]
    fn names_of_two_models() {
        for (asked, served) in [
            ("gpt-oss-20b", "gpt-oss-120b"),
            ("openai/gpt-oss-20b", "qwen/qwen3-8b"),
            ("qwen3:8b", "qwen3:4b"),
            ("qwen3-8b@q4_k_m", "qwen3-8b@q8_0"),
            ("gpt-4o", "gpt-4o-mini"),
            ("gpt-4o", "gpt-4o-mini-2024-07-18"),
            ("bartowski/qwen3-8b", "unsloth/qwen3-8b"),
            ("qwen3-8b", "/models/qwen3-14b.gguf"),
            ("gpt-oss-20b", "gpt-oss-20b-Q4_K_M.gguf"),
            ("m", "n"),
        ] {
            assert!(!names_one_model(asked, served), "{asked} and {served}");
        }
    }

    #[test]
    fn a_list_tells_of_aliases() {
        let llama = json!({"data": [{"id": "/m/a.gguf", "aliases": ["coder", "/m/a.gguf"]}]});
        assert!(is_alias(&llama, "coder", "/m/a.gguf"));
        let vllm = json!({"data": [{"id": "coder", "root": "/weights/9f3c"}]});
        assert!(is_alias(&vllm, "coder", "/weights/9f3c"));
        // LM Studio lists every model on its disk, each in an entry of its own.
        let several = json!({"data": [{"id": "coder"}, {"id": "other"}]});
        assert!(!is_alias(&several, "coder", "other"));
        for odd in [json!(null), json!({"data": 3}), json!({"data": [null, {"aliases": "coder"}]})] {
            assert!(!is_alias(&odd, "coder", "other"), "{odd}");
        }
    }
}

//! Looks whether an endpoint can be asked.

use std::fmt;
use std::time::Duration;

use async_openai::config::Config;
use nightforge_domain::fault::FaultClass;
use serde_json::Value;

use crate::classify::ErrorText;
use crate::client::Client;
use crate::transport::{TransportFault, read_capped, send_fault, status_fault};

const LIST: &str = "GET /models";
/// A server that lists its models more slowly can't be asked now.
const PROBE_TIME: Duration = Duration::from_secs(5);
const LIST_BYTES: usize = 4 * 1024 * 1024;

/// What an endpoint answered. Each message names the endpoint, what was asked, what came back and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// It has the model. LM Studio and Ollama list models that they load on the first call.
    Ready {
        /// Every model that it lists.
        models: Vec<String>,
    },
    /// It is up, its model is not ready yet.
    Loading {
        /// For a person.
        message: String,
    },
    /// No connection, or no answer in 5 s.
    Unreachable {
        /// For a person.
        message: String,
    },
    /// It does not have the model.
    WrongModel {
        /// The models that it lists.
        served: Vec<String>,
        /// For a person.
        message: String,
    },
    /// It wants a key, or another one.
    AuthNeeded {
        /// For a person.
        message: String,
    },
    /// It answers, but not as an OpenAI-compatible server that is well.
    Unusable {
        /// For a person.
        message: String,
    },
}

impl Probe {
    /// Whether the model can be asked.
    pub fn is_ready(&self) -> bool {
        matches!(self, Probe::Ready { .. })
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Probe::Ready { models } => write!(f, "ready, serves {}", models.join(", ")),
            Probe::Loading { message }
            | Probe::Unreachable { message }
            | Probe::WrongModel { message, .. }
            | Probe::AuthNeeded { message }
            | Probe::Unusable { message } => f.write_str(message),
        }
    }
}

/// Whether a server's name for a model means the one that was asked for. llama.cpp names the file it loaded,
/// Ollama adds `:latest`, and LM Studio adds `:2` to a second instance.
pub fn same_model(asked: &str, served: &str) -> bool {
    let plain = |name: &str| {
        let name = name.to_lowercase();
        let name = match name.strip_suffix(".gguf") {
            Some(path) => path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
            None => name,
        };
        match name.rsplit_once(':') {
            Some((name, tag)) if tag == "latest" || tag.bytes().all(|b| b.is_ascii_digit()) => {
                name.to_owned()
            }
            _ => name,
        }
    };
    plain(asked) == plain(served)
}

impl Client {
    /// Asks the endpoint for its models, and llama.cpp for its health, which lists the model before it is
    /// loaded. Takes at most 5 s for each.
    pub async fn probe(&self) -> Probe {
        let endpoint = &self.inner.endpoint;
        let list = match self.get(&endpoint.url("/models"), LIST).await {
            Ok(list) => list,
            Err(probe) => return probe,
        };
        let Some(entries) = list["data"].as_array().or(list["models"].as_array()) else {
            let start: String = list.to_string().chars().take(200).collect();
            let message = endpoint.say(LIST, &format!("`{start}`, no list of models"), NOT_OPENAI);
            return Probe::Unusable { message };
        };
        let name = |entry: &Value| {
            ["id", "name", "model"].iter().find_map(|key| entry[*key].as_str().map(str::to_owned))
        };
        let models: Vec<String> = entries.iter().filter_map(name).collect();
        if entries.iter().any(|entry| entry["owned_by"] == "llamacpp")
            && let Err(probe) = self.get(&format!("{}/health", endpoint.root()), "GET /health").await
        {
            return probe;
        }
        if models.iter().any(|served| same_model(&endpoint.model, served)) {
            return Probe::Ready { models };
        }
        let came_back = match models.as_slice() {
            [] => "no model".to_owned(),
            models => format!("the models `{}`", models.join("`, `")),
        };
        let message = endpoint.say(LIST, &came_back, "Load the model in the server, or name one that it has");
        Probe::WrongModel { served: models, message }
    }

    async fn get(&self, url: &str, asked: &str) -> Result<Value, Probe> {
        let endpoint = &self.inner.endpoint;
        let asking = async {
            let response =
                self.inner.http.get(url).headers(endpoint.headers()).send().await.map_err(send_fault)?;
            if !response.status().is_success() {
                return Err(status_fault(response).await);
            }
            Ok(read_capped(response, LIST_BYTES).await.0)
        };
        let unreachable = |came_back: &str| {
            let message = endpoint.say(asked, came_back, "Start the server, or correct the endpoint's url");
            Probe::Unreachable { message }
        };
        match tokio::time::timeout(PROBE_TIME, asking).await {
            Err(_) => Err(unreachable(&format!("no answer within {PROBE_TIME:?}"))),
            Ok(Err(TransportFault::Status { status, location, body, .. })) => {
                let error = ErrorText::of_body(&body);
                let to = location
                    .map(|to| format!(", a redirect to `{to}`, which is not followed"))
                    .unwrap_or_default();
                let came_back = format!("HTTP {status}{to} `{}`", error.message);
                let say = |remedy| endpoint.say(asked, &came_back, remedy);
                Err(match error.class(Some(status)) {
                    Some(FaultClass::Auth) => Probe::AuthNeeded {
                        message: say(
                            "Give the endpoint a key that the server accepts (`api_key_env` in nightforge.toml)",
                        ),
                    },
                    Some(FaultClass::Loading) => {
                        Probe::Loading { message: say("Wait until the model is loaded") }
                    }
                    Some(FaultClass::ServerDown) => unreachable(&came_back),
                    Some(FaultClass::ModelMissing) => Probe::Unusable { message: say(NOT_OPENAI) },
                    _ => Probe::Unusable { message: say("The server's log has the cause") },
                })
            }
            Ok(Err(fault)) => Err(unreachable(&fault.to_string())),
            Ok(Ok(body)) => serde_json::from_slice(&body).map_err(|_| {
                let start = ErrorText::of_body(&String::from_utf8_lossy(&body)).message;
                let start: String = start.chars().take(200).collect();
                Probe::Unusable {
                    message: endpoint.say(asked, &format!("`{start}`, which is not JSON"), NOT_OPENAI),
                }
            }),
        }
    }
}

const NOT_OPENAI: &str = "The url must be the base of an OpenAI-compatible API, most often it ends in /v1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_names_of_one_model() {
        assert!(same_model("openai/gpt-oss-20b", "openai/gpt-oss-20b"));
        assert!(
            same_model("qwen3", "qwen3:latest") && same_model("openai/gpt-oss-20b", "openai/gpt-oss-20b:2")
        );
        assert!(same_model("gpt-oss-20b", "/models/GPT-OSS-20b.gguf"));
        assert!(!same_model("gpt-oss-20b", "gpt-oss-120b") && !same_model("qwen3:8b", "qwen3:4b"));
        assert!(!same_model("gpt-oss-20b", "gpt-oss-20b-Q4_K_M.gguf"));
    }
}

//! The servers that are known, and what to do at each where the context is too short.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which server an endpoint is, by its own answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerKind {
    /// LM Studio.
    LmStudio,
    /// llama.cpp's `llama-server`.
    LlamaCpp,
    /// Ollama.
    Ollama,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// Any other OpenAI-compatible server.
    Other,
}

impl ServerKind {
    /// The kind's name in logs, metrics and rows; it never changes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LmStudio => "lm-studio",
            Self::LlamaCpp => "llama-cpp",
            Self::Ollama => "ollama",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::Other => "other",
        }
    }

    /// By the `owned_by` of a listed model, where that word is one server's own. Ollama writes the model's name
    /// space, which is `library` for most models and a person's name for others.
    pub(super) fn of_owner(owner: &str) -> Option<Self> {
        match owner {
            "organization_owner" => Some(Self::LmStudio),
            "llamacpp" => Some(Self::LlamaCpp),
            "library" => Some(Self::Ollama),
            "vllm" => Some(Self::Vllm),
            "sglang" => Some(Self::Sglang),
            _ => None,
        }
    }

    /// For a person: how to give the model `least` tokens of context at this server, which computes `slots` calls
    /// at a time where that is known.
    pub fn longer_context(self, model: &str, least: u64, slots: Option<u32>) -> String {
        match self {
            Self::LmStudio => format!(
                "Load the model again with a longer Context Length (in the app when loading, or `lms unload {model}` \
                 and `lms load {model} --context-length {least}`)"
            ),
            Self::LlamaCpp => {
                let slots = u64::from(slots.unwrap_or(1).max(1));
                format!(
                    "Start llama-server with a longer `-c`, which its slots share: {slots} × {least} = `-c {}` or more",
                    slots.saturating_mul(least)
                )
            }
            Self::Ollama => format!(
                "Start Ollama with OLLAMA_CONTEXT_LENGTH={least} or more, or make a model whose Modelfile says \
                 `PARAMETER num_ctx {least}`; its /v1 ignores num_ctx in requests"
            ),
            Self::Vllm => format!("Start vLLM with `--max-model-len {least}` or more"),
            Self::Sglang => format!("Start SGLang with `--context-length {least}` or more"),
            Self::Other => format!("Give the model at least {least} tokens of context in its server"),
        }
    }

    /// How to get a model into this server.
    pub(super) fn install(self, model: &str) -> String {
        let named = "or name one that it has (`name` under [models.NAME] in nightforge.toml)";
        match self {
            Self::LmStudio => format!("Get it with `lms get {model}`, {named}"),
            Self::Ollama => format!("Get it with `ollama pull {model}`, {named}"),
            _ => format!("Start the server with that model, {named}"),
        }
    }
}

impl fmt::Display for ServerKind {
    /// As a person calls it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LmStudio => "LM Studio",
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "Ollama",
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::Other => "OpenAI-compatible server",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialized_ones() {
        use ServerKind::*;
        for kind in [LmStudio, LlamaCpp, Ollama, Vllm, Sglang, Other] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn llama_cpps_slots_share_its_context() {
        assert!(ServerKind::LlamaCpp.longer_context("m", 16_384, Some(4)).contains("`-c 65536`"));
        assert!(ServerKind::LlamaCpp.longer_context("m", 16_384, None).contains("`-c 16384`"));
    }
}

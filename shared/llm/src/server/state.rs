//! The states of an endpoint, and one look's result.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::kind::ServerKind;

/// Whether an endpoint's model can be asked, and if not, what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointState {
    /// No connection, or no answer in time.
    Unreachable,
    /// Something answers, but not as an OpenAI-compatible server that is well.
    Alive,
    /// The model is installed and not loaded; [`Client::load`](crate::Client::load) loads it.
    Cold,
    /// The model is being loaded; waiting is enough.
    Loading,
    /// The server does not have the model.
    WrongModel,
    /// The model is loaded with less context than is needed.
    ContextTooSmall,
    /// The model is loaded, and nobody says with how much context: neither the server nor the configuration.
    /// It is not guessed, because a guess that is too long makes servers cut prompts in silence.
    ContextUnknown,
    /// The server wants a key, or another one.
    AuthNeeded,
    /// The model can be asked and the server has room.
    Ready,
    /// The model can be asked; the server says that all its slots compute, so the answer waits its turn.
    Busy,
    /// Looks are fine and calls fail. No look finds this: whoever makes the calls says so.
    Degraded,
}

impl EndpointState {
    /// Every state, in the order in which an endpoint usually goes through them.
    pub const ALL: [Self; 11] = [
        Self::Unreachable,
        Self::Alive,
        Self::AuthNeeded,
        Self::WrongModel,
        Self::Cold,
        Self::Loading,
        Self::ContextUnknown,
        Self::ContextTooSmall,
        Self::Ready,
        Self::Busy,
        Self::Degraded,
    ];

    /// The state's name in logs, metrics, rows and pages; it never changes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Alive => "alive",
            Self::Cold => "cold",
            Self::Loading => "loading",
            Self::WrongModel => "wrong-model",
            Self::ContextTooSmall => "context-too-small",
            Self::ContextUnknown => "context-unknown",
            Self::AuthNeeded => "auth-needed",
            Self::Ready => "ready",
            Self::Busy => "busy",
            Self::Degraded => "degraded",
        }
    }

    /// Whether a call can be sent now.
    pub fn can_be_asked(self) -> bool {
        matches!(self, Self::Ready | Self::Busy)
    }
}

impl fmt::Display for EndpointState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one look at an endpoint found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Which server answers; after a look that got no answer, the one that was there before, else `Other`.
    pub server: ServerKind,
    /// Whether the model can be asked.
    pub state: EndpointState,
    /// For a person: the endpoint, what was asked, what came back, what to do. Holds no key.
    pub message: String,
    /// The server's names of the models that it has, loaded or not.
    pub models: Vec<String>,
    /// Tokens of context that one call may use: the smaller one of what the server has loaded and what is
    /// configured; `None` where neither is known.
    pub context_tokens: Option<u64>,
    /// Calls that the server computes at a time, where it says so (llama.cpp).
    pub server_slots: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialized_ones_and_only_two_states_can_be_asked() {
        for state in EndpointState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        let asked: Vec<_> = EndpointState::ALL.into_iter().filter(|state| state.can_be_asked()).collect();
        assert_eq!(asked, [EndpointState::Ready, EndpointState::Busy]);
    }
}

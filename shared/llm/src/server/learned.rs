//! What a client has learned about its server. Shared by its clones; nothing of it is written anywhere.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::kind::ServerKind;
use super::state::{EndpointState, Sighting};
use crate::budget::TokenRatio;
use crate::client::Client;

/// Counts that are kept: a prompt is counted for its budget and again when it is sent, seldom later.
const COUNTS_KEPT: usize = 16;

/// What was learned so far.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    facts: Mutex<Facts>,
    /// Real tokens against estimated ones.
    pub(crate) ratio: TokenRatio,
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    /// `None` before the first look that got an answer.
    pub(super) server: Option<ServerKind>,
    /// As loaded in the server, whatever is configured.
    pub(super) context_tokens: Option<u64>,
    pub(super) server_slots: Option<u32>,
    /// LM Studio without `/api/v1`, which logs an error each time that it is asked for it.
    pub(super) lm_studio_v0: bool,
    /// The models of a server that turned out to be none of the known ones; while they stay the same it is not
    /// asked again which one it is.
    pub(super) others_models: Option<Vec<String>>,
    /// When llama.cpp's slots were last asked for, and whether all computed.
    pub(super) slots_seen: Option<(Instant, bool)>,
    /// When SGLang last made a token for a look.
    pub(super) token_seen: Option<Instant>,
    /// SGLang's context, where its list does not tell it.
    pub(super) sglang_context: Option<u64>,
    /// The server has no way to count, whatever its kind.
    pub(super) counts_nothing: bool,
    /// Prompts by their hash, oldest first.
    counts: VecDeque<(u64, u64)>,
}

impl Learned {
    pub(super) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This server answers. Where it is another than before, nothing that was learned of that one holds.
    pub(super) fn is_at(&self, server: ServerKind) {
        let mut facts = self.facts();
        if facts.server != Some(server) {
            *facts = Facts { server: Some(server), ..Facts::default() };
        }
    }

    /// Takes over what a look at the model found. What a model that is not loaded now was loaded with stays: it is
    /// the best that is known of it.
    pub(super) fn saw(&self, sighting: &Sighting, server_context: Option<u64>) {
        let mut facts = self.facts();
        match sighting.state {
            EndpointState::Ready
            | EndpointState::Busy
            | EndpointState::ContextTooSmall
            | EndpointState::ContextUnknown => {
                facts.context_tokens = server_context;
                facts.server_slots = sighting.server_slots;
            }
            EndpointState::WrongModel => facts.context_tokens = None,
            _ => {}
        }
    }
}

impl Facts {
    pub(super) fn count_of(&self, prompt: u64) -> Option<u64> {
        self.counts.iter().find(|(hash, _)| *hash == prompt).map(|(_, tokens)| *tokens)
    }

    pub(super) fn keep_count(&mut self, prompt: u64, tokens: u64) {
        if self.counts.len() == COUNTS_KEPT {
            self.counts.pop_front();
        }
        self.counts.push_back((prompt, tokens));
    }
}

impl Client {
    /// Which server answered the last look; `None` before the first that got an answer.
    pub fn server(&self) -> Option<ServerKind> {
        self.inner.learned.facts().server
    }

    /// Tokens of context that one call may use: the smaller one of what the last look saw loaded and what is
    /// configured. `None` where neither is known.
    pub fn context_tokens(&self) -> Option<u64> {
        let seen = self.inner.learned.facts().context_tokens;
        smaller(seen, self.inner.endpoint.context_tokens)
    }

    /// Calls that the server computes at a time, as the last look saw it (llama.cpp).
    pub fn server_slots(&self) -> Option<u32> {
        self.inner.learned.facts().server_slots
    }

    /// How many tokens this model makes of a text, against the estimate.
    pub fn token_ratio(&self) -> &TokenRatio {
        &self.inner.learned.ratio
    }
}

/// The smaller one of two lengths that may be unknown.
pub(super) fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (known, None) | (None, known) => known,
    }
}

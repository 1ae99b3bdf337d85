//! What the handlers work with.

use std::path::PathBuf;

use nightforge_domain::{AgentModels, Limits, ModelName};
use nightforge_queue::Bells;
use nightforge_store::Store;

/// Everything that the HTTP interface needs.
#[derive(Debug, Clone)]
pub struct Api {
    /// The state of record.
    pub store: Store,
    /// Rings the scheduler after each accepted request.
    pub bells: Bells,
    /// The models that can be asked for.
    pub models: Models,
    /// The data folder: repositories lie below `git/`, reports below `reports/`.
    pub data: PathBuf,
    /// The limits of a task that names none.
    pub defaults: Limits,
}

/// The configured models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    /// Every model that a worker serves.
    pub known: Vec<KnownModel>,
    /// Which model each agent calls, unless a task names another one.
    pub agents: AgentModels,
}

impl Models {
    /// Whether a worker serves this model.
    pub fn knows(&self, name: &ModelName) -> bool {
        self.known.iter().any(|model| model.name == *name)
    }
}

/// One configured model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    /// As named in the configuration.
    pub name: ModelName,
    /// As its server names it.
    pub server_name: String,
    /// The URLs of its endpoints, without credentials.
    pub endpoints: Vec<String>,
}

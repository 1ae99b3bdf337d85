//! What the handlers work with.

use std::path::PathBuf;

use nightforge_domain::{AgentModels, Limits, ModelName};
use nightforge_queue::Bells;
use nightforge_store::Store;

use crate::waiting::Floor;

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
    /// The names of the search back-ends that research is done with; empty where none is configured.
    pub search: Vec<String>,
    /// The limits of a task that names none.
    pub defaults: Limits,
}

/// The configured models; those that live workers announce are known beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    /// Every model of this process's configuration.
    pub known: Vec<KnownModel>,
    /// Which model each agent calls, unless a task names another one. Without it, every agent calls the only model
    /// that there is.
    pub agents: Option<AgentModels>,
}

impl Models {
    /// Every model that tasks can ask for, by name, each once: configured, or announced by a live worker.
    pub(crate) fn names(&self, floor: &Floor) -> Vec<ModelName> {
        let mut names = floor.announced();
        names.extend(self.known.iter().map(|model| model.name.clone()));
        names.sort();
        names.dedup();
        names
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

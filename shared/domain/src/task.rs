//! A task as it is asked for: kind, objective, priority.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Agent, Limits, Millis, ModelName, TaskId};

/// What a task does with its objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Builds a project, one tested commit per feature.
    Build,
    /// Answers a question from sources: a Manager, Researchers, a Critic.
    Research,
}

impl Kind {
    /// Every kind, for help texts and error messages.
    pub const ALL: [Kind; 2] = [Kind::Build, Kind::Research];

    /// The kind's name in the API, the CLI and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Build => "build",
            Kind::Research => "research",
        }
    }

    /// The agents that call a model for it.
    pub fn agents(self) -> &'static [Agent] {
        match self {
            Kind::Build => &[Agent::Initializer, Agent::Coder],
            Kind::Research => &[Agent::Manager, Agent::Researcher, Agent::Critic, Agent::Synthesizer],
        }
    }

    /// Tokens of context that its models must have at least.
    pub fn min_context_tokens(self) -> u64 {
        match self {
            Kind::Build => 16_384,
            // Views and passages shrink with the budget; below this they hold too little to judge.
            Kind::Research => 4_096,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The kind that was asked for does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind `{0}`; this version knows: build, research")]
pub struct UnknownKind(String);

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownKind(text.chars().take(40).collect()))
    }
}

/// Where a task stands, for people; each kind has finer phases of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Accepted; no transition yet.
    Queued,
    /// Jobs are ready or running.
    Running,
    /// A person has to decide.
    WaitingForHuman,
    /// Everything that was asked for is there.
    Completed,
    /// Ended without a result worth keeping.
    Failed,
    /// Stopped early with a partial result; a person should look.
    NeedsReview,
    /// Ended because somebody asked.
    Cancelled,
}

impl Status {
    /// Every status, in the order of a task's life.
    pub const ALL: [Status; 7] = [
        Status::Queued,
        Status::Running,
        Status::WaitingForHuman,
        Status::Completed,
        Status::Failed,
        Status::NeedsReview,
        Status::Cancelled,
    ];

    /// The name in the API, the CLI and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::WaitingForHuman => "waiting_for_human",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::NeedsReview => "needs_review",
            Status::Cancelled => "cancelled",
        }
    }

    /// No transition but a retry leaves this status.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Completed | Status::Failed | Status::NeedsReview | Status::Cancelled)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Status::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            let known: Vec<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
            format!("unknown state `{text}`; known: {}", known.join(", "))
        })
    }
}

/// What the user asked for: text that is neither empty nor over [`Objective::MAX_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Objective(String);

/// Why a text can't be an objective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectiveError {
    /// Nothing but white space.
    #[error("the objective is empty; say in a sentence what is wanted")]
    Empty,
    /// Longer than the limit.
    #[error("the objective has {0} bytes, at most {max} are taken; put long material into a file of the repository", max = Objective::MAX_BYTES)]
    TooLong(usize),
    /// A NUL byte, which no database column takes.
    #[error("the objective contains a NUL byte; send plain text in UTF-8")]
    Nul,
}

impl Objective {
    /// 64 KiB.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// The text, without white space at its ends.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Objective {
    type Error = ObjectiveError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ObjectiveError::Empty);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(ObjectiveError::TooLong(text.len()));
        }
        if text.contains('\0') {
            return Err(ObjectiveError::Nul);
        }
        Ok(Self(text.to_owned()))
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.0
    }
}

/// From 0 to 9; 9 runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

impl Priority {
    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(5)
    }
}

impl TryFrom<u8> for Priority {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        if number <= 9 { Ok(Self(number)) } else { Err(format!("priority {number} is not between 0 and 9")) }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

/// Everything that is fixed when a task is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// What to do with the objective.
    pub kind: Kind,
    /// What was asked for.
    pub objective: Objective,
    /// Whose task it is; turns between owners are fair.
    pub owner: String,
    /// 9 runs first.
    pub priority: Priority,
    /// The model of each agent, resolved when the task was accepted.
    pub models: AgentModels,
    /// The limits that hold for this task.
    pub limits: Limits,
    /// Whether a person has to accept the feature list before coding starts.
    pub approve: bool,
    /// Work stops here and the partial result is built.
    pub deadline: Option<Millis>,
    /// `research`: the language of the answer, as a code such as `ja`; `None` leaves it to the objective.
    pub language: Option<String>,
    /// `research`: an earlier task with the same question; the result says what changed since.
    pub previous: Option<TaskId>,
    /// Ready-made answer to "did I send this already?": the client's key.
    pub idempotency_key: Option<String>,
}

/// Which model each agent calls. A task has an entry for each agent of its kind, and keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentModels(BTreeMap<Agent, ModelName>);

impl AgentModels {
    /// Every agent of every kind calls the same model.
    pub fn same(model: &ModelName) -> Self {
        Self::chosen(|_| model.clone())
    }

    /// The model that `choose` names for each agent of every kind.
    pub fn chosen(mut choose: impl FnMut(Agent) -> ModelName) -> Self {
        let agents = Kind::ALL.into_iter().flat_map(Kind::agents);
        Self(agents.map(|agent| (*agent, choose(*agent))).collect())
    }

    /// Only the agents of `kind`.
    #[must_use]
    pub fn for_kind(&self, kind: Kind) -> Self {
        let mut models = self.0.clone();
        models.retain(|agent, _| kind.agents().contains(agent));
        Self(models)
    }

    /// The model that executes an agent's jobs. The verifier runs where the coder's workspaces are.
    pub fn of(&self, agent: Agent) -> Option<&ModelName> {
        let agent = if agent == Agent::Verifier { Agent::Coder } else { agent };
        self.0.get(&agent)
    }

    /// Each agent with its model.
    pub fn iter(&self) -> impl Iterator<Item = (Agent, &ModelName)> {
        self.0.iter().map(|(agent, model)| (*agent, model))
    }

    /// Each model once.
    pub fn models(&self) -> impl Iterator<Item = &ModelName> {
        let unique: std::collections::BTreeSet<&ModelName> = self.0.values().collect();
        unique.into_iter()
    }
}

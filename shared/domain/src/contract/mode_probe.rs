//! The question that finds out how a model is asked best.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Contract;

/// Start-up probe: one small action, in the form of the coding agent's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeProbe {
    /// One short sentence: what you do now.
    pub thought: String,
    /// Exactly one tool call.
    pub action: ProbeAction,
}

impl Contract for ModeProbe {
    const NAME: &'static str = "ModeProbe";
}

/// The two tools of the probe. Nothing is done with what they ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tool", rename_all = "snake_case", deny_unknown_fields)]
pub enum ProbeAction {
    /// List the files of a folder.
    ListFiles {
        /// The folder.
        path: String,
    },
    /// Read a file.
    ReadFile {
        /// The file.
        path: String,
        /// Number of lines, or null for all.
        line_count: Option<u32>,
    },
}

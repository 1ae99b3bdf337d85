//! The contracts that agents answer in: one struct is the schema that the model sees, the parser and the
//! documentation. Flat, short, reasoning before the verdict: the readers are models of 20B and less.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

mod mode_probe;
pub mod research;

pub use mode_probe::{ModeProbe, ProbeAction};

/// A type that a model answers in.
pub trait Contract: DeserializeOwned + JsonSchema {
    /// Stands in the request as `json_schema.name`.
    const NAME: &'static str;

    /// The rules that a schema can't say. The error is shown to the model, so it says what to do.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Initializer, first call: how the project is built and tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPlan {
    /// One or two sentences: language, libraries, why they fit.
    pub thought: String,
    /// Short name of the project, lower case with dashes.
    pub name: String,
    /// Shell command that runs test files. It must contain {files}; the harness puts the paths there.
    pub test_command: String,
    /// Path of a feature's test file. It must contain {id}; the harness puts f001, f002, … there.
    pub test_file_pattern: String,
    /// Shell command that checks or builds the project, or null. It may write caches, nothing else.
    pub build_command: Option<String>,
    /// Shell command that starts the project's server on the port in $PORT, or null.
    pub serve_command: Option<String>,
    /// Whole text of init.sh. It prepares the project and can be run again at any time.
    pub init_script: String,
}

impl Contract for ProjectPlan {
    const NAME: &'static str = "ProjectPlan";

    fn check(&self) -> Result<(), String> {
        if !self.test_command.contains("{files}") {
            return Err(
                "test_command must contain {files}, for example: python3 -m unittest {files}".to_owned()
            );
        }
        if !self.test_file_pattern.contains("{id}") {
            return Err("test_file_pattern must contain {id}, for example: tests/test_{id}.py".to_owned());
        }
        let pattern = &self.test_file_pattern;
        let outside = |part: &str| part == ".." || part.eq_ignore_ascii_case(".git");
        if pattern.starts_with(['/', '-']) || pattern.contains('\\') || pattern.split('/').any(outside) {
            return Err(
                "test_file_pattern must be a path inside the project, for example: tests/test_{id}.py"
                    .to_owned(),
            );
        }
        check_init_script(&self.init_script)
    }
}

/// Initializer: `init.sh` again, after it failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitScript {
    /// One sentence: what was wrong.
    pub thought: String,
    /// Whole text of init.sh.
    pub init_script: String,
}

impl Contract for InitScript {
    const NAME: &'static str = "InitScript";

    fn check(&self) -> Result<(), String> {
        check_init_script(&self.init_script)
    }
}

fn check_init_script(script: &str) -> Result<(), String> {
    if script.trim().is_empty() {
        return Err("init_script must not be empty; if nothing is to be prepared, give: #!/bin/sh".to_owned());
    }
    Ok(())
}

/// Initializer: up to ten features.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureBatch {
    /// One sentence: which part of the project these features cover.
    pub thought: String,
    /// The next features, smallest steps first.
    pub features: Vec<FeatureProposal>,
}

/// One feature as the Initializer proposes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureProposal {
    /// Kind of feature.
    pub category: Category,
    /// One sentence that a test can prove.
    pub description: String,
    /// Two to five short steps that a person would take to check it.
    pub steps: Vec<String>,
}

/// Kind of feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Behaviour.
    Functional,
    /// Something that a person sees.
    Visible,
    /// Speed, limits, robustness.
    Quality,
}

impl Contract for FeatureBatch {
    const NAME: &'static str = "FeatureBatch";

    fn check(&self) -> Result<(), String> {
        if self.features.is_empty() {
            return Err("features must hold at least one feature".to_owned());
        }
        if self.features.len() > 10 {
            return Err(format!("features holds {}; give at most 10", self.features.len()));
        }
        for feature in &self.features {
            let length = feature.description.trim().chars().count();
            if length < 8 {
                return Err(format!(
                    "the description `{}` is too short; write one full sentence",
                    feature.description
                ));
            }
            if length > 300 {
                return Err("a description is over 300 characters; write one short sentence".to_owned());
            }
            if feature.steps.is_empty() || feature.steps.len() > 8 {
                return Err(format!("the feature `{}` needs two to five steps", feature.description));
            }
        }
        Ok(())
    }
}

/// Initializer: one of the project's first files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirstFile {
    /// One sentence: what the file is for.
    pub thought: String,
    /// Path inside the project.
    pub path: String,
    /// Whole text of the file.
    pub content: String,
    /// true when another first file must follow, false when this is the last.
    pub more: bool,
}

impl Contract for FirstFile {
    const NAME: &'static str = "FirstFile";

    fn check(&self) -> Result<(), String> {
        if self.path.trim().is_empty() {
            return Err("path must not be empty".to_owned());
        }
        Ok(())
    }
}

/// Coding agent, every turn: one thought, one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodingAction {
    /// One or two sentences: what you saw and what you do now.
    pub thought: String,
    /// Exactly one tool call.
    pub action: Action,
}

impl Contract for CodingAction {
    const NAME: &'static str = "CodingAction";
}

/// The tools of the coding agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tool", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Read lines of a file.
    ReadFile {
        /// Path inside the project.
        path: String,
        /// First line, from 1; null for the start.
        start_line: Option<u32>,
        /// Number of lines, at most 200; null for 200.
        line_count: Option<u32>,
    },
    /// List files below a folder.
    ListFiles {
        /// Folder inside the project; "." for all.
        path: String,
        /// Pattern such as *.py, or null.
        glob: Option<String>,
    },
    /// Find a text in files.
    SearchText {
        /// The exact text to find, no regular expression.
        pattern: String,
        /// Folder or file inside the project; null for all.
        path: Option<String>,
    },
    /// Write a whole file of at most 400 lines, new or in place of a short one.
    WriteFile {
        /// Path inside the project.
        path: String,
        /// Whole text of the file.
        content: String,
    },
    /// Replace a text that occurs exactly once in a file.
    EditFile {
        /// Path inside the project.
        path: String,
        /// The text as it stands in the file, without line numbers.
        old_text: String,
        /// The text that takes its place.
        new_text: String,
    },
    /// Run a shell command that ends by itself.
    RunCommand {
        /// The command.
        command: String,
        /// Seconds it may take, at most 600; null for 60.
        timeout_s: Option<u32>,
    },
    /// Run tests.
    RunTests {
        /// One test file, or null for all tests that must pass, this feature's included.
        file: Option<String>,
    },
    /// Undo changes: put files back to how they were when the session began.
    RevertTo {
        /// A path, or session_start for all files, your new test included.
        target: String,
    },
    /// End the session.
    Finish {
        /// done when the feature works and its test passes, blocked when it can't be done now.
        outcome: FinishOutcome,
        /// What the next session must know, at most 1,000 characters.
        note: String,
    },
}

impl Action {
    /// The tool's name as the model writes it.
    pub fn tool(&self) -> &'static str {
        match self {
            Action::ReadFile { .. } => "read_file",
            Action::ListFiles { .. } => "list_files",
            Action::SearchText { .. } => "search_text",
            Action::WriteFile { .. } => "write_file",
            Action::EditFile { .. } => "edit_file",
            Action::RunCommand { .. } => "run_command",
            Action::RunTests { .. } => "run_tests",
            Action::RevertTo { .. } => "revert_to",
            Action::Finish { .. } => "finish",
        }
    }
}

/// How the agent thinks that its session went; the gate decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishOutcome {
    /// The feature works.
    Done,
    /// It can't be done now.
    Blocked,
}

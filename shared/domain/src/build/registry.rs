//! The feature registry. The database holds the true list; the project's `feature_list.json` is a copy.

use serde::{Deserialize, Serialize};

use crate::contract::Category;
use crate::{CommitId, FeatureId};

/// How a project is set up, built and tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Short name, lower case with dashes.
    pub name: String,
    /// Runs test files; holds `{files}`.
    pub test_command: String,
    /// Path of a feature's test file; holds `{id}`.
    pub test_file_pattern: String,
    /// Checks or builds the project.
    pub build_command: Option<String>,
    /// Starts the project's server on `$PORT`.
    pub serve_command: Option<String>,
}

impl Project {
    /// The one test file that proves a feature.
    pub fn test_file(&self, feature: &FeatureId) -> String {
        self.test_file_pattern.replace("{id}", &feature.slug())
    }

    /// The command that runs these test files.
    pub fn test_command_for<'a>(&self, files: impl IntoIterator<Item = &'a str>) -> String {
        let files: Vec<String> = files.into_iter().map(shell_quoted).collect();
        self.test_command.replace("{files}", &files.join(" "))
    }
}

/// Quotes a word for `sh` where it needs it.
fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A feature as the Initializer registered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureDraft {
    /// Kind of feature.
    pub category: Category,
    /// One sentence that a test can prove.
    pub description: String,
    /// How a person would check it.
    pub steps: Vec<String>,
}

/// Where a feature stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum FeatureStatus {
    /// Not proven yet.
    Waiting,
    /// Proven; the commit carries the trailer `Feature`.
    Passed {
        /// The commit that proved it.
        commit: CommitId,
        /// Worked from the first commit on, without a change of the code.
        already: bool,
    },
    /// Used up its attempts.
    Blocked,
}

/// A feature and its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// `F001`, in list order.
    pub id: FeatureId,
    /// What it is.
    #[serde(flatten)]
    pub draft: FeatureDraft,
    /// Where it stands.
    #[serde(flatten)]
    pub status: FeatureStatus,
    /// Sessions that ended unproved.
    pub attempts: u32,
    /// Of these, in a row since the last rotation.
    pub failures_in_row: u32,
    /// Sessions in a row that changed nothing.
    pub unchanged_in_row: u32,
    /// Times that other features were given their turn first.
    pub rotations: u32,
    /// Times that it passed and was found broken later.
    pub reopened: u32,
    /// Why the last attempt failed; the next session reads it.
    pub last_failure: Option<String>,
}

impl Feature {
    /// A feature of the first list, waiting.
    pub fn new(id: FeatureId, draft: FeatureDraft) -> Self {
        Self {
            id,
            draft,
            status: FeatureStatus::Waiting,
            attempts: 0,
            failures_in_row: 0,
            unchanged_in_row: 0,
            rotations: 0,
            reopened: 0,
            last_failure: None,
        }
    }

    /// Whether it is proven.
    pub fn passes(&self) -> bool {
        matches!(self.status, FeatureStatus::Passed { .. })
    }
}

/// `feature_list.json` as it stands in the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryFile {
    /// Version of this format: 1.
    pub version: u32,
    /// The features, in list order.
    pub features: Vec<RegistryEntry>,
}

/// One feature in `feature_list.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryEntry {
    /// `F001`.
    pub id: FeatureId,
    /// Kind of feature.
    pub category: Category,
    /// One sentence that a test can prove.
    pub description: String,
    /// How a person would check it.
    pub steps: Vec<String>,
    /// Proven or not.
    pub passes: bool,
    /// The one test file that proves it.
    pub test_file: String,
}

/// The registry as the project's copy shows it. `proven` counts as passing beside those that already pass:
/// the copy goes into the same commit as the code that proves it.
pub fn feature_list(features: &[Feature], project: &Project, proven: Option<&FeatureId>) -> RegistryFile {
    let entry = |feature: &Feature| RegistryEntry {
        id: feature.id.clone(),
        category: feature.draft.category,
        description: feature.draft.description.clone(),
        steps: feature.draft.steps.clone(),
        passes: feature.passes() || proven == Some(&feature.id),
        test_file: project.test_file(&feature.id),
    };
    RegistryFile { version: 1, features: features.iter().map(entry).collect() }
}

impl RegistryFile {
    /// The file's exact text.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("strings, numbers and booleans serialise");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        Project {
            name: "kanban".to_owned(),
            test_command: "python3 -m unittest {files}".to_owned(),
            test_file_pattern: "tests/test_{id}.py".to_owned(),
            build_command: None,
            serve_command: None,
        }
    }

    #[test]
    fn a_feature_has_one_test_file() {
        let project = project();
        let file = project.test_file(&FeatureId::numbered(7));
        assert_eq!(file, "tests/test_f007.py");
        assert_eq!(project.test_command_for([file.as_str()]), "python3 -m unittest tests/test_f007.py");
    }

    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(
            project().test_command_for(["a b.py", "c'd.py"]),
            r"python3 -m unittest 'a b.py' 'c'\''d.py'"
        );
    }

    #[test]
    fn the_copy_counts_the_feature_that_is_just_proven() {
        let draft =
            FeatureDraft { category: Category::Functional, description: "d".into(), steps: vec!["s".into()] };
        let features = [
            Feature::new(FeatureId::numbered(1), draft.clone()),
            Feature::new(FeatureId::numbered(2), draft),
        ];
        let list = feature_list(&features, &project(), Some(&FeatureId::numbered(2)));
        let passes: Vec<bool> = list.features.iter().map(|f| f.passes).collect();
        assert_eq!(passes, [false, true]);
        assert!(
            list.text()
                .starts_with("{\n  \"version\": 1,\n  \"features\": [\n    {\n      \"id\": \"F001\",")
        );
    }
}

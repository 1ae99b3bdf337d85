//! The coding agent's tools: dispatch, the rule that the test comes first, and protection of what the harness owns.

use std::time::Duration;

use nightforge_domain::build::{Feature, Project};
use nightforge_domain::contract::{Action, FinishOutcome};
use nightforge_domain::{CommitId, Millis};
use serde::{Deserialize, Serialize};

use super::gate::{Gate, Verdict};
use super::progress::{FEATURE_LIST, PROGRESS};
use super::runner::{Ran, Runner, TEST_TIMEOUT};
use super::syntax;
use super::workspace::Workspace;
use crate::engine::Failure;
use crate::tools::{self, Files, ToolError};

/// What a command may take without saying so, and at most.
const COMMAND_TIMEOUT_S: u32 = 60;
const LONGEST_COMMAND_S: u32 = 600;

/// The tools of one session.
pub(crate) struct Toolbox<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) runner: &'a Runner,
    pub(crate) project: &'a Project,
    pub(crate) features: &'a [Feature],
    pub(crate) feature: &'a Feature,
    pub(crate) base: &'a CommitId,
    pub(crate) first_commit: &'a CommitId,
}

/// What the session knows when a tool is called.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    /// The files' last checkpoint.
    pub(crate) checkpoint: CommitId,
    /// Whether the test was seen to fail.
    pub(crate) red: bool,
    /// For new commits.
    pub(crate) now: Millis,
}

/// What a tool gave; journaled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolOutcome {
    /// For the agent.
    pub(crate) text: String,
    /// The files after the tool.
    pub(crate) checkpoint: CommitId,
    /// Whether the test has been seen to fail.
    pub(crate) red: bool,
    /// Set when the session is over.
    pub(crate) end: Option<End>,
    /// Whether the gate looked and refused.
    pub(crate) refused: bool,
}

/// How a tool ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// The gate accepted.
    Proven,
    /// The gate accepted a feature that needed no code.
    AlreadySatisfied,
    /// The agent gave up.
    Blocked,
}

impl Toolbox<'_> {
    /// Runs one action. Whatever the agent did wrong is text for the agent; errors are this machine's.
    ///
    /// # Errors
    /// When this machine fails.
    pub(crate) async fn run(&self, action: &Action, before: &Before) -> Result<ToolOutcome, Failure> {
        let mut outcome = ToolOutcome {
            text: String::new(),
            checkpoint: before.checkpoint.clone(),
            red: before.red,
            end: None,
            refused: false,
        };
        if let Some(refusal) = self.test_comes_first(action, before.red) {
            outcome.text = refusal;
            return Ok(outcome);
        }
        outcome.text = match self.dispatch(action, before, &mut outcome).await {
            Ok(text) => text,
            Err(ToolError::ForModel(reason)) => format!("ERROR: {reason}"),
            Err(ToolError::Operator(error)) => return Err(Failure::Machine(error)),
        };
        if changes_files(action) {
            if let Some(note) = self.protect().await? {
                outcome.text = format!("{}\n{note}", outcome.text);
            }
            outcome.checkpoint = self.workspace.checkpoint(&before.checkpoint, before.now).await?;
        }
        if !before.red && self.wrote_its_test(action) && !outcome.text.starts_with("ERROR") {
            let (red, said) = self.look_for_red().await?;
            outcome.red = red;
            outcome.text = format!("{}\n{said}", outcome.text);
        }
        Ok(outcome)
    }

    async fn dispatch(
        &self,
        action: &Action,
        before: &Before,
        outcome: &mut ToolOutcome,
    ) -> Result<String, ToolError> {
        match action.clone() {
            Action::ReadFile { path, start_line, line_count } => {
                self.files(move |files| tools::read_file(files, &path, start_line, line_count)).await
            }
            Action::ListFiles { path, glob } => {
                self.files(move |files| tools::list_files(files, &path, glob.as_deref())).await
            }
            Action::SearchText { pattern, path } => {
                self.files(move |files| tools::search_text(files, &pattern, path.as_deref())).await
            }
            Action::WriteFile { path, content } => {
                let name = path.clone();
                let text = self.files(move |files| tools::write_file(files, &path, &content)).await?;
                Ok(match syntax::complaint(self.runner, &name).await? {
                    Some(complaint) => format!("{text}\nBut {name} does not parse:\n{complaint}"),
                    None => text,
                })
            }
            Action::EditFile { path, old_text, new_text } => self.edit(path, old_text, new_text).await,
            Action::RunCommand { command, timeout_s } => self.command(&command, timeout_s, before.red).await,
            Action::RunTests { file } => self.tests(file).await,
            Action::RevertTo { target } => self.revert(&target).await,
            Action::Finish { outcome: FinishOutcome::Blocked, .. } => {
                outcome.end = Some(End::Blocked);
                Ok("The session ends; the feature is not proven.".to_owned())
            }
            Action::Finish { outcome: FinishOutcome::Done, .. } => {
                let gate = Gate { toolbox: self, checkpoint: &before.checkpoint, now: before.now };
                Ok(match gate.judge().await? {
                    Verdict::Proven => {
                        outcome.end = Some(End::Proven);
                        "The gate accepts: the feature is proven.".to_owned()
                    }
                    Verdict::AlreadySatisfied => {
                        outcome.end = Some(End::AlreadySatisfied);
                        "The gate accepts: the feature was there already, and now has its test.".to_owned()
                    }
                    Verdict::Refused(reason) => {
                        outcome.refused = true;
                        format!("ERROR: the gate refuses, the session goes on.\n{reason}")
                    }
                })
            }
        }
    }

    /// Before the test was seen to fail, only files beside it may be written.
    fn test_comes_first(&self, action: &Action, red: bool) -> Option<String> {
        let (Action::WriteFile { path, .. } | Action::EditFile { path, .. }) = action else { return None };
        let test_file = self.test_file();
        // A path that leads outside is refused by the tool itself, in its own words.
        let path = tools::project_path(path).ok()?;
        if red || path == test_file || self.is_test_support(&path) {
            return None;
        }
        Some(format!(
            "ERROR: the test comes first. Write {test_file} now; when the harness has seen it fail (RED), change other files."
        ))
    }

    /// The feature's one test file.
    pub(crate) fn test_file(&self) -> String {
        self.project.test_file(&self.feature.id)
    }

    /// Whether a path lies in the folder of the feature's test file.
    pub(crate) fn is_test_support(&self, path: &str) -> bool {
        let test_file = self.test_file();
        match test_file.rsplit_once('/') {
            Some((folder, _)) => is_below(path, folder),
            None => path == test_file,
        }
    }

    fn wrote_its_test(&self, action: &Action) -> bool {
        matches!(action, Action::WriteFile { path, .. } | Action::EditFile { path, .. }
            if tools::project_path(path).is_ok_and(|path| path == self.test_file()))
    }

    /// Runs the feature's test on the tree without the feature.
    async fn look_for_red(&self) -> Result<(bool, String), Failure> {
        let test_file = self.test_file();
        if let Some(complaint) = syntax::complaint(self.runner, &test_file).await? {
            return Ok((false, format!("NOT RED: {test_file} does not parse. Mend it.\n{complaint}")));
        }
        let ran = self.runner.test(self.project, std::slice::from_ref(&test_file)).await?;
        let text = ran.text(TEST_TIMEOUT);
        Ok(match judge_red(&ran) {
            Red::Fails => (true, format!("RED: the test fails, as it should before the feature exists. Now write the feature.\n{text}")),
            Red::Passes => (false, format!("NOT RED: the test passes although nothing was built. Make it check what is new. If the feature works already, finish with outcome done.\n{text}")),
            Red::Broken => (false, format!("NOT RED: the test could not be run to its end. Mend {test_file}.\n{text}")),
        })
    }

    async fn files<T: Send + 'static>(
        &self,
        tool: impl FnOnce(&Files) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (folder, protected) = (self.workspace.project(), self.protected());
        let done = tokio::task::spawn_blocking(move || tool(&Files::open(&folder, protected)?)).await;
        done.map_err(|error| ToolError::Operator(anyhow::Error::new(error)))?
    }

    /// Paths that no tool of the agent may write: the registry, the diary, the tests of proven features.
    pub(crate) fn protected(&self) -> Vec<String> {
        let mut paths = vec![FEATURE_LIST.to_owned(), PROGRESS.to_owned()];
        paths.extend(self.passed_tests());
        paths
    }

    /// Test files of the features that passed before this session.
    pub(crate) fn passed_tests(&self) -> Vec<String> {
        let passed = self.features.iter().filter(|feature| feature.passes() && feature.id != self.feature.id);
        passed.map(|feature| self.project.test_file(&feature.id)).collect()
    }

    async fn edit(&self, path: String, old_text: String, new_text: String) -> Result<String, ToolError> {
        let path = tools::project_path(&path)?;
        let parsed_before = syntax::complaint(self.runner, &path).await?.is_none();
        let name = path.clone();
        let saved = self.files(move |files| files.read(&name)).await;
        let name = path.clone();
        let text = self.files(move |files| tools::edit_file(files, &name, &old_text, &new_text)).await?;
        let (Some(complaint), true, Ok(saved)) = (syntax::complaint(self.runner, &path).await?, parsed_before, saved)
        else {
            return Ok(text);
        };
        let name = path.clone();
        self.files(move |files| files.write(&name, &saved)).await?;
        Err(ToolError::ForModel(format!("the edit was undone, because {path} would no longer parse:\n{complaint}")))
    }

    async fn command(&self, command: &str, timeout_s: Option<u32>, red: bool) -> Result<String, ToolError> {
        if command.trim_end().ends_with('&') {
            return Err(ToolError::ForModel(
                "commands must end by themselves; leave out the trailing & and test with a program that starts and stops what it needs".to_owned(),
            ));
        }
        let timeout = Duration::from_secs(u64::from(timeout_s.unwrap_or(COMMAND_TIMEOUT_S).clamp(1, LONGEST_COMMAND_S)));
        let ran = self.runner.run(command, timeout).await?;
        let text = ran.text(timeout);
        if !red && let Some(changed) = self.undo_untested_changes().await? {
            return Ok(format!("{text}\nThese changes were undone, the test comes first: {changed}"));
        }
        Ok(text)
    }

    /// Before RED, a command must not change anything but tests either.
    async fn undo_untested_changes(&self) -> anyhow::Result<Option<String>> {
        let changed = self.changed_since_base().await?;
        let untested: Vec<String> =
            changed.into_iter().filter(|path| !self.is_test_support(path) && *path != self.test_file()).collect();
        for path in &untested {
            self.workspace.restore(self.base, Some(path.clone())).await?;
        }
        Ok((!untested.is_empty()).then(|| untested.join(", ")))
    }

    /// Paths that differ from the session's start.
    pub(crate) async fn changed_since_base(&self) -> anyhow::Result<Vec<String>> {
        let (project, base) = (self.workspace.project(), self.base.clone());
        self.workspace
            .git(move |repository| {
                let now = repository.snapshot(&project, Some(&base))?;
                let changes = repository.changed_paths(repository.tree_of(&base)?, now)?;
                Ok(changes.into_iter().map(|change| change.path).collect())
            })
            .await
    }

    async fn tests(&self, file: Option<String>) -> Result<String, ToolError> {
        let files = match file {
            Some(file) => vec![tools::project_path(&file)?],
            None => self.all_tests().await?,
        };
        if files.is_empty() {
            return Err(ToolError::ForModel(format!("there is no test yet; write {} first", self.test_file())));
        }
        let ran = self.runner.test(self.project, &files).await?;
        let verdict = if ran.passed() { "PASSED" } else { "FAILED" };
        Ok(format!("{verdict}: {}\n{}", files.join(", "), ran.text(TEST_TIMEOUT)))
    }

    /// Everything that has to pass: proven features' tests and this feature's own.
    async fn all_tests(&self) -> Result<Vec<String>, ToolError> {
        let mut files = self.passed_tests();
        if self.has_file(&self.test_file()).await? {
            files.push(self.test_file());
        }
        Ok(files)
    }

    /// Whether the project has this file.
    pub(crate) async fn has_file(&self, path: &str) -> Result<bool, ToolError> {
        let path = path.to_owned();
        self.files(move |files| files.has_file(&path)).await
    }

    async fn revert(&self, target: &str) -> Result<String, ToolError> {
        if target == "session_start" {
            self.workspace.restore(self.base, None).await?;
            return Ok("Everything is as it was at the session's start.".to_owned());
        }
        let path = tools::project_path(target)?;
        if !self.changed_since_base().await?.iter().any(|changed| is_below(changed, &path)) {
            return Err(ToolError::ForModel(format!("{path} has not changed since the session's start")));
        }
        self.workspace.restore(self.base, Some(path.clone())).await?;
        Ok(format!("{path} is as it was at the session's start."))
    }

    /// Puts back what the harness owns, where a command changed it.
    async fn protect(&self) -> anyhow::Result<Option<String>> {
        let protected = self.protected();
        let touched: Vec<String> =
            self.changed_since_base().await?.into_iter().filter(|path| protected.contains(path)).collect();
        for path in &touched {
            self.workspace.restore(self.base, Some(path.clone())).await?;
        }
        Ok((!touched.is_empty()).then(|| {
            format!("ERROR: these files belong to the harness and were put back: {}", touched.join(", "))
        }))
    }
}

/// What running a test on a tree without its feature shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Red {
    /// As it should.
    Fails,
    /// It proves nothing.
    Passes,
    /// It did not run to its end; that proves nothing either.
    Broken,
}

/// Judges a run over a tree without the feature. Unresolved names and imports count as red; a command that can't be
/// run, or does not end, does not.
pub(crate) fn judge_red(ran: &Ran) -> Red {
    if ran.passed() {
        Red::Passes
    } else if ran.is_broken_runner() || ran.exit == crate::sandbox::Exit::TimedOut {
        Red::Broken
    } else {
        Red::Fails
    }
}

/// Whether `path` is `folder`, or lies in it.
fn is_below(path: &str, folder: &str) -> bool {
    folder == "." || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn changes_files(action: &Action) -> bool {
    matches!(
        action,
        Action::WriteFile { .. }
            | Action::EditFile { .. }
            | Action::RunCommand { .. }
            | Action::RunTests { .. }
            | Action::RevertTo { .. }
    )
}

//! The coding agent's tools: dispatch, and the rule that the test comes first.

use std::time::Duration;

use nightforge_domain::build::{Feature, Project};
use nightforge_domain::contract::{Action, FinishOutcome};
use nightforge_domain::{CommitId, Millis};
use serde::{Deserialize, Serialize};

use super::gate::{Gate, Verdict};
use super::init_script;
use super::keeping::listed;
use super::red::{Red, is_below, is_test_support, judge_red};
use super::runner::Runner;
use super::syntax;
use super::workspace::Workspace;
use crate::engine::Failure;
use crate::tools::{self, Files, ToolError};

/// What a command may take without saying so, and at most.
const COMMAND_TIMEOUT_S: u32 = 60;
const LONGEST_COMMAND_S: u32 = 600;

/// What an agent does that wants to see its server at work.
const NO_SERVERS: &str = "Everything that a command starts is ended with it, so a server can't be kept running. Start \
    the server inside the test file, use it there, and stop it there.";

/// The tools of one session.
pub(crate) struct Toolbox<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) runner: &'a Runner,
    pub(crate) project: &'a Project,
    pub(crate) features: &'a [Feature],
    pub(crate) feature: &'a Feature,
    /// The last good commit.
    pub(crate) base: &'a CommitId,
    /// The files as the agent found them: `base`, and what `init.sh` made.
    pub(crate) start: &'a CommitId,
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
        let done = match self.dispatch(action, before, &mut outcome).await {
            Ok(text) => {
                outcome.text = text;
                true
            }
            Err(ToolError::ForModel(reason)) => {
                outcome.text = format!("ERROR: {reason}");
                false
            }
            Err(ToolError::Operator(error)) => return Err(Failure::Machine(error)),
        };
        if !changes_files(action) {
            return Ok(outcome);
        }
        if done && !before.red && self.wrote_its_test(action) {
            let (red, said) = self.look_for_red().await?;
            outcome.red = red;
            outcome.text = format!("{}\n{said}", outcome.text);
        }
        let kept = self.keep(before).await?;
        for note in &kept.notes {
            outcome.text = format!("{}\n{note}", outcome.text);
        }
        if kept.undone {
            outcome.red = before.red;
        }
        outcome.checkpoint = kept.checkpoint;
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
                let name = tools::project_path(&path)?;
                let text = self.files(move |files| tools::write_file(files, &path, &content)).await?;
                Ok(match syntax::complaint(self.runner, &name).await? {
                    Some(complaint) => format!("{text}\nBut {name} does not parse:\n{complaint}"),
                    None => text,
                })
            }
            Action::EditFile { path, old_text, new_text } => self.edit(path, old_text, new_text).await,
            Action::RunCommand { command, timeout_s } => self.command(&command, timeout_s).await,
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
        if red || is_test_support(&test_file, &path) {
            return None;
        }
        Some(format!(
            "ERROR: the test comes first, so nothing was written. Write {test_file} now; when the harness has seen it fail (RED), change other files."
        ))
    }

    /// The feature's one test file.
    pub(crate) fn test_file(&self) -> String {
        self.project.test_file(&self.feature.id)
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
        let text = ran.text();
        Ok(match judge_red(&ran) {
            Red::Fails => (
                true,
                format!(
                    "RED: the test fails, as it should before the feature exists. Now write the feature.\n{text}"
                ),
            ),
            Red::Passes => (
                false,
                format!(
                    "NOT RED: the test passes although nothing was built. Make it check what is new. Only if the feature really works already, finish with outcome done: the gate then runs the test over the first commit, where it must fail.\n{text}"
                ),
            ),
            Red::Broken => {
                (false, format!("NOT RED: the test could not be run to its end. Mend {test_file}.\n{text}"))
            }
        })
    }

    /// Runs a file tool beside the runtime.
    pub(crate) async fn files<T: Send + 'static>(
        &self,
        tool: impl FnOnce(&Files) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (folder, protected) = (self.workspace.project(), self.protected());
        let done = tokio::task::spawn_blocking(move || tool(&Files::open(&folder, protected)?)).await;
        done.map_err(|error| ToolError::Operator(anyhow::Error::new(error)))?
    }

    async fn edit(&self, path: String, old_text: String, new_text: String) -> Result<String, ToolError> {
        let path = tools::project_path(&path)?;
        let parsed_before = syntax::complaint(self.runner, &path).await?.is_none();
        let name = path.clone();
        let saved = self.files(move |files| files.read(&name)).await;
        let name = path.clone();
        let text = self.files(move |files| tools::edit_file(files, &name, &old_text, &new_text)).await?;
        let (Some(complaint), true, Ok(saved)) =
            (syntax::complaint(self.runner, &path).await?, parsed_before, saved)
        else {
            return Ok(text);
        };
        let name = path.clone();
        self.files(move |files| files.write(&name, &saved)).await?;
        Err(ToolError::ForModel(format!(
            "the edit was undone, because {path} would no longer parse:\n{complaint}"
        )))
    }

    async fn command(&self, command: &str, timeout_s: Option<u32>) -> Result<String, ToolError> {
        if command.trim_end().ends_with('&') {
            return Err(ToolError::ForModel(format!("commands must end by themselves. {NO_SERVERS}")));
        }
        let timeout = Duration::from_secs(u64::from(
            timeout_s.unwrap_or(COMMAND_TIMEOUT_S).clamp(1, LONGEST_COMMAND_S),
        ));
        let ran = self.runner.run(command, timeout).await?;
        if ran.timed_out() {
            return Err(ToolError::ForModel(format!("{}\n{NO_SERVERS}", ran.text())));
        }
        Ok(ran.text())
    }

    async fn tests(&self, file: Option<String>) -> Result<String, ToolError> {
        let all = file.is_none();
        let files = match file {
            Some(file) => vec![tools::project_path(&file)?],
            None => self.all_tests().await?,
        };
        if files.is_empty() {
            return Err(ToolError::ForModel(format!(
                "there is no test yet; write {} first",
                self.test_file()
            )));
        }
        let ran = self.runner.test(self.project, &files).await?;
        let verdict = if ran.passed() { "PASSED" } else { "FAILED" };
        let next = match (ran.passed(), all) {
            (true, true) => " If the feature is done, finish.",
            (true, false) if files == [self.test_file()] => " Now run_tests with null.",
            _ => "",
        };
        Ok(format!("{verdict}: {}.{next}\n{}", listed(&files), ran.text()))
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
            self.workspace.restore(self.start, None).await?;
            // What it makes and git does not know, empty folders for example, went away as well.
            let init = init_script::run_once(self.runner).await?;
            let init = if init.ok { String::new() } else { format!(" But init.sh fails: {}", init.text) };
            return Ok(format!("Everything is as it was at the session's start.{init}"));
        }
        let path = tools::project_path(target)?;
        if !self.changed_since(self.start).await?.iter().any(|changed| is_below(changed, &path)) {
            return Err(ToolError::ForModel(format!("{path} has not changed since the session's start")));
        }
        self.workspace.restore(self.start, Some(path.clone())).await?;
        Ok(format!("{path} is as it was at the session's start."))
    }
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

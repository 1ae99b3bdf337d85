//! Running the project's commands in the sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use nightforge_domain::build::Project;

use super::workspace::Workspace;
use crate::sandbox::{CommandOutput, Exit, RunOptions, Sandbox};
use crate::tools::clip;

/// A whole test run may take so long.
const TEST_TIMEOUT: Duration = Duration::from_secs(300);

/// A build or check may take so long.
const BUILD_TIMEOUT: Duration = Duration::from_secs(600);

/// Looking for a program may take so long.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Programs that a project may be built with; those that the sandbox has are named to the Initializer.
const KNOWN_PROGRAMS: [&str; 18] = [
    "sh", "bash", "make", "git", "python3", "node", "npm", "deno", "bun", "go", "cargo", "gcc", "g++",
    "java", "ruby", "php", "perl", "sqlite3",
];

/// Runs commands in the sandbox, in one folder.
#[derive(Debug, Clone)]
pub(crate) struct Runner {
    sandbox: Sandbox,
    folder: PathBuf,
    repository: Option<PathBuf>,
    test_timeout: Duration,
}

/// How a command ended, as text for the agent and as a verdict for the harness.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    /// How it ended.
    pub(crate) exit: Exit,
    /// Its output, clipped.
    pub(crate) output: String,
    /// What it was given.
    pub(crate) timeout: Duration,
}

impl Runner {
    /// Runs in the workspace's project folder; `git log` and `git diff` work there.
    pub(crate) fn new(sandbox: &Sandbox, workspace: &Workspace) -> Self {
        Self {
            sandbox: sandbox.clone(),
            folder: workspace.project(),
            repository: Some(workspace.repository().to_owned()),
            test_timeout: TEST_TIMEOUT,
        }
    }

    /// The same with another time limit for a run of tests.
    #[cfg(test)]
    pub(crate) fn with_test_timeout(self, test_timeout: Duration) -> Self {
        Self { test_timeout, ..self }
    }

    /// The same before there is a commit.
    pub(crate) fn without_repository(self) -> Self {
        Self { repository: None, ..self }
    }

    /// The same in another folder.
    pub(crate) fn in_folder(&self, folder: PathBuf) -> Self {
        Self { folder, ..self.clone() }
    }

    /// The folder as commands see it.
    pub(crate) fn directory(&self) -> &Path {
        self.sandbox.project_path(&self.folder)
    }

    /// Runs a shell command.
    ///
    /// # Errors
    /// When this machine can't run it; a command that fails is no error.
    pub(crate) async fn run(&self, command: &str, timeout: Duration) -> anyhow::Result<Ran> {
        let options = RunOptions { timeout, ..RunOptions::default() };
        let ran = self.sandbox.run(&self.folder, self.repository.as_deref(), command, &options).await;
        let CommandOutput { exit, output, .. } = match ran {
            Ok(output) => output,
            // A NUL byte or a command of 128 KiB is the agent's doing, not this machine's.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::InvalidInput | std::io::ErrorKind::ArgumentListTooLong
                ) =>
            {
                return Ok(Ran { exit: Exit::Code(126), output: error.to_string(), timeout });
            }
            Err(error) => return Err(error).context("the sandbox can't start a command"),
        };
        Ok(Ran { exit, output: clip(&output, None), timeout })
    }

    /// Runs test files.
    ///
    /// # Errors
    /// When this machine can't run them.
    pub(crate) async fn test(&self, project: &Project, files: &[String]) -> anyhow::Result<Ran> {
        self.run(&project.test_command_for(files.iter().map(String::as_str)), self.test_timeout).await
    }

    /// Runs the project's build or check.
    ///
    /// # Errors
    /// When this machine can't run it.
    pub(crate) async fn build(&self, command: &str) -> anyhow::Result<Ran> {
        self.run(command, BUILD_TIMEOUT).await
    }
}

impl Ran {
    /// Ended by itself with 0.
    pub(crate) fn passed(&self) -> bool {
        self.exit.is_success()
    }

    /// Ended at the end of its time.
    pub(crate) fn timed_out(&self) -> bool {
        self.exit == Exit::TimedOut
    }

    /// Whether the command itself could not be run, whatever the project is like.
    pub(crate) fn is_broken_runner(&self) -> bool {
        matches!(self.exit, Exit::Code(126 | 127) | Exit::Signal(_))
    }

    /// How it ended, in a few words.
    pub(crate) fn verdict(&self) -> String {
        match self.exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("ended by signal {signal}"),
            Exit::TimedOut => format!("not finished after {} s, ended", self.timeout.as_secs()),
        }
    }

    /// Verdict and output, for the agent.
    pub(crate) fn text(&self) -> String {
        let output = self.output.trim_end();
        let output = if output.is_empty() { "(no output)" } else { output };
        format!("{}\n{output}", self.verdict())
    }
}

/// The known programs that the sandbox has, in a fixed order.
///
/// # Errors
/// When this machine can't run a command.
pub(crate) async fn programs(runner: &Runner) -> anyhow::Result<String> {
    let probe =
        format!("for p in {}; do command -v $p >/dev/null && echo $p; done; true", KNOWN_PROGRAMS.join(" "));
    let found = runner.run(&probe, PROBE_TIMEOUT).await?;
    let pytest = runner.run("python3 -c 'import pytest'", PROBE_TIMEOUT).await?.passed();
    // Models reach for pytest first; nothing can be installed here.
    let shown = |program: &str| match program {
        "python3" if pytest => "python3 (standard library, pytest)".to_owned(),
        "python3" => "python3 (standard library only, no pytest)".to_owned(),
        other => other.to_owned(),
    };
    Ok(found.output.split_whitespace().map(shown).collect::<Vec<_>>().join(", "))
}

//! What the Initializer's answers must satisfy beyond their form: told to the model, which then answers again.

use std::time::Duration;

use nightforge_domain::FeatureId;
use nightforge_domain::build::Project;

use crate::build::{FEATURE_LIST, INIT_SCRIPT, PROGRESS, Ran, Runner};
use crate::engine::Failure;
use crate::tools::{Files, ToolError, project_path};

/// Only whether the commands can be started is asked.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest path of a test file.
const MAX_PATTERN: usize = 100;

/// Why test files can't have such paths. What is allowed needs no quoting in any shell, and no tool takes it for an
/// option.
pub(super) fn pattern_problem(pattern: &str) -> Option<String> {
    const EXAMPLE: &str = "for example: tests/test_{id}.py";
    let refused = |why: &str| Some(format!("test_file_pattern `{pattern}` {why}, {EXAMPLE}"));
    let plain = pattern.replace("{id}", "f001");
    if pattern.len() > MAX_PATTERN {
        return Some(format!(
            "test_file_pattern has over {MAX_PATTERN} characters; give a short one, {EXAMPLE}"
        ));
    }
    if plain.ends_with('/') {
        return refused("is a folder; it must be the path of one file");
    }
    if let Some(odd) = plain.chars().find(|c| !(c.is_ascii_alphanumeric() || "_-./".contains(*c))) {
        return refused(&format!("holds `{}`; use letters, digits, _ - . and / only", odd.escape_default()));
    }
    match project_path(&plain) {
        Err(error) => return refused(&format!("can't be used: {error}")),
        Ok(path) if path.split('/').any(|name| name.starts_with('-')) => {
            return refused("holds a name that starts with `-`, which programs take for an option");
        }
        Ok(_) => {}
    }
    None
}

/// The pattern as paths of the project are written everywhere else: without `.` and doubled slashes.
pub(super) fn normalised(pattern: &str) -> String {
    pattern.split('/').filter(|name| !matches!(*name, "" | ".")).collect::<Vec<_>>().join("/")
}

/// A test file that does not exist must make the test command fail, but not because it can't be started. The build
/// command may fail in an empty folder, but must be there.
///
/// # Errors
/// When this machine can't run a command.
pub(super) async fn command_problem(runner: &Runner, project: &Project) -> anyhow::Result<Option<String>> {
    let command = &project.test_command;
    let missing = project.test_file(&FeatureId::numbered(999));
    let ran = runner.run(&project.test_command_for([missing.as_str()]), PROBE_TIMEOUT).await?;
    if cannot_start(&ran, command) {
        return Ok(Some(format!("`{command}` can't be started: {}", ran.text())));
    }
    if ran.passed() {
        return Ok(Some(format!(
            "`{command}` succeeds although its test file does not exist; it must run the files at {{files}} and fail when one fails"
        )));
    }
    if ran.timed_out() {
        return Ok(Some(format!(
            "`{command}` does not end by itself when its test file does not exist: {}",
            ran.text()
        )));
    }
    if let Some(command) = &project.build_command {
        let ran = runner.run(command, PROBE_TIMEOUT).await?;
        if cannot_start(&ran, command) {
            return Ok(Some(format!("build_command `{command}` can't be started: {}", ran.text())));
        }
    }
    Ok(None)
}

/// Also when Python is there, and the module that it is told to run is not.
fn cannot_start(ran: &Ran, command: &str) -> bool {
    let missing_module = |line: &str| {
        line.rsplit_once("No module named ").is_some_and(|(_, name)| {
            let name = name.trim().trim_matches('\'');
            command.split_whitespace().collect::<Vec<_>>().windows(2).any(|pair| pair == ["-m", name])
        })
    };
    ran.is_broken_runner() || (!ran.passed() && ran.output.lines().any(missing_module))
}

/// The path of a first file as the project knows it, or why the file is refused.
///
/// # Errors
/// When this machine fails.
pub(super) async fn file_problem(
    path: &str,
    content: &str,
    known: &[&str],
) -> Result<Result<String, String>, Failure> {
    let path = match project_path(path) {
        Ok(path) => path,
        Err(ToolError::ForModel(reason)) => return Ok(Err(reason)),
        Err(ToolError::Operator(error)) => return Err(Failure::Machine(error)),
    };
    if [FEATURE_LIST, PROGRESS, INIT_SCRIPT].contains(&path.as_str()) {
        return Ok(Err(format!("{path} is written by the harness")));
    }
    if known.contains(&path.as_str()) {
        return Ok(Err(format!("{path} is there already; give another file, or more = false")));
    }
    let below = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    let taken = known
        .iter()
        .chain(&[FEATURE_LIST, PROGRESS, INIT_SCRIPT])
        .find(|other| below(&path, other) || below(other, &path));
    if let Some(other) = taken {
        return Ok(Err(format!("{path} and {other} can't both be files")));
    }
    let (name, content) = (path.clone(), content.to_owned());
    let tried = tokio::task::spawn_blocking(move || {
        let folder = tempfile::tempdir().map_err(|error| ToolError::Operator(error.into()))?;
        crate::tools::write_file(&Files::open(folder.path(), Vec::new())?, &name, &content)
    });
    match tried.await.map_err(anyhow::Error::new)? {
        Ok(_) => Ok(Ok(path)),
        Err(ToolError::ForModel(reason)) => Ok(Err(reason)),
        Err(ToolError::Operator(error)) => Err(Failure::Machine(error)),
    }
}

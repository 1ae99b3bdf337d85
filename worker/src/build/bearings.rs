//! The first message of a coding session: where we are, what is done, the one feature. Run by the harness, so that
//! no agent has to guess the project's state.

use nightforge_domain::build::{Feature, Project};
use nightforge_domain::CommitId;
use nightforge_llm::estimate_tokens;
use serde_json::json;

use super::progress::{PROGRESS, one_line};
use super::prompts::Prompt;
use super::workspace::Workspace;

/// The whole message fits into so many tokens.
const MAX_TOKENS: u64 = 3_000;

/// Lines of the diary and of the log that are shown at first; halved until the message fits.
const DIARY_LINES: usize = 40;
const LOG_LINES: usize = 20;

/// What the message tells beside the files.
pub(crate) struct Facts<'a> {
    pub(crate) directory: String,
    pub(crate) project: &'a Project,
    pub(crate) feature: &'a Feature,
    pub(crate) attempt: u32,
    pub(crate) passed: usize,
    pub(crate) total: usize,
    pub(crate) base: &'a CommitId,
    pub(crate) init: String,
}

/// Renders the message from the workspace's files and history.
///
/// # Errors
/// When git or the disk fails.
pub(crate) async fn message(workspace: &Workspace, facts: &Facts<'_>) -> anyhow::Result<String> {
    let base = facts.base.clone();
    let (diary, log) = workspace
        .git(move |repository| {
            let diary = repository.file_at(&base, PROGRESS)?.unwrap_or_default();
            Ok((String::from_utf8_lossy(&diary).into_owned(), repository.log(&base, LOG_LINES)?))
        })
        .await?;
    let (mut diary_lines, mut log_lines, mut failure_chars) = (DIARY_LINES, LOG_LINES, 1_500);
    loop {
        let diary: Vec<&str> = diary.lines().collect();
        let last = &diary[diary.len().saturating_sub(diary_lines)..];
        let log: Vec<String> =
            log.iter().take(log_lines).map(|entry| format!("{} {}", entry.short_id, one_line(&entry.subject, 100))).collect();
        let text = Prompt::CoderBearings.render(json!({
            "directory": facts.directory,
            "project": facts.project.name,
            "test_command": facts.project.test_command.replace("{files}", "<test files>"),
            "build_command": facts.project.build_command,
            "passed": facts.passed,
            "total": facts.total,
            "progress": last.join("\n"),
            "log": log.join("\n"),
            "init": one_line(&facts.init, 600),
            "feature": facts.feature.id,
            "description": facts.feature.draft.description,
            "steps": facts.feature.draft.steps,
            "test_file": facts.project.test_file(&facts.feature.id),
            "attempt": facts.attempt,
            "last_failure": facts.feature.last_failure.as_deref().map(|text| clipped(text, failure_chars)),
        }))?;
        if estimate_tokens(&text) <= MAX_TOKENS || diary_lines == 0 {
            return Ok(text);
        }
        diary_lines /= 2;
        log_lines = log_lines.div_ceil(2);
        failure_chars = failure_chars.div_ceil(2).max(400);
    }
}

/// The last `chars` characters: a failure's end says most.
fn clipped(text: &str, chars: usize) -> String {
    let skip = text.chars().count().saturating_sub(chars);
    text.chars().skip(skip).collect()
}

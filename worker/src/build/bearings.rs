//! The first message of a coding session: where we are, what is done, the one feature. Run by the harness, so that
//! no agent has to guess the project's state.

use nightforge_domain::CommitId;
use nightforge_domain::build::{Feature, Project};
use nightforge_llm::estimate_tokens;
use serde_json::json;

use super::progress::{PROGRESS, one_line};
use super::workspace::Workspace;
use crate::prompts::Prompt;

/// The whole message fits into so many tokens.
const MAX_TOKENS: u64 = 3_000;

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
    pub(crate) turns: u32,
}

/// What the history says.
struct History {
    diary: String,
    log: Vec<String>,
    files: Vec<String>,
    /// Files in all.
    file_count: usize,
}

/// How much of each part is shown, in lines and characters.
#[derive(Debug, Clone, Copy)]
struct Room {
    diary_lines: usize,
    log_lines: usize,
    line: usize,
    failure: usize,
    description: usize,
    step: usize,
    short: usize,
    files: usize,
}

impl Room {
    const WHOLE: Room = Room {
        diary_lines: 40,
        log_lines: 20,
        line: 300,
        failure: 1_500,
        description: 1_000,
        step: 300,
        short: 600,
        files: 40,
    };

    /// Less of everything; the feature itself loses last.
    fn smaller(self) -> Room {
        let feature_too = self.diary_lines <= 5;
        let halved = |chars: usize| if feature_too { chars / 2 } else { chars };
        Room {
            diary_lines: self.diary_lines / 2,
            log_lines: self.log_lines / 2,
            line: self.line * 2 / 3,
            failure: halved(self.failure).min(self.failure * 2 / 3),
            description: halved(self.description),
            step: halved(self.step),
            short: halved(self.short),
            files: self.files * 2 / 3,
        }
    }
}

/// Renders the message from the workspace's files and history.
///
/// # Errors
/// When git or the disk fails.
pub(crate) async fn message(workspace: &Workspace, facts: &Facts<'_>) -> anyhow::Result<String> {
    let base = facts.base.clone();
    let history = workspace
        .git(move |repository| {
            let diary = repository.file_at(&base, PROGRESS)?.unwrap_or_default();
            let log = repository.log(&base, Room::WHOLE.log_lines)?;
            let log: Vec<String> =
                log.iter().map(|entry| format!("{} {}", entry.short_id, entry.subject)).collect();
            let (files, file_count) = repository.paths(&base, Room::WHOLE.files)?;
            Ok(History { diary: String::from_utf8_lossy(&diary).into_owned(), log, files, file_count })
        })
        .await?;
    let mut room = Room::WHOLE;
    loop {
        let text = render(facts, &history, room)?;
        if estimate_tokens(&text) <= MAX_TOKENS || room.short == 0 {
            return Ok(text);
        }
        room = room.smaller();
    }
}

fn render(facts: &Facts<'_>, history: &History, room: Room) -> anyhow::Result<String> {
    let diary: Vec<&str> = history.diary.lines().collect();
    let last = diary[diary.len().saturating_sub(room.diary_lines)..]
        .iter()
        .map(|line| clipped_line(line, room.line));
    let commits = history.log.iter().take(room.log_lines).map(|line| one_line(line, room.line.min(100)));
    let mut files: Vec<String> =
        history.files.iter().take(room.files).map(|path| one_line(path, room.line.min(100))).collect();
    if history.file_count > files.len() {
        files.push(format!("and {} more (list_files shows them)", history.file_count - files.len()));
    }
    let steps = facts.feature.draft.steps.iter().take(10).map(|step| one_line(step, room.step));
    Prompt::CoderBearings.render(json!({
        "directory": facts.directory,
        "project": one_line(&facts.project.name, room.short.min(100)),
        "test_command": one_line(&facts.project.test_command.replace("{files}", "<test files>"), room.short),
        "build_command": facts.project.build_command.as_deref().map(|command| one_line(command, room.short)),
        "passed": facts.passed,
        "total": facts.total,
        "progress": last.collect::<Vec<_>>().join("\n"),
        "log": commits.collect::<Vec<_>>().join("\n"),
        "files": files.join(", "),
        "turns": facts.turns,
        "init": one_line(&facts.init, room.short),
        "feature": facts.feature.id,
        "description": one_line(&facts.feature.draft.description, room.description),
        "steps": steps.collect::<Vec<_>>(),
        "test_file": facts.project.test_file(&facts.feature.id),
        "attempt": facts.attempt,
        "reopened": facts.feature.reopened > 0,
        "last_failure": facts.feature.last_failure.as_deref().map(|text| end_of(text, room.failure)),
    }))
}

/// A line of the diary keeps the white space before it, which sets notes apart.
fn clipped_line(line: &str, chars: usize) -> String {
    let text = line.trim_start();
    let indent = if text.len() < line.len() { "  " } else { "" };
    format!("{indent}{}", one_line(text, chars))
}

/// The last `chars` characters: a failure's end says most.
fn end_of(text: &str, chars: usize) -> String {
    let skip = text.chars().count().saturating_sub(chars);
    text.chars().skip(skip).collect()
}

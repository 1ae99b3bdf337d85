//! A research task's workspace and what it came to, for people and for programs.

use nightforge_api::{FindingView, MessageView, SourceView, SubtaskView, TaskView, UncertaintyView};
use nightforge_domain::contract::research::Verdict;
use nightforge_domain::research::{Outcome, ResearchResult};
use serde::Serialize;

use super::table::{pairs, table};
use super::text::{length, one_line};
use super::{Format, Output};
use crate::exit::Failure;

/// What the team has before it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Workspace {
    pub(crate) assignments: Vec<SubtaskView>,
    pub(crate) findings: Vec<FindingView>,
    pub(crate) uncertainties: Vec<UncertaintyView>,
    pub(crate) sources: Vec<SourceView>,
    /// What the Critic said last.
    pub(crate) latest_review: Option<MessageView>,
}

/// A task as `show` prints it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    pub(crate) task: TaskView,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) workspace: Option<Workspace>,
}

impl Output {
    /// One task with its workspace.
    pub(crate) fn shown(&self, shown: &Shown) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(shown),
            Format::Jsonl => self.json_line(shown),
            Format::Table => {
                self.task(&shown.task)?;
                shown.workspace.as_ref().map_or(Ok(()), |workspace| self.workspace(workspace))
            }
        }
    }

    fn workspace(&self, workspace: &Workspace) -> Result<(), Failure> {
        if !workspace.assignments.is_empty() {
            self.text(&format!("\nassignments\n{}", assignments(&workspace.assignments)))?;
        }
        if !workspace.findings.is_empty() {
            self.text(&format!("\nfindings\n{}", findings(&workspace.findings)))?;
        }
        if !workspace.uncertainties.is_empty() {
            let lines: Vec<String> = workspace
                .uncertainties
                .iter()
                .map(|open| format!("{}  {}\n", open.id, one_line(&open.uncertainty.text, 300)))
                .collect();
            self.text(&format!("\nopen questions\n{}", lines.concat()))?;
        }
        if !workspace.sources.is_empty() {
            self.text(&format!("\nsources\n{}", sources(&workspace.sources)))?;
        }
        if let Some(review) = &workspace.latest_review {
            let reason = review.message.reason.as_deref().unwrap_or_default();
            self.text(&format!(
                "\nlatest review\n{}  {}\n{}",
                kind(review),
                one_line(&review.message.content, 1_000),
                reason.lines().map(|line| format!("{}\n", one_line(line, 400))).collect::<String>()
            ))?;
        }
        Ok(())
    }
}

fn kind(review: &MessageView) -> String {
    serde_json::to_value(review.message.kind)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// A name as it stands in JSON.
fn name(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

fn assignments(views: &[SubtaskView]) -> String {
    let row = |view: &SubtaskView| {
        let subtask = &view.subtask;
        vec![
            format!("T{}", subtask.number),
            name(&subtask.status),
            name(&subtask.origin),
            one_line(&subtask.title, 60),
            one_line(subtask.outcome.as_deref().unwrap_or_default(), 100),
        ]
    };
    let rows: Vec<Vec<String>> = views.iter().map(row).collect();
    table(&["", "STATE", "BY", "TITLE", "OUTCOME"], &rows)
}

fn findings(views: &[FindingView]) -> String {
    let row = |view: &FindingView| {
        let finding = &view.finding;
        let cited: Vec<String> =
            finding.grounded.evidence.iter().map(|evidence| evidence.source.to_string()).collect();
        vec![
            finding.id.to_string(),
            format!("{:?}", finding.grounded.level),
            finding.grounded.confidence.as_str().to_owned(),
            finding.verdict.map_or("unreviewed", Verdict::as_str).to_owned(),
            cited.join(" "),
            one_line(&finding.grounded.claim, 160),
        ]
    };
    let rows: Vec<Vec<String>> = views.iter().map(row).collect();
    table(&["", "LEVEL", "CONFIDENCE", "VERDICT", "SOURCES", "CLAIM"], &rows)
}

fn sources(views: &[SourceView]) -> String {
    let row = |source: &SourceView| {
        vec![
            source.id.to_string(),
            source.status.to_string(),
            source.tool.clone(),
            one_line(&source.title, 60),
            one_line(&source.url, 120),
        ]
    };
    let rows: Vec<Vec<String>> = views.iter().map(row).collect();
    table(&["", "STATUS", "BY", "TITLE", "ADDRESS"], &rows)
}

/// The counters of a research task, a line each.
pub(super) fn counters(task: &TaskView) -> Vec<(&'static str, String)> {
    let Some(research) = &task.research else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(language) = &research.language {
        lines.push(("language", language.clone()));
    }
    if let Some(previous) = &research.previous {
        lines.push(("compared with", previous.to_string()));
    }
    lines.push(("iterations", format!("{} of {}", research.iteration, task.limits.max_iterations)));
    lines.push(("agent calls", format!("{} of {}", research.agent_calls, task.limits.max_agent_calls)));
    lines.push((
        "workspace",
        format!(
            "{} assignments, {} findings, {} sources, {} reviews",
            research.assignments, research.findings, research.sources, research.reviews
        ),
    ));
    let end = task.finished_at.unwrap_or(task.updated_at);
    let elapsed_ms = end.as_millisecond() - task.created_at.as_millisecond();
    lines.push((
        "time",
        format!(
            "{} working, {} waiting",
            length(research.working_ms),
            length(elapsed_ms - research.working_ms)
        ),
    ));
    lines
}

/// What it came to, in short, as far as the task itself says.
pub(super) fn came_to(task: &TaskView) -> Vec<(&'static str, String)> {
    let Some(result) = task.research.as_ref().and_then(|research| research.result.as_ref()) else {
        return Vec::new();
    };
    let mut lines: Vec<(&'static str, String)> =
        result.warnings.iter().map(|warning| ("warning", one_line(warning, 400))).collect();
    match &result.conclusion {
        Some(conclusion) => {
            let confidence = result
                .confidence
                .map_or_else(String::new, |confidence| format!(" ({} confidence)", confidence.as_str()));
            lines.push(("answer", format!("{}{confidence}", one_line(conclusion, 1_000))));
        }
        None => lines.push(("answer", no_answer(result.outcome).to_owned())),
    }
    lines
}

fn no_answer(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "none was written",
        Outcome::InsufficientEvidence => "none: nobody found anything that answers it",
        Outcome::Stopped => "none: it ended before that; what was found stands below and in the report",
    }
}

/// Findings of a result without an answer that are shown; the report has all of them.
const SHOWN_FINDINGS: usize = 12;

/// What was found until a task ended without an answer.
fn found_until_then(result: &ResearchResult) -> String {
    if result.findings.is_empty() {
        return String::new();
    }
    let row = |finding: &nightforge_domain::research::Finding| {
        let grounded = &finding.grounded;
        (
            finding.id.0.clone(),
            format!(
                "{} ({:?}, {})",
                one_line(&grounded.claim, 400),
                grounded.level,
                grounded.confidence.as_str()
            ),
        )
    };
    let rows: Vec<(String, String)> = result.findings.iter().take(SHOWN_FINDINGS).map(row).collect();
    let rows: Vec<(&str, String)> = rows.iter().map(|(id, text)| (id.as_str(), text.clone())).collect();
    let (shown, all) = (rows.len(), result.findings.len());
    let more = if shown < all { format!(", {shown} of {all}") } else { String::new() };
    format!("\nfound until then{more}\n{}", pairs(&rows))
}

/// The statements that carry the answer.
pub(super) fn key_findings(result: &ResearchResult) -> String {
    if result.key_findings.is_empty() {
        return found_until_then(result);
    }
    let rows: Vec<(&str, String)> = result
        .key_findings
        .iter()
        .map(|finding| {
            let sources: Vec<String> = finding.sources.iter().map(ToString::to_string).collect();
            let level = match finding.level {
                nightforge_domain::research::Level::G0 => "G0",
                nightforge_domain::research::Level::G1 => "G1",
                nightforge_domain::research::Level::G2 => "G2",
                nightforge_domain::research::Level::G3 => "G3",
            };
            let statement = one_line(&finding.statement, 400);
            let confidence = finding.confidence.as_str();
            (level, format!("{statement} ({confidence}; {})", sources.join(", ")))
        })
        .collect();
    format!("\nkey findings\n{}", pairs(&rows))
}

//! Tasks, for people and for programs.

use nightforge_api::{FeatureCounts, ResultView, TaskPage, TaskView};
use nightforge_domain::contract::research::Confidence;
use nightforge_domain::research::{Outcome, ResearchResult};
use nightforge_domain::{AgentModels, Kind, Status, TaskId};
use serde::Serialize;

use super::research::{came_to, counters, key_findings};
use super::table::{pairs, table};
use super::text::{grouped, length, one_line, shell_word, state};
use super::{Format, Output};
use crate::exit::Failure;

/// What `demo` and `submit` print as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Outcomes {
    tasks: Vec<Came>,
}

/// What one task came to; which fields there are depends on its kind.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Came {
    Build {
        id: TaskId,
        kind: Kind,
        state: Status,
        repository: Option<String>,
        report: Option<String>,
        features: FeatureCounts,
    },
    Research {
        id: TaskId,
        kind: Kind,
        state: Status,
        report: Option<String>,
        result: Option<Answer>,
    },
}

#[derive(Debug, Serialize)]
struct Answer {
    outcome: Outcome,
    conclusion: Option<String>,
    confidence: Option<Confidence>,
    key_findings: usize,
    warnings: Vec<String>,
}

impl Outcomes {
    pub(crate) fn of<'t>(tasks: impl IntoIterator<Item = &'t TaskView>) -> Self {
        Self { tasks: tasks.into_iter().map(Came::of).collect() }
    }
}

impl Came {
    fn of(task: &TaskView) -> Self {
        let (id, kind, state) = (task.id.clone(), task.kind, task.state);
        let report = task.report.clone();
        match &task.research {
            None => {
                let repository = task.repository.clone();
                Came::Build { id, kind, state, repository, report, features: task.features }
            }
            Some(research) => {
                let answer = |result: &ResultView| Answer {
                    outcome: result.outcome,
                    conclusion: result.conclusion.clone(),
                    confidence: result.confidence,
                    key_findings: result.key_findings,
                    warnings: result.warnings.clone(),
                };
                Came::Research { id, kind, state, report, result: research.result.as_ref().map(answer) }
            }
        }
    }
}

impl Output {
    /// A page of tasks.
    pub(crate) fn tasks(&self, page: &TaskPage) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(page),
            Format::Jsonl => page.tasks.iter().try_for_each(|task| self.json_line(task)),
            Format::Table => {
                let row = |task: &TaskView| {
                    vec![
                        task.id.to_string(),
                        task.kind.to_string(),
                        self.state_and_why(task),
                        progress(task),
                        task.priority.get().to_string(),
                        moment(task.created_at),
                        one_line(&task.objective, 50),
                    ]
                };
                let rows: Vec<Vec<String>> = page.tasks.iter().map(row).collect();
                self.text(&table(
                    &["ID", "KIND", "STATE", "PROGRESS", "PRIORITY", "CREATED", "OBJECTIVE"],
                    &rows,
                ))
            }
        }
    }

    /// The state, and in a few words why the task does not go on.
    fn state_and_why(&self, task: &TaskView) -> String {
        let state = state(task.state, self.colour);
        task.waiting
            .first()
            .map_or_else(|| state.clone(), |why| format!("{state} ({})", one_line(&why.short, 40)))
    }

    /// One task in full.
    pub(crate) fn task(&self, task: &TaskView) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(task),
            Format::Jsonl => self.json_line(task),
            Format::Table => self.text(&pairs(&self.details(task))),
        }
    }

    /// What a finished task came to; of research, with its result.
    pub(crate) fn outcome(&self, task: &TaskView, result: Option<&ResearchResult>) -> Result<(), Failure> {
        let mut lines = vec![("task", task.id.to_string()), ("state", state(task.state, self.colour))];
        lines.extend(proven(task));
        lines.extend(reason(task));
        lines.extend(came_to(task));
        lines.extend(spent(task));
        lines.extend(places(task));
        self.text(&pairs(&lines))?;
        result.map_or(Ok(()), |result| self.text(&key_findings(result)))
    }

    fn details(&self, task: &TaskView) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("id", task.id.to_string()),
            ("kind", task.kind.to_string()),
            ("state", state(task.state, self.colour)),
            ("phase", task.phase.clone()),
            ("objective", one_line(&task.objective, 400)),
            ("owner", task.owner.clone()),
            ("priority", task.priority.get().to_string()),
            ("models", called(&task.models)),
            ("created", moment(task.created_at)),
        ];
        if task.paused {
            let by =
                task.paused_by.as_ref().map_or_else(String::new, |by| format!(", by {}", one_line(by, 40)));
            lines.push(("paused", format!("yes{by}")));
        }
        lines.extend(task.waiting.iter().map(|why| ("waiting", one_line(&why.message, 600))));
        if let Some(finished) = task.finished_at {
            lines.push(("finished", moment(finished)));
        }
        if let Some(deadline) = task.deadline {
            lines.push(("deadline", moment(deadline)));
        }
        lines.extend(reason(task));
        lines.extend(proven(task));
        lines.extend(came_to(task));
        lines.extend(spent(task));
        lines.extend(places(task));
        lines
    }
}

fn reason(task: &TaskView) -> Option<(&'static str, String)> {
    task.reason.as_ref().map(|reason| ("reason", one_line(reason, 400)))
}

/// How far it is, in a word.
fn progress(task: &TaskView) -> String {
    match &task.research {
        None => format!("{}/{}", task.features.passed, task.features.total),
        Some(research) => format!("{} findings", research.findings),
    }
}

fn proven(task: &TaskView) -> Option<(&'static str, String)> {
    let features = task.features;
    (task.kind == Kind::Build)
        .then(|| ("features", format!("{} of {} proven", features.passed, features.total)))
}

fn spent(task: &TaskView) -> Vec<(&'static str, String)> {
    let tokens =
        format!("{} in, {} out", grouped(task.spent.prompt_tokens), grouped(task.spent.completion_tokens));
    let end = task.finished_at.unwrap_or(task.updated_at);
    let working_ms = end.as_millisecond() - task.created_at.as_millisecond();
    let model_ms = length(i64::try_from(task.spent.model_ms).unwrap_or(i64::MAX));
    let mut lines = counters(task);
    if task.kind == Kind::Build {
        lines.push(("sessions", task.sessions.to_string()));
    }
    lines.push(("model calls", task.spent.model_calls.to_string()));
    lines.push(("tokens", tokens));
    lines.push(match task.kind {
        Kind::Build => ("time", format!("{}, of it {model_ms} in model calls", length(working_ms))),
        Kind::Research => ("model time", model_ms),
    });
    lines
}

fn places(task: &TaskView) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(repository) = &task.repository {
        lines.push(("repository", repository.clone()));
        if matches!(task.state, Status::Completed | Status::NeedsReview) {
            lines.push(("to get it", format!("git clone {}", shell_word(repository))));
        }
    }
    if let Some(report) = &task.report {
        lines.push(("report", report.clone()));
    }
    lines
}

/// To the second, in UTC as everywhere.
fn moment(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// Each agent with its model.
fn called(models: &AgentModels) -> String {
    models.iter().map(|(agent, model)| format!("{agent}: {model}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repository_that_is_done_comes_with_the_command_that_gets_it() {
        let line = |state: &str, repository: Option<&str>| {
            let task: TaskView = serde_json::from_value(json!({
                "id": "01m8pkh0mt4r6jz5486hcvbwpp", "kind": "build", "objective": "A board", "owner": "local",
                "state": state, "phase": "", "priority": 5, "paused": false,
                "created_at": "2026-12-01T07:00:00Z", "updated_at": "2026-12-01T07:00:00Z",
                "models": {"initializer": "m", "coder": "m"}, "limits": {}, "features": {"passed": 1, "total": 2},
                "sessions": 1,
                "spent": {"model_calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "model_ms": 0},
                "repository": repository,
            }))
            .unwrap();
            places(&task).into_iter().find(|(name, _)| *name == "to get it").map(|(_, line)| line)
        };
        let clone = Some("git clone '/my data/a.git'".to_owned());
        assert_eq!(line("completed", Some("/my data/a.git")), clone);
        assert_eq!(line("needs_review", Some("/my data/a.git")), clone);
        assert_eq!(line("running", Some("/my data/a.git")), None);
        assert_eq!(line("completed", None), None);
    }
}

//! The report of a build, made from the records alone: no model call, also when the task stopped early.

use std::fmt::Write;

use super::{Build, Feature, FeatureStatus};
use crate::research::{ResearchResult, Source};
use crate::state::Context;
use crate::{Millis, Status, TaskId};

/// What is told beside the machine's state.
#[derive(Debug, Clone, Copy)]
pub struct ReportFacts<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// What was asked for.
    pub objective: &'a str,
    /// When it was accepted.
    pub created_at: Millis,
    /// What the model calls used.
    pub spent: Spent,
    /// `research`: the language of the answer, where the task names one.
    pub language: Option<&'a str>,
    /// `research`: every source of the task, without its text.
    pub sources: &'a [Source],
    /// `research`: the result of the earlier task that this one is compared with.
    pub previous: Option<&'a ResearchResult>,
}

impl<'a> ReportFacts<'a> {
    /// Facts without what only research knows.
    pub fn new(task: &'a TaskId, objective: &'a str, created_at: Millis, spent: Spent) -> Self {
        Self { task, objective, created_at, spent, language: None, sources: &[], previous: None }
    }
}

/// The sum of a task's token ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Model calls, failed ones included.
    pub model_calls: u64,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Tokens of answers.
    pub completion_tokens: u64,
    /// Time in model calls.
    pub model_ms: u64,
}

impl Spent {
    /// Tokens in and out.
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens + self.completion_tokens
    }
}

/// The report as Markdown.
pub fn report(build: &Build, end: Status, reason: Option<&str>, context: &Context<'_>) -> String {
    let facts = &context.facts;
    let (passed, total) = build.progress();
    let mut text = String::new();
    let name = build.project.as_ref().map_or("Build", |project| project.name.as_str());
    let _ = writeln!(text, "# {name}\n");
    let _ = writeln!(text, "State: **{end}**, {passed} of {total} features proven.");
    if let Some(reason) = reason {
        let _ = writeln!(text, "\nStopped early: {}.", one_line(reason));
    }
    let _ = writeln!(text, "\n## Objective\n\n{}\n", quoted(facts.objective));
    let _ = writeln!(text, "## Features\n\n| | feature | state | failed attempts |\n|---|---|---|---|");
    for feature in &build.features {
        let _ = writeln!(text, "{}", row(feature));
    }
    for feature in build.features.iter().filter(|feature| !feature.passes()) {
        let _ = writeln!(text, "\n### {}: not proven\n", feature.id);
        match &feature.last_failure {
            Some(failure) => {
                let _ = writeln!(text, "Last failure:\n\n{}", indented(failure));
            }
            None => {
                let _ = writeln!(text, "No session on it came to its end.");
            }
        }
        if let (Some(project), Some(_)) = (&build.project, &feature.last_failure) {
            let command = project.test_command_for([project.test_file(&feature.id).as_str()]);
            let _ = writeln!(text, "\nReproduce: `{command}`");
        }
    }
    let spent = &facts.spent;
    let _ = writeln!(text, "\n## Cost\n");
    let _ = writeln!(text, "- {} coding sessions", build.sessions);
    let _ = writeln!(
        text,
        "- {} model calls, {} tokens in, {} tokens out, {} s in model calls",
        spent.model_calls,
        spent.prompt_tokens,
        spent.completion_tokens,
        spent.model_ms / 1_000
    );
    let _ = writeln!(text, "- {} s from acceptance to the end", context.now.since(facts.created_at) / 1_000);
    let _ = writeln!(text, "\nTask {}", facts.task);
    text
}

fn row(feature: &Feature) -> String {
    let state = match &feature.status {
        FeatureStatus::Waiting => "waiting".to_owned(),
        FeatureStatus::Blocked => "blocked".to_owned(),
        FeatureStatus::Passed { commit, already: false } => format!("passed in {}", &commit.as_str()[..10]),
        FeatureStatus::Passed { commit, already: true } => {
            format!("already satisfied, see {}", &commit.as_str()[..10])
        }
    };
    let reopened =
        if feature.reopened > 0 { format!(", reopened {}×", feature.reopened) } else { String::new() };
    let description = one_line(&feature.draft.description).replace('|', "\\|");
    format!("| {} | {description} | {state}{reopened} | {} |", feature.id, feature.attempts)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

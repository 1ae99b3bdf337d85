//! The result of a research task, whole or partial, made from the records alone: no model call, so it can't fail.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::machine::count;
use super::report::{Words, words};
use super::{
    Finding, GroundedKeyFinding, Level, Research, Review, Source, SourceId, SourceStatus, Subtask,
    SubtaskStatus, Uncertainty, changes, title_key,
};
use crate::contract::research::{Assignment, Confidence, ReviewDecision};
use crate::state::Context;
use crate::{Millis, Status, TaskId};

/// What a research task leaves behind, as data. The Markdown and HTML forms show this and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResearchResult {
    /// The task.
    pub task: TaskId,
    /// What was asked for.
    pub objective: String,
    /// The language of the answer, where the task names one.
    pub language: Option<String>,
    /// How it ended.
    pub state: Status,
    /// Whether there is an answer.
    pub outcome: Outcome,
    /// Why it ended early.
    pub reason: Option<String>,
    /// What a reader must know before anything else: demonstration data, statements that are not verified.
    pub warnings: Vec<String>,
    /// The answer in a few sentences, or what a partial result holds.
    pub summary: String,
    /// The answer.
    pub conclusion: Option<String>,
    /// How sure it is.
    pub confidence: Option<Confidence>,
    /// The statements that carry it.
    pub key_findings: Vec<GroundedKeyFinding>,
    /// What to do.
    pub recommendations: Vec<String>,
    /// What remains open, by the answer or by the researchers.
    pub uncertainties: Vec<String>,
    /// Every finding.
    pub findings: Vec<Finding>,
    /// Every assignment.
    pub assignments: Vec<Subtask>,
    /// What the Critic said.
    pub reviews: Vec<Review>,
    /// Research that the latest review asked for and nobody did.
    pub open_requests: Vec<Assignment>,
    /// Every source, cited or not.
    pub sources: Vec<ResultSource>,
    /// How many of each this result holds.
    pub counts: Counts,
    /// What it used.
    pub cost: Cost,
    /// What is different from the earlier task that it is compared with.
    pub changes: Option<super::Changes>,
}

/// Whether there is an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Yes.
    Answered,
    /// Nobody found anything that answers it.
    InsufficientEvidence,
    /// It ended before that could be said.
    Stopped,
}

/// A source as the result names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the one of the same name in `Source`")]
pub struct ResultSource {
    pub id: SourceId,
    pub title: String,
    pub url: String,
    pub status: SourceStatus,
    pub note: Option<String>,
    pub tool: String,
    pub is_demo: bool,
    pub sha256: Option<String>,
    pub published: Option<String>,
    pub at: Millis,
    /// Whether a finding or the answer cites it.
    pub cited: bool,
}

/// How many of each a result holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say what is counted")]
pub struct Counts {
    pub assignments: u32,
    pub findings: u32,
    pub uncertainties: u32,
    pub sources: u32,
    pub sources_cited: u32,
    pub reviews: u32,
    pub open_issues: u32,
    pub open_requests: u32,
}

/// What a task used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say what is counted; `_ms` are milliseconds")]
pub struct Cost {
    pub iterations: u32,
    pub agent_calls: u32,
    pub model_calls: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub model_ms: u64,
    pub working_ms: i64,
    pub elapsed_ms: i64,
}

/// Assembles the result.
pub fn result_of(
    research: &Research,
    end: Status,
    reason: Option<&str>,
    context: &Context<'_>,
) -> ResearchResult {
    let facts = &context.facts;
    // A synthesis that came while the task was being cancelled is still there to read.
    let synthesis = research.synthesis.as_ref();
    let cited = cited(research);
    let sources: Vec<ResultSource> =
        facts.sources.iter().map(|source| ResultSource::new(source, cited.contains(&source.id))).collect();
    let mut uncertainties = synthesis.map(|synthesis| synthesis.uncertainties.clone()).unwrap_or_default();
    for Uncertainty { text, .. } in &research.uncertainties {
        if !uncertainties.contains(text) {
            uncertainties.push(text.clone());
        }
    }
    let mut result = ResearchResult {
        task: facts.task.clone(),
        objective: facts.objective.to_owned(),
        language: facts.language.map(str::to_owned),
        state: end,
        outcome: outcome(research, end),
        reason: reason.map(str::to_owned),
        warnings: Vec::new(),
        summary: synthesis.map(|synthesis| synthesis.summary.clone()).unwrap_or_default(),
        conclusion: synthesis.map(|synthesis| synthesis.conclusion.clone()),
        confidence: synthesis.map(|synthesis| synthesis.confidence),
        key_findings: synthesis.map(|synthesis| synthesis.key_findings.clone()).unwrap_or_default(),
        recommendations: synthesis.map(|synthesis| synthesis.recommendations.clone()).unwrap_or_default(),
        uncertainties,
        findings: research.findings.clone(),
        assignments: research.subtasks.iter().map(as_ended).collect(),
        reviews: research.reviews.clone(),
        open_requests: open_requests(research),
        counts: Counts::default(),
        cost: cost(research, context),
        changes: None,
        sources,
    };
    result.counts = counted(&result);
    let words = words(result.language.as_deref());
    if synthesis.is_none() {
        result.summary = words.partial(&result.counts);
    }
    result.warnings = warnings(&result, words);
    result.changes = facts.previous.map(|before| changes(&result, before));
    result
}

impl ResultSource {
    fn new(source: &Source, cited: bool) -> Self {
        Self {
            id: source.id,
            title: source.title.clone(),
            url: source.url.clone(),
            status: source.status,
            note: source.note.clone(),
            tool: source.tool.clone(),
            is_demo: source.is_demo,
            sha256: source.sha256.clone(),
            published: source.published.clone(),
            at: source.at,
            cited,
        }
    }
}

fn outcome(research: &Research, end: Status) -> Outcome {
    let blocked = |subtask: &Subtask| subtask.status == SubtaskStatus::Blocked;
    if research.synthesis.is_some() && end == Status::Completed {
        Outcome::Answered
    } else if research.findings.is_empty()
        && !research.subtasks.is_empty()
        && research.subtasks.iter().all(blocked)
    {
        Outcome::InsufficientEvidence
    } else {
        Outcome::Stopped
    }
}

/// Sources that evidence or the answer names.
fn cited(research: &Research) -> BTreeSet<SourceId> {
    let evidence = research.findings.iter().flat_map(|finding| &finding.grounded.evidence);
    let answer = research.synthesis.iter().flat_map(|synthesis| &synthesis.key_findings);
    evidence
        .map(|evidence| evidence.source)
        .chain(answer.flat_map(|statement| statement.sources.iter().copied()))
        .collect()
}

/// An assignment as the end of its task leaves it.
fn as_ended(subtask: &Subtask) -> Subtask {
    let mut subtask = subtask.clone();
    if subtask.status == SubtaskStatus::Assigned {
        subtask.status = SubtaskStatus::Failed;
        subtask.outcome = Some("the task ended before it was done".to_owned());
    }
    subtask
}

/// Requests of any review that no assignment has taken up.
fn open_requests(research: &Research) -> Vec<Assignment> {
    let taken: BTreeSet<String> = research.subtasks.iter().map(|subtask| title_key(&subtask.title)).collect();
    let requests = research.reviews.iter().flat_map(|review| &review.requests);
    requests.filter(|request| !taken.contains(&title_key(&request.title))).cloned().collect()
}

fn cost(research: &Research, context: &Context<'_>) -> Cost {
    let spent = &context.facts.spent;
    Cost {
        iterations: research.iteration,
        agent_calls: research.agent_calls,
        model_calls: spent.model_calls,
        prompt_tokens: spent.prompt_tokens,
        completion_tokens: spent.completion_tokens,
        model_ms: spent.model_ms,
        working_ms: research.working_ms + research.round_ms,
        elapsed_ms: context.now.since(context.facts.created_at),
    }
}

fn counted(result: &ResearchResult) -> Counts {
    let open = result.reviews.last().filter(|review| review.decision == ReviewDecision::NeedsMoreWork);
    Counts {
        assignments: count(result.assignments.len()),
        findings: count(result.findings.len()),
        uncertainties: count(result.uncertainties.len()),
        sources: count(result.sources.len()),
        sources_cited: count(result.sources.iter().filter(|source| source.cited).count()),
        reviews: count(result.reviews.len()),
        open_issues: open.map_or(0, |review| count(review.issues.len())),
        open_requests: count(result.open_requests.len()),
    }
}

fn warnings(result: &ResearchResult, words: &Words) -> Vec<String> {
    let mut warnings = Vec::new();
    if result.sources.iter().any(|source| source.is_demo) {
        warnings.push(words.demo_warning.to_owned());
    }
    let unverified = result.key_findings.iter().filter(|finding| finding.level < Level::G2).count();
    if unverified > 0 {
        warnings.push(words.unverified(unverified, result.key_findings.len()));
    }
    warnings
}

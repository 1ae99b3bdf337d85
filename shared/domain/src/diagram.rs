//! State diagrams, drawn from the machines themselves: a small task is walked through every state that it can
//! reach, and each change of phase becomes an arrow.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

use crate::build::{FeatureDraft, Project, ReportFacts, Spent};
use crate::contract::Category;
use crate::fault::FaultClass;
use crate::state::{Context, TaskState, next};
use crate::{
    CommitId, FeatureFailure, FeatureId, Initialized, Input, JobNo, JobResult, JobSpec, Kind, Limits, Millis,
    SessionOutcome, SessionReport, TaskId, Verified,
};

/// The states that are walked through have at most so many jobs; later ones repeat the same phases.
const MAX_JOBS: u32 = 4;

/// Likewise for retries: one shows every arrow that a second one could.
const MAX_RETRIES: u32 = 1;

/// The states of `build` as a Markdown page with a Mermaid diagram.
pub fn build_states() -> String {
    let mut text = String::from(
        "# States of a build\n\n\
         Generated from the state machine by `shared/domain/src/diagram.rs`; `UPDATE_DOCS=1 cargo nextest run -p \
         nightforge-domain` writes it anew. Each arrow is a transition and carries the names of the inputs that \
         cause it. `CODING` stands for every feature and attempt; in `STOPPING` no job is claimed and the last \
         ones are awaited. Inputs that change nothing are left out.\n\n\
         ```mermaid\nstateDiagram-v2\n",
    );
    let start = phase(&TaskState::new(Kind::Build, false));
    let edges = edges();
    let _ = writeln!(text, "    [*] --> {start}");
    for ((from, to), inputs) in &edges.arrows {
        let inputs: Vec<&str> = inputs.iter().copied().collect();
        let _ = writeln!(text, "    {from} --> {to}: {}", inputs.join(", "));
    }
    for end in &edges.ends {
        let _ = writeln!(text, "    {end} --> [*]");
    }
    text.push_str("```\n");
    text
}

#[derive(Default)]
struct Edges {
    arrows: BTreeMap<(String, String), BTreeSet<&'static str>>,
    ends: BTreeSet<String>,
}

/// Every change of phase that can be reached, found breadth first.
fn edges() -> Edges {
    let mut edges = Edges::default();
    let mut seen = BTreeSet::new();
    let mut queue: VecDeque<TaskState> =
        [true, false].map(|approve| TaskState::new(Kind::Build, approve)).into();
    let task = task();
    while let Some(state) = queue.pop_front() {
        if state.jobs_created > MAX_JOBS || state.retries > MAX_RETRIES || !seen.insert(key(&state)) {
            continue;
        }
        if state.status().is_final() {
            edges.ends.insert(phase(&state));
        }
        for outside in [Outside::early(), Outside::late()] {
            for input in inputs(&state) {
                let Ok(transition) = next(&state, &input, &outside.context(&task)) else { continue };
                let (from, to) = (phase(&state), phase(&transition.state));
                if from != to || !transition.jobs.is_empty() {
                    edges.arrows.entry((from, to)).or_default().insert(input.name());
                }
                queue.push_back(transition.state);
            }
        }
    }
    edges
}

/// The phase without its feature.
fn phase(state: &TaskState) -> String {
    let phase = state.phase();
    phase.split(' ').next().unwrap_or(&phase).to_owned()
}

fn key(state: &TaskState) -> String {
    serde_json::to_string(state).expect("a state serialises: it is stored so")
}

/// Limits and counters that decide a transition beside the input.
struct Outside {
    limits: Limits,
    now: Millis,
}

impl Outside {
    /// Every limit is far.
    fn early() -> Self {
        let limits = Limits { min_features: 1, max_attempts: 2, rotate_after: 1, ..Limits::default() };
        Self { limits, now: Millis(0) }
    }

    /// The deadline is over.
    fn late() -> Self {
        Self { now: Millis(1), ..Self::early() }
    }

    fn context<'a>(&'a self, task: &'a TaskId) -> Context<'a> {
        let facts = ReportFacts { task, objective: "", created_at: Millis(0), spent: Spent::default() };
        Context { limits: &self.limits, now: self.now, deadline: Some(Millis(1)), facts }
    }
}

fn task() -> TaskId {
    "0".repeat(26).parse().expect("26 digits are a task id")
}

fn commit() -> CommitId {
    "0".repeat(40).parse().expect("40 digits are a commit id")
}

/// One input of every kind that a task in this state can be given.
fn inputs(state: &TaskState) -> Vec<Input> {
    let by = || "a person".to_owned();
    let reason = || "a reason".to_owned();
    let gate = state.build().map_or(0, |build| build.gates);
    let mut inputs = vec![
        Input::Submitted,
        Input::Cancel { by: by() },
        Input::Retry { by: by(), from: None },
        Input::Approved { gate, by: by() },
        Input::Rejected { gate, reason: reason(), by: by() },
        Input::DeadlinePassed,
    ];
    for (job, spec) in &state.awaited {
        let job = *job;
        inputs.extend(results(spec).into_iter().map(|result| Input::JobDone { job, result }));
        inputs.push(Input::JobFailed { job, class: FaultClass::Truncated, reason: reason() });
        inputs.push(Input::JobDied { job, reason: reason() });
        if state.is_stopping() {
            inputs.push(Input::JobCancelled { job });
        }
    }
    inputs.extend(state.ended.keys().map(|job: &JobNo| Input::JobCancelled { job: *job }));
    inputs
}

fn results(spec: &JobSpec) -> Vec<JobResult> {
    match spec {
        JobSpec::Initialize { .. } => vec![initialized()],
        JobSpec::Code { feature, .. } => [
            SessionOutcome::Passed,
            SessionOutcome::AlreadySatisfied,
            SessionOutcome::HandedOver,
            SessionOutcome::Failed { reason: String::new() },
        ]
        .into_iter()
        .map(|outcome| session(feature, outcome))
        .collect(),
        JobSpec::Verify { .. } => {
            let failing = FeatureFailure { feature: FeatureId::numbered(1), reason: String::new() };
            vec![
                JobResult::Verified(Verified { failing: Vec::new() }),
                JobResult::Verified(Verified { failing: vec![failing] }),
            ]
        }
    }
}

fn initialized() -> JobResult {
    let draft =
        FeatureDraft { category: Category::Functional, description: String::new(), steps: Vec::new() };
    let project = Project {
        name: String::new(),
        test_command: String::new(),
        test_file_pattern: String::new(),
        build_command: None,
        serve_command: None,
    };
    JobResult::Initialized(Initialized { features: vec![draft], project, head: commit() })
}

fn session(feature: &FeatureId, outcome: SessionOutcome) -> JobResult {
    JobResult::Session(SessionReport {
        feature: feature.clone(),
        outcome,
        note: String::new(),
        head: commit(),
        changed: true,
        duration_ms: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_page_in_docs_shows_this_machine() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/build-states.md");
        let drawn = build_states();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &drawn).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap();
        assert_eq!(stored, drawn, "run the tests once with UPDATE_DOCS=1 and commit docs/build-states.md");
    }

    #[test]
    fn the_walk_reaches_every_phase() {
        let reached: BTreeSet<String> = edges().arrows.into_keys().map(|(_, to)| to).collect();
        let expected = [
            "CANCELLED",
            "CODING",
            "COMPLETED",
            "FAILED",
            "FAILED_REQUIRES_REVIEW",
            "INITIALIZING",
            "STOPPING",
            "VERIFYING",
            "WAITING_FOR_HUMAN",
        ];
        assert_eq!(reached.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }
}

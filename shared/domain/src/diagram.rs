//! State diagrams, drawn from the machines themselves: a small task is walked through every state that it can
//! reach, and each change of phase becomes an arrow.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

use crate::build::{FeatureDraft, Project, ReportFacts, Spent};
use crate::contract::Category;
use crate::fault::FaultClass;
use crate::state::{Context, Machine, TaskState, Transition, next};
use crate::{
    CommitId, Event, FeatureFailure, FeatureId, Initialized, Input, JobNo, JobResult, JobSpec, Kind, Limits,
    Millis, SessionOutcome, SessionReport, TaskId, Verified,
};

mod research;

/// The states that are walked through have at most so many jobs; later ones repeat the same phases.
fn max_jobs(kind: Kind) -> u32 {
    match kind {
        Kind::Build => 4,
        // Manager, researcher, Manager, Critic, Manager, answer.
        Kind::Research => 6,
    }
}

/// Likewise for retries: one shows every arrow that a second one could.
const MAX_RETRIES: u32 = 1;

/// The states of a kind as a Markdown page with a Mermaid diagram.
pub fn states(kind: Kind) -> String {
    let (title, note) = match kind {
        Kind::Build => ("a build", "`CODING` stands for every feature and attempt; "),
        Kind::Research => ("research", "A failed agent is asked again or worked around; "),
    };
    let mut text = format!(
        "# States of {title}\n\n\
         Generated from the state machine by `shared/domain/src/diagram.rs`; `UPDATE_DOCS=1 cargo nextest run -p \
         nightforge-domain` writes it anew. Each arrow is a transition and carries the names of the inputs that \
         cause it. {note}in `STOPPING` no job is claimed and the last ones are awaited. Inputs that change nothing \
         are left out.\n\n\
         ```mermaid\nstateDiagram-v2\n",
    );
    let start = bare(&TaskState::new(kind, false).phase());
    let edges = edges(kind);
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
fn edges(kind: Kind) -> Edges {
    let mut edges = Edges::default();
    let mut seen = BTreeSet::new();
    let mut queue: VecDeque<TaskState> = [true, false].map(|approve| TaskState::new(kind, approve)).into();
    let task = task();
    while let Some(state) = queue.pop_front() {
        if state.jobs_created > max_jobs(kind) || state.retries > MAX_RETRIES || !seen.insert(key(&state)) {
            continue;
        }
        if state.status().is_final() {
            edges.ends.insert(bare(&state.phase()));
        }
        for outside in [Outside::early(), Outside::late()] {
            for input in inputs(&state) {
                let Ok(transition) = next(&state, &input, &outside.context(&task)) else { continue };
                for arrow in passed(&state, &transition) {
                    edges.arrows.entry(arrow).or_default().insert(input.name());
                }
                queue.push_back(transition.state);
            }
        }
    }
    edges
}

/// The changes of phase of one transition; one that creates jobs without any stays where it is.
fn passed(before: &TaskState, transition: &Transition) -> Vec<(String, String)> {
    let changes = transition.events.iter().filter_map(|event| match event {
        Event::PhaseChanged { from, to } => Some((bare(from), bare(to))),
        _ => None,
    });
    let changes: Vec<(String, String)> = changes.collect();
    if changes.is_empty() && !transition.jobs.is_empty() {
        return vec![(bare(&before.phase()), bare(&transition.state.phase()))];
    }
    changes
}

/// A phase without its feature.
fn bare(phase: &str) -> String {
    phase.split(' ').next().unwrap_or(phase).to_owned()
}

fn key(state: &TaskState) -> String {
    let mut state = state.clone();
    if let Machine::Research(research) = &mut state.machine {
        research::forget_words(research);
    }
    serde_json::to_string(&state).expect("a state serialises: it is stored so")
}

/// Limits and counters that decide a transition beside the input.
struct Outside {
    limits: Limits,
    now: Millis,
}

impl Outside {
    /// Every limit is far.
    fn early() -> Self {
        let limits = Limits {
            min_features: 1,
            max_attempts: 2,
            rotate_after: 1,
            max_failures_in_row: 2,
            max_rejections_in_row: 2,
            ..Limits::default()
        };
        Self { limits, now: Millis(0) }
    }

    /// The deadline is over.
    fn late() -> Self {
        Self { now: Millis(1), ..Self::early() }
    }

    fn context<'a>(&'a self, task: &'a TaskId) -> Context<'a> {
        let facts = ReportFacts::new(task, "", Millis(0), Spent::default());
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
        inputs.extend(results(state, spec).into_iter().map(|result| Input::JobDone { job, result }));
        inputs.push(Input::JobFailed { job, class: FaultClass::Truncated, reason: reason(), model_ms: 0 });
        inputs.push(Input::JobDied { job, reason: reason() });
        if state.is_stopping() {
            inputs.push(Input::JobCancelled { job });
        }
    }
    inputs.extend(state.ended.keys().map(|job: &JobNo| Input::JobCancelled { job: *job }));
    inputs
}

fn results(state: &TaskState, spec: &JobSpec) -> Vec<JobResult> {
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
        other => state.research().map(|research| research::results(research, other)).unwrap_or_default(),
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
    use std::path::{Path, PathBuf};

    use super::*;

    fn page(kind: Kind) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{kind}-states.md"))
    }

    #[test]
    fn the_pages_in_docs_show_these_machines() {
        for kind in Kind::ALL {
            let (path, drawn) = (page(kind), states(kind));
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::write(&path, &drawn).unwrap();
            }
            let stored = std::fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(stored, drawn, "run the tests once with UPDATE_DOCS=1 and commit {}", path.display());
        }
    }

    #[test]
    fn the_walk_reaches_every_phase() {
        let common = ["CANCELLED", "COMPLETED", "FAILED", "FAILED_REQUIRES_REVIEW", "STOPPING"];
        let own: [(Kind, &[&str]); 2] = [
            (Kind::Build, &["CODING", "INITIALIZING", "VERIFYING", "WAITING_FOR_HUMAN"]),
            (Kind::Research, &["NEEDS_MORE_WORK", "PLANNING", "RESEARCHING", "REVIEWING", "SYNTHESIZING"]),
        ];
        for (kind, own) in own {
            let drawn = std::fs::read_to_string(page(kind)).unwrap();
            let to = |line: &str| Some(line.split_once("--> ")?.1.split_once(": ")?.0.to_owned());
            let reached: BTreeSet<String> = drawn.lines().filter_map(to).collect();
            let expected: BTreeSet<String> =
                common.iter().chain(own).map(|phase| (*phase).to_owned()).collect();
            assert_eq!(reached, expected, "{kind}");
        }
    }
}

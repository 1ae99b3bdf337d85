//! The work of schedulers and workers in a few words: tasks, transitions, claims, results.

use nightforge_domain::build::{FeatureDraft, Project, ReportFacts};
use nightforge_domain::contract::Category;
use nightforge_domain::state::{Context, Transition, next};
use nightforge_domain::{
    AgentModels, BootId, CommitId, FeatureFailure, FeatureId, Initialized, JobId, JobNo, JobResult, JobSpec,
    Kind, Limits, Millis, ModelName, NewTask, Objective, Priority, SessionOutcome, SessionReport, Step,
    TaskId, Verified,
};
use nightforge_store::{Claim, JobRow, Pending, Store, StoreError};
use serde_json::json;

use crate::bed::Bed;

/// The length of a lease in the stories.
pub(crate) const LEASE: i64 = 30_000;

pub(crate) fn model() -> ModelName {
    "m".parse().unwrap()
}

/// A task of which the stories change what they are about.
pub(crate) fn new_task() -> NewTask {
    NewTask {
        kind: Kind::Build,
        objective: Objective::try_from("Build a board.".to_owned()).unwrap(),
        owner: "ada".to_owned(),
        priority: Priority::default(),
        models: AgentModels::same(&model()),
        limits: Limits { min_features: 1, ..Limits::default() },
        approve: false,
        deadline: None,
        language: None,
        previous: None,
        idempotency_key: None,
    }
}

/// A research task.
pub(crate) fn new_research() -> NewTask {
    let objective = Objective::try_from("Would a tide clock sell in Nassau?".to_owned()).unwrap();
    NewTask { kind: Kind::Research, objective, limits: Limits::default(), ..new_task() }
}

/// What the pure machine answers.
pub(crate) fn answer(pending: &Pending, now: Millis) -> Transition {
    let task = &pending.task;
    let facts = ReportFacts::new(
        &task.id,
        &task.objective,
        task.created_at,
        nightforge_domain::build::Spent::default(),
    );
    let context = Context { limits: &task.limits, now, deadline: task.deadline, facts };
    next(&task.state, &pending.input, &context)
        .unwrap_or_else(|illegal| Transition::consuming_illegal(&task.state, &illegal))
}

/// A scheduler's loop: one transition per input until none is left. Returns how many it committed.
pub(crate) async fn advance(store: &Store, task: &TaskId) -> Result<u32, StoreError> {
    let mut committed = 0;
    while let Some(pending) = store.pending(task).await? {
        let transition = answer(&pending, store.now().await?);
        committed += u32::from(store.commit(&pending, &transition).await?.is_some());
    }
    Ok(committed)
}

impl Bed {
    /// A task whose first job is ready.
    pub(crate) async fn started(&self, new: &NewTask) -> TaskId {
        let task = self.store.submit(new).await.unwrap().task;
        self.advance(&task).await;
        task
    }

    pub(crate) async fn advance(&self, task: &TaskId) {
        advance(&self.store, task).await.unwrap();
    }

    pub(crate) async fn claim(&self, boot: &BootId) -> Option<Claim> {
        self.store.claim(&model(), boot, "worker", LEASE).await.unwrap()
    }

    /// A task with a claimed job, its claim, and the process that holds it.
    pub(crate) async fn claimed(&self) -> (TaskId, Claim, BootId) {
        let boot = self.process().await;
        let task = self.started(&new_task()).await;
        let claim = self.claim(&boot).await.unwrap();
        (task, claim, boot)
    }

    /// A retry that was written before the task went on: the store takes none in its state now.
    pub(crate) async fn late_retry(&self, task: &TaskId) {
        self.execute(&format!(
            "INSERT INTO inputs (task_id, number, body, created_at)
             SELECT id, next_input, '{{\"input\":\"retry\",\"by\":\"ada\"}}', {} FROM tasks WHERE id = '{task}'",
            self.now()
        ))
        .await;
        self.execute(&format!("UPDATE tasks SET next_input = next_input + 1 WHERE id = '{task}'")).await;
    }

    pub(crate) async fn job(&self, job: &JobId) -> JobRow {
        let jobs = self.store.jobs(&job.task).await.unwrap();
        jobs.into_iter().find(|row| row.no == job.no).unwrap()
    }

    pub(crate) async fn jobs(&self, task: &TaskId) -> Vec<String> {
        let jobs = self.store.jobs(task).await.unwrap();
        jobs.iter().map(|job| format!("{} {} {}", job.no, job.spec.kind(), job.state)).collect()
    }

    pub(crate) async fn step(&self, claim: &Claim, ordinal: u32) {
        self.store.record_step(&claim.job, claim.fence, &step(ordinal), &[]).await.unwrap().unwrap();
    }
}

pub(crate) fn step(ordinal: u32) -> Step {
    Step {
        ordinal,
        name: "model".to_owned(),
        input_hash: format!("hash {ordinal}"),
        output: json!({ "said": format!("step {ordinal}") }),
        duration_ms: 7,
        at: Millis(0),
    }
}

pub(crate) fn commit_id(number: u32) -> CommitId {
    format!("{number:040x}").parse().unwrap()
}

pub(crate) fn job(task: &TaskId, no: u32) -> JobId {
    JobId { task: task.clone(), no: JobNo(no) }
}

/// The result that an Initializer gives.
pub(crate) fn initialized(features: u32) -> JobResult {
    let draft = |place| FeatureDraft {
        category: Category::Functional,
        description: format!("The board does thing {place}."),
        steps: vec!["look".to_owned()],
    };
    JobResult::Initialized(Initialized {
        features: (1..=features).map(draft).collect(),
        project: Project {
            name: "board".to_owned(),
            test_command: "test {files}".to_owned(),
            test_file_pattern: "tests/{id}".to_owned(),
            build_command: None,
            serve_command: None,
        },
        head: commit_id(1),
    })
}

/// A result for a job that brings its task forward.
pub(crate) fn good_result(spec: &JobSpec) -> JobResult {
    match spec {
        JobSpec::Initialize { .. } => initialized(2),
        JobSpec::Code { feature, session, .. } => session_report(feature, *session, SessionOutcome::Passed),
        JobSpec::Verify { .. } => verified(&[]),
        spec => unreachable!("the script of a research team answers for {}", spec.kind()),
    }
}

pub(crate) fn session_report(feature: &FeatureId, session: u32, outcome: SessionOutcome) -> JobResult {
    JobResult::Session(SessionReport {
        feature: feature.clone(),
        outcome,
        note: String::new(),
        head: commit_id(session + 1),
        changed: true,
        duration_ms: 1,
    })
}

pub(crate) fn verified(failing: &[u32]) -> JobResult {
    let failure = |place: &u32| FeatureFailure {
        feature: FeatureId::numbered(*place as usize),
        reason: "red".to_owned(),
    };
    JobResult::Verified(Verified { failing: failing.iter().map(failure).collect() })
}

//! The work that benchmarks give to the system: build tasks, and results of their jobs as real ones look.

use anyhow::Context;
use nightforge_domain::build::{FeatureDraft, Project};
use nightforge_domain::contract::Category;
use nightforge_domain::{
    AgentModels, BootId, CommitId, Initialized, JobResult, JobSpec, Kind, Limits, ModelName, NewTask,
    Priority, SessionOutcome, SessionReport, Verified,
};
use nightforge_store::{Claim, Process, Role, Store};

/// The one model of all benchmarks.
pub(crate) const MODEL: &str = "bench-model";

/// Far above what any benchmark takes.
pub(crate) const LEASE_MS: i64 = 3_600_000;

/// The model as the product names it.
///
/// # Errors
/// Never: the name is one.
pub(crate) fn model() -> anyhow::Result<ModelName> {
    MODEL.parse().map_err(|error| anyhow::anyhow!("{MODEL}: {error}"))
}

/// A build of so many features.
///
/// # Errors
/// When the domain refuses it.
pub(crate) fn build_task(objective: &str, features: u32) -> anyhow::Result<NewTask> {
    let limits = Limits { min_features: features, ..Limits::default() };
    Ok(NewTask { limits, ..task(Kind::Build, objective)? })
}

/// A task with nothing but defaults.
///
/// # Errors
/// When the domain refuses it.
pub(crate) fn task(kind: Kind, objective: &str) -> anyhow::Result<NewTask> {
    Ok(NewTask {
        kind,
        objective: objective.to_owned().try_into().map_err(|error| anyhow::anyhow!("{error:?}"))?,
        owner: "local".to_owned(),
        priority: Priority::default(),
        models: AgentModels::same(&model()?),
        limits: Limits::default(),
        approve: false,
        deadline: None,
        language: None,
        previous: None,
        idempotency_key: None,
    })
}

/// What a worker says of itself, with so many slots.
pub(crate) fn worker_process(boot: &BootId, host: String, slots: u32) -> Process {
    Process {
        boot: boot.clone(),
        host,
        role: Role::Worker,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        model: Some(MODEL.to_owned()),
        endpoint: None,
        gpu: None,
        slots,
    }
}

/// Claims the next job.
///
/// # Errors
/// When the database fails or no job is ready.
pub(crate) async fn claim(store: &Store, boot: &BootId) -> anyhow::Result<Claim> {
    let claimed = store.claim(&model()?, boot, "bench", LEASE_MS).await?;
    claimed.context("a job should be ready, and none is")
}

/// Claims the next job and finishes it with a result as a real one looks.
///
/// # Errors
/// When the database fails or no job is ready.
pub(crate) async fn claim_and_finish(store: &Store, boot: &BootId) -> anyhow::Result<()> {
    let claim = claim(store, boot).await?;
    Ok(store.finish(&claim.job, claim.fence, &result_of(&claim)?).await??)
}

fn result_of(claim: &Claim) -> anyhow::Result<JobResult> {
    Ok(match &claim.spec {
        JobSpec::Initialize { .. } => JobResult::Initialized(Initialized {
            features: (1..=claim.task.limits.min_features).map(feature).collect(),
            project: Project {
                name: "reading-list".to_owned(),
                test_command: "python3 -m unittest {files}".to_owned(),
                test_file_pattern: "tests/test_{id}.py".to_owned(),
                build_command: Some("python3 -m compileall -q reading_list".to_owned()),
                serve_command: Some("python3 -m reading_list.app".to_owned()),
            },
            head: commit(0)?,
        }),
        JobSpec::Code { feature, session, .. } => JobResult::Session(SessionReport {
            feature: feature.clone(),
            outcome: SessionOutcome::Passed,
            note: "Pages are made in reading_list/pages.py; the tests use the browser of tests/browser.py. The next \
                   session should look at how the list is sorted before it adds a column."
                .to_owned(),
            head: commit(*session)?,
            changed: true,
            duration_ms: 420_000,
        }),
        JobSpec::Verify { .. } => JobResult::Verified(Verified { failing: Vec::new() }),
        other => anyhow::bail!("a build has no job of kind {}", other.kind()),
    })
}

fn feature(place: u32) -> FeatureDraft {
    FeatureDraft {
        category: Category::Functional,
        description: format!(
            "The reading list shows books of shelf {place} in the order in which they were added."
        ),
        steps: vec![
            format!("Add three books to shelf {place}"),
            "Open the list".to_owned(),
            "Read the titles from top to bottom".to_owned(),
        ],
    }
}

fn commit(number: u32) -> anyhow::Result<CommitId> {
    format!("{:040x}", u64::from(number) + 0xabc_def0).parse().map_err(|error| anyhow::anyhow!("{error}"))
}

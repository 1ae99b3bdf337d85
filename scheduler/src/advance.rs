//! Advancing a task: load, ask the pure machine, commit, until no input is left.

use std::time::Duration;

use nightforge_domain::build::ReportFacts;
use nightforge_domain::research::{ResearchResult, Source};
use nightforge_domain::state::{self, Context, Transition};
use nightforge_domain::{Kind, ModelName, Status, TaskId};
use nightforge_queue::{Bell, Bells};
use nightforge_store::{Pending, Store, StoreError, TaskRow};
use tokio_util::sync::CancellationToken;

use crate::admission::{ADMITTING, is_submission, may_start, ring_next};

/// How long a scheduler waits after the database failed; the sweeper rings again in any case.
pub(crate) const AFTER_ERROR: Duration = Duration::from_millis(500);

/// Answers bells until `shutdown`.
pub(crate) async fn serve(store: Store, bells: Bells, shutdown: CancellationToken) {
    let mut rung = bells.tasks();
    loop {
        let task = tokio::select! {
            task = rung.next() => task,
            () = shutdown.cancelled() => None,
        };
        let Some(task) = task else { return };
        if let Err(error) = advance_task(&store, &bells, &task).await {
            tracing::warn!(task.id = %task, %error, "not advanced; the sweeper rings again");
            tokio::time::sleep(AFTER_ERROR).await;
        }
    }
}

/// Commits one transition per waiting input of `task`, unless it has to wait for admission, and rings the models that
/// got jobs. Returns the number of transitions that this call committed.
///
/// # Errors
/// When the database fails. What was committed stays; the rest is done at the next bell.
pub async fn advance_task(store: &Store, bells: &Bells, task: &TaskId) -> Result<u32, StoreError> {
    let mut committed = 0;
    while let Some(pending) = store.pending(task).await? {
        // Held until the commit, which the next admission has to count.
        let admitting = if is_submission(&pending) { Some(ADMITTING.lock().await) } else { None };
        if admitting.is_some() && !may_start(store, &pending).await? {
            return Ok(committed);
        }
        let transition = answer(store, &pending).await?;
        let Some(done) = store.commit(&pending, &transition).await? else {
            // Another scheduler was faster; look again.
            continue;
        };
        drop(admitting);
        committed += 1;
        tracing::debug!(task.id = %task, seq = done.seq, phase = transition.state.phase(), "advanced");
        ring_models(bells, done.ring);
        let status = transition.state.status();
        if status != pending.task.status && status != Status::Running {
            // It makes room.
            ring_next(store, bells).await?;
        }
    }
    Ok(committed)
}

async fn answer(store: &Store, pending: &Pending) -> Result<Transition, StoreError> {
    let task = &pending.task;
    let told = Told::load(store, task).await?;
    let facts = ReportFacts {
        language: task.language.as_deref(),
        sources: &told.sources,
        previous: told.previous.as_ref(),
        ..ReportFacts::new(&task.id, &task.objective, task.created_at, store.spent(&task.id).await?)
    };
    let context = Context { limits: &task.limits, now: store.now().await?, deadline: task.deadline, facts };
    Ok(state::next(&task.state, &pending.input, &context).unwrap_or_else(|illegal| {
        tracing::error!(task.id = %task.id, %illegal, "illegal input consumed");
        Transition::consuming_illegal(&task.state, &illegal)
    }))
}

/// What a research task's result tells beside its state.
#[derive(Default)]
struct Told {
    sources: Vec<Source>,
    previous: Option<ResearchResult>,
}

impl Told {
    async fn load(store: &Store, task: &TaskRow) -> Result<Self, StoreError> {
        if task.kind != Kind::Research {
            return Ok(Self::default());
        }
        let previous = match &task.previous {
            Some(previous) => store.research_result(previous).await?,
            None => None,
        };
        Ok(Self { sources: store.sources(&task.id).await?, previous })
    }
}

fn ring_models(bells: &Bells, models: Vec<ModelName>) {
    for model in models {
        bells.ring(Bell::Model(model));
    }
}

//! A scheduler and a worker in this process, on either pair of engines, with more work than they can do.

use std::time::Duration;

use anyhow::{Context, ensure};
use nightforge_domain::BootId;
use nightforge_llm::{EndpointConfig, ModeRule};
use nightforge_queue::{Bell, Bells, RedisConfig};
use nightforge_scheduler::SchedulerConfig;
use nightforge_store::{DbClock, Store, fresh_boot_id, presence};
use nightforge_worker::WorkerConfig;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::databases::Databases;
use crate::fake_model::{ANSWER_TIME, CONTEXT_TOKENS, FakeModel, Gap};
use crate::load;

/// Queued at once.
const TASKS: usize = 4;

/// Features of each, so many that none comes to its end.
const FEATURES: u32 = 50;

/// Gaps before it counts: the last projects begin, pools fill.
const WARM_UP: usize = 20;

/// So much longer than the bare answers measuring may take before something is wrong.
const PATIENCE: u32 = 20;

/// Where state and bells are.
pub(super) enum Place {
    /// SQLite, bells in memory.
    Embedded,
    /// PostgreSQL and Redis, as between processes: each role has its own connections. `name` is that of the database
    /// to make, and of the keys in Redis.
    Cluster { postgres: String, redis: String, name: String },
}

/// Running roles.
pub(super) struct Installation {
    tasks: Vec<nightforge_domain::TaskId>,
    store: Store,
    end: CancellationToken,
    roles: JoinSet<anyhow::Result<()>>,
    _locks: [presence::BootLock; 2],
    _data: TempDir,
}

/// What one role has of the place.
struct Desk {
    store: Store,
    bells: Bells,
    boot: BootId,
}

impl Installation {
    /// Starts the roles and queues the work.
    pub(super) async fn start(place: Place, model_url: &str) -> anyhow::Result<Self> {
        let data = tempfile::tempdir()?;
        let end = CancellationToken::new();
        let [scheduler, worker] = desks(place, &data, &end).await?;
        let locks = [
            presence::BootLock::take(data.path(), &scheduler.boot)?,
            presence::BootLock::take(data.path(), &worker.boot)?,
        ];
        let process = load::worker_process(&worker.boot, presence::host_id(data.path())?, 1);
        worker.store.announce(&process).await?;
        let store = scheduler.store.clone();
        let mut tasks = Vec::with_capacity(TASKS);
        for number in 1..=TASKS {
            let objective = format!("Build small project {number}: pages with headings.");
            tasks.push(store.submit(&load::build_task(&objective, FEATURES)?).await?.task);
        }
        let bells = scheduler.bells.clone();
        let mut roles = JoinSet::new();
        let config = SchedulerConfig::new(scheduler.boot, data.path().to_owned());
        roles.spawn(nightforge_scheduler::run(scheduler.store, scheduler.bells, config, end.clone()));
        let endpoint = EndpointConfig {
            url: model_url.to_owned(),
            model: load::MODEL.to_owned(),
            context_tokens: Some(CONTEXT_TOKENS),
            ..EndpointConfig::default()
        };
        let config = WorkerConfig {
            mode: ModeRule::Schema,
            ..WorkerConfig::new(worker.boot, data.path().to_owned(), load::model()?, endpoint)
        };
        roles.spawn(nightforge_worker::run(
            worker.store,
            worker.bells,
            config,
            end.clone(),
            CancellationToken::new(),
        ));
        for task in &tasks {
            bells.ring(Bell::Task(task.clone()));
        }
        Ok(Self { tasks, store, end, roles, _locks: locks, _data: data })
    }

    /// Waits for so many gaps, once all tasks are coding, and returns them with their prompts' sizes.
    pub(super) async fn gaps(
        &self,
        model: &FakeModel,
        wanted: usize,
    ) -> anyhow::Result<(Vec<Gap>, Vec<usize>)> {
        let patience = ANSWER_TIME * PATIENCE * (wanted + WARM_UP + 10 * TASKS) as u32;
        let measuring = async {
            while !self.all_are_coding().await? {
                tokio::time::sleep(ANSWER_TIME).await;
            }
            model.take();
            reached(model, WARM_UP).await;
            model.take();
            reached(model, wanted).await;
            anyhow::Ok(model.take())
        };
        match tokio::time::timeout(patience, measuring).await {
            Ok(measured) => measured,
            Err(_) => {
                let phases = self.phases().await?;
                anyhow::bail!("{} of {wanted} gaps within {patience:?}; tasks: {phases:?}", model.gap_count())
            }
        }
    }

    async fn all_are_coding(&self) -> anyhow::Result<bool> {
        let phases = self.phases().await?;
        if let Some(over) =
            phases.iter().find(|phase| phase.contains("FAILED") || phase.contains("COMPLETED"))
        {
            anyhow::bail!("a task is over before its time: {over}");
        }
        Ok(phases.iter().all(|phase| phase.starts_with("CODING")))
    }

    async fn phases(&self) -> anyhow::Result<Vec<String>> {
        let mut phases = Vec::with_capacity(TASKS);
        for task in &self.tasks {
            phases.push(self.store.task(task).await?.phase);
        }
        Ok(phases)
    }

    /// Drains the worker and ends the scheduler.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        for task in &self.tasks {
            let row = self.store.task(task).await?;
            ensure!(!row.status.is_final(), "work ran out: {task} is over");
        }
        self.end.cancel();
        while let Some(ended) = self.roles.join_next().await {
            ended.context("a role broke")??;
        }
        self.store.close().await;
        Ok(())
    }
}

/// A gap comes every 50 ms or so; nobody announces it.
async fn reached(model: &FakeModel, count: usize) {
    while model.gap_count() < count {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Scheduler and worker: one process, or connections of their own.
async fn desks(place: Place, data: &TempDir, end: &CancellationToken) -> anyhow::Result<[Desk; 2]> {
    match place {
        Place::Embedded => {
            let url = format!("sqlite:{}", data.path().join("nightforge.db").display());
            let store = Store::open(&url, DbClock::Database).await?;
            let bells = Bells::in_memory(end.clone());
            let desk = || Desk { store: store.clone(), bells: bells.clone(), boot: fresh_boot_id() };
            Ok([desk(), desk()])
        }
        Place::Cluster { postgres, redis, name } => {
            let url = Databases::Postgres(postgres).make(&name).await?;
            let mut desks = Vec::with_capacity(2);
            for _ in 0..2 {
                let redis = RedisConfig::new(redis.clone()).with_prefix(name.clone());
                desks.push(Desk {
                    store: Store::open(&url, DbClock::Database).await?,
                    bells: Bells::redis(redis, end.clone()).await?,
                    boot: fresh_boot_id(),
                });
            }
            desks.try_into().map_err(|_| anyhow::anyhow!("two desks were made"))
        }
    }
}

//! A scheduler and a worker in this process, on either pair of engines.

use std::sync::Arc;

use anyhow::Context;
use nightforge_domain::{BootId, NewTask, TaskId};
use nightforge_llm::{EndpointConfig, ModeRule};
use nightforge_queue::{Bell, Bells, RedisConfig};
use nightforge_scheduler::SchedulerConfig;
use nightforge_store::{DbClock, Store, fresh_boot_id, presence};
use nightforge_worker::{SearchSetup, WorkerConfig};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::databases::Databases;
use crate::fake_model::CONTEXT_TOKENS;
use crate::load;

/// Where state and bells are.
pub(crate) enum Place {
    /// SQLite, bells in memory.
    Embedded,
    /// PostgreSQL and Redis, as between processes: each role has its own connections. `name` is that of the database
    /// to make, and of the keys in Redis.
    Cluster { postgres: String, redis: String, name: String },
}

/// What the worker is given beside its model.
pub(crate) struct Equipment {
    /// The base URL of the model's server.
    pub(crate) model_url: String,
    /// Where research searches, if there is research.
    pub(crate) search: Option<Arc<SearchSetup>>,
}

/// Running roles.
pub(crate) struct Installation {
    pub(crate) store: Store,
    bells: Bells,
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
    /// Queues the work, then starts the roles.
    pub(crate) async fn start(
        place: Place,
        equipment: Equipment,
        work: &[NewTask],
    ) -> anyhow::Result<(Self, Vec<TaskId>)> {
        let data = tempfile::tempdir()?;
        let end = CancellationToken::new();
        let [scheduler, worker] = desks(place, &data, &end).await?;
        let locks = [
            presence::BootLock::take(data.path(), &scheduler.boot)?,
            presence::BootLock::take(data.path(), &worker.boot)?,
        ];
        let process = load::worker_process(&worker.boot, presence::host_id(data.path())?, 1);
        worker.store.announce(&process).await?;
        let (store, bells) = (scheduler.store.clone(), scheduler.bells.clone());
        let mut tasks = Vec::with_capacity(work.len());
        for new in work {
            tasks.push(store.submit(new).await?.task);
        }
        let mut roles = JoinSet::new();
        let config = SchedulerConfig::new(scheduler.boot, data.path().to_owned());
        roles.spawn(nightforge_scheduler::run(scheduler.store, scheduler.bells, config, end.clone()));
        let endpoint = EndpointConfig {
            url: equipment.model_url,
            model: load::MODEL.to_owned(),
            context_tokens: Some(CONTEXT_TOKENS),
            ..EndpointConfig::default()
        };
        let config = WorkerConfig {
            mode: ModeRule::Schema,
            search: equipment.search,
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
        Ok((Self { store, bells, end, roles, _locks: locks, _data: data }, tasks))
    }

    /// Queues one more task, as the interface does.
    pub(crate) async fn submit(&self, new: &NewTask) -> anyhow::Result<TaskId> {
        let task = self.store.submit(new).await?.task;
        self.bells.ring(Bell::Task(task.clone()));
        Ok(task)
    }

    /// Drains the worker and ends the scheduler.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.end.cancel();
        while let Some(ended) = self.roles.join_next().await {
            ended.context("a role broke")??;
        }
        self.store.close().await;
        Ok(())
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

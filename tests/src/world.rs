//! A whole system in this process, with every part real but the model's words.

use std::sync::Arc;
use std::time::Duration;

use nightforge_demo::{DemoModel, DemoOptions};
use nightforge_domain::{AgentModels, Kind, Limits, ModelName, NewTask, Priority, TaskId};
use nightforge_llm::EndpointConfig;
use nightforge_queue::{Bell, Bells};
use nightforge_scheduler::SchedulerConfig;
use nightforge_sources::{Backend, Extractor, ReaderConfig, Search};
use nightforge_store::{DbClock, Process, Role, Store, TaskRow, fresh_boot_id, presence};
use nightforge_worker::{SearchSetup, WorkerConfig};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::executable;

/// One data folder, one scripted model, and the processes that a story starts and ends.
pub struct World {
    /// Holds everything.
    pub data: TempDir,
    /// The state of record.
    pub store: Store,
    /// The scripted model.
    pub model: DemoModel,
    /// Wakes schedulers and workers.
    pub bells: Bells,
    everything: CancellationToken,
    roles: JoinSet<anyhow::Result<()>>,
}

/// A worker that a story can drain.
pub struct Worker {
    /// Ends it as SIGTERM does.
    pub drain: CancellationToken,
    ended: tokio::task::JoinHandle<anyhow::Result<()>>,
    _lock: presence::BootLock,
}

impl World {
    /// A scheduler and a scripted model on a fresh data folder; no worker yet.
    ///
    /// # Panics
    /// When this machine does not let it start.
    pub async fn start() -> Self {
        Self::start_with(DemoOptions::default()).await
    }

    /// The same with a scripted model that runs in another way.
    ///
    /// # Panics
    /// When this machine does not let it start.
    pub async fn start_with(options: DemoOptions) -> Self {
        let _ =
            tracing_subscriber::fmt().with_env_filter("info,async_openai=off").with_test_writer().try_init();
        let data = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}", data.path().join("nightforge.db").display());
        let store = Store::open(&url, DbClock::Database).await.expect("the database opens");
        let model = DemoModel::start(options).await.expect("the model starts");
        let everything = CancellationToken::new();
        let bells = Bells::in_memory(everything.clone());
        let mut roles = JoinSet::new();
        let config = SchedulerConfig::new(fresh_boot_id(), data.path().to_owned());
        roles.spawn(nightforge_scheduler::run(store.clone(), bells.clone(), config, everything.clone()));
        Self { data, store, model, bells, everything, roles }
    }

    /// A worker on the scripted model.
    ///
    /// # Panics
    /// When its lock can't be taken.
    pub async fn worker(&self) -> Worker {
        self.worker_with(|_| {}).await
    }

    /// A worker on the scripted model whose researchers look for sources in these places, and read pages of `allow` as
    /// if they were public. Two calls at a time.
    ///
    /// # Panics
    /// When its lock can't be taken, or the places make no search.
    pub async fn researcher(&self, places: Vec<Backend>, allow: Vec<String>) -> Worker {
        self.researcher_reading(places, ReaderConfig { allow, ..ReaderConfig::new(extractor()) }).await
    }

    /// The same with a reader of the story's choice.
    ///
    /// # Panics
    /// When its lock can't be taken, or the places make no search.
    pub async fn researcher_reading(&self, places: Vec<Backend>, reader: ReaderConfig) -> Worker {
        let search = Search::new(places).expect("places to search");
        let search = SearchSetup::new(search, reader).expect("a reader");
        self.worker_with(|config| {
            config.search = Some(Arc::new(search));
            config.slots = 2;
        })
        .await
    }

    async fn worker_with(&self, change: impl FnOnce(&mut WorkerConfig)) -> Worker {
        let boot = fresh_boot_id();
        let lock = presence::BootLock::take(self.data.path(), &boot).expect("a boot lock");
        let endpoint = EndpointConfig {
            url: self.model.url(),
            model: nightforge_demo::MODEL.to_owned(),
            context_tokens: Some(32_768),
            ..EndpointConfig::default()
        };
        let mut config = WorkerConfig::new(boot.clone(), self.data.path().to_owned(), model_name(), endpoint);
        change(&mut config);
        let process = Process {
            boot: boot.clone(),
            host: presence::host_id(self.data.path()).expect("a host id"),
            role: Role::Worker,
            version: "test".to_owned(),
            model: Some(nightforge_demo::MODEL.to_owned()),
            endpoint: Some(self.model.url()),
            gpu: None,
            slots: config.slots,
        };
        self.store.announce(&process).await.expect("announced");
        let drain = CancellationToken::new();
        let work = nightforge_worker::run(
            self.store.clone(),
            self.bells.clone(),
            config,
            drain.clone(),
            CancellationToken::new(),
        );
        Worker { drain, ended: tokio::spawn(work), _lock: lock }
    }

    /// Queues the demo's objective.
    ///
    /// # Panics
    /// When the database refuses it.
    pub async fn submit(&self, change: impl FnOnce(&mut NewTask)) -> TaskId {
        let mut new = NewTask {
            kind: Kind::Build,
            objective: nightforge_demo::OBJECTIVE.to_owned().try_into().expect("an objective"),
            owner: "local".to_owned(),
            priority: Priority::default(),
            models: AgentModels::same(&model_name()),
            limits: Limits { min_features: nightforge_demo::feature_count() as u32, ..Limits::default() },
            approve: false,
            deadline: None,
            language: None,
            previous: None,
            idempotency_key: None,
        };
        change(&mut new);
        let task = self.store.submit(&new).await.expect("accepted").task;
        self.bells.ring(Bell::Task(task.clone()));
        task
    }

    /// Queues a research objective.
    ///
    /// # Panics
    /// When the database refuses it.
    pub async fn submit_research(&self, objective: &str, change: impl FnOnce(&mut NewTask)) -> TaskId {
        let objective = objective.to_owned().try_into().expect("an objective");
        self.submit(|new| {
            new.kind = Kind::Research;
            new.objective = objective;
            new.limits = Limits::default();
            change(new);
        })
        .await
    }

    /// Waits until the task satisfies `condition`.
    ///
    /// # Panics
    /// When that takes over `limit`; the task's log is shown.
    pub async fn until(
        &self,
        task: &TaskId,
        limit: Duration,
        condition: impl Fn(&TaskRow) -> bool,
    ) -> TaskRow {
        let waited = tokio::time::timeout(limit, async {
            loop {
                let row = self.store.task(task).await.expect("the task");
                if condition(&row) {
                    return row;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        match waited.await {
            Ok(row) => row,
            Err(_) => {
                let events = self.store.events(task, 0, 10_000).await.expect("events");
                let log: Vec<String> = events
                    .iter()
                    .map(|event| format!("{} {} {}", event.seq, event.type_name, event.data))
                    .collect();
                panic!(
                    "not within {limit:?}; model's complaints: {:?}\n{}",
                    self.model.violations(),
                    log.join("\n")
                );
            }
        }
    }

    /// Waits for the task's end.
    pub async fn end_of(&self, task: &TaskId, limit: Duration) -> TaskRow {
        self.until(task, limit, |row| row.status.is_final()).await
    }

    /// Types of the task's log, in order.
    ///
    /// # Panics
    /// When the log can't be read.
    pub async fn log(&self, task: &TaskId) -> Vec<(String, serde_json::Value)> {
        let events = self.store.events(task, 0, 1_000_000).await.expect("events");
        events.into_iter().map(|event| (event.type_name, event.data)).collect()
    }

    /// Ends everything.
    ///
    /// # Panics
    /// When a role ended by itself.
    pub async fn stop(mut self) {
        self.everything.cancel();
        while let Some(ended) = self.roles.join_next().await {
            ended.expect("no panic").expect("no error");
        }
        self.model.stop().await;
    }
}

impl Worker {
    /// Drains the worker and waits for its end.
    ///
    /// # Panics
    /// When it failed.
    pub async fn drain(self) {
        self.drain.cancel();
        self.ended.await.expect("no panic").expect("no error");
    }
}

/// The program that gets the text out of documents: the built executable's hidden verb.
///
/// # Panics
/// When it was not built.
pub fn extractor() -> Extractor {
    Extractor::new(executable(), vec!["extract-page".to_owned()])
}

fn model_name() -> ModelName {
    nightforge_demo::MODEL.parse().expect("a model name")
}

//! A database with a task, a scripted model, and what is needed to execute jobs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nightforge_domain::{
    AgentModels, BootId, JobId, JobResult, Kind, Limits, ModelName, NewTask, Objective, Priority, TaskId,
};
use nightforge_llm::{Client, EndpointConfig, Sampling, TimeLimits};
use nightforge_queue::Bells;
use nightforge_store::{Claim, DbClock, JobRow, Process, Role, Store, fresh_boot_id};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::model::{MODEL, Model, Reply};
use crate::engine::context::{JobContext, Progress};
use crate::engine::endpoint::Endpoint;
use crate::engine::slots::Slots;
use crate::engine::{Failure, Interruption, SandboxRule, WorkerConfig, Workshop, run};
use crate::sandbox::Sandbox;

pub(crate) struct Bed {
    pub(crate) data: TempDir,
    pub(crate) store: Store,
    pub(crate) bells: Bells,
    pub(crate) model: Model,
    pub(crate) boot: BootId,
    stop: CancellationToken,
}

/// A worker that runs beside the test.
pub(crate) struct RunningWorker {
    pub(crate) drain: CancellationToken,
    pub(crate) abort: CancellationToken,
    pub(crate) ended: JoinHandle<anyhow::Result<()>>,
}

pub(crate) fn model_name() -> ModelName {
    MODEL.parse().unwrap()
}

impl Bed {
    pub(crate) async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let data = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", data.path().join("night.db").display());
        let store = Store::open(&url, DbClock::Database).await.unwrap();
        let stop = CancellationToken::new();
        let bells = Bells::in_memory(stop.clone());
        let boot = fresh_boot_id();
        let process = Process {
            boot: boot.clone(),
            host: "h".to_owned(),
            role: Role::Worker,
            version: "test".to_owned(),
            model: None,
            endpoint: None,
            gpu: None,
            slots: 1,
        };
        store.announce(&process).await.unwrap();
        Self { data, store, bells, model: Model::start(replies).await, boot, stop }
    }

    /// A task whose first job is ready.
    pub(crate) async fn task(&self, limits: Limits) -> TaskId {
        let new = NewTask {
            kind: Kind::Build,
            objective: Objective::try_from("Build a board.".to_owned()).unwrap(),
            owner: "ada".to_owned(),
            priority: Priority::default(),
            models: AgentModels::same(&model_name()),
            limits,
            approve: false,
            deadline: None,
            language: None,
            previous: None,
            idempotency_key: None,
        };
        let task = self.store.submit(&new).await.unwrap().task;
        self.advance(&task).await;
        task
    }

    pub(crate) async fn advance(&self, task: &TaskId) {
        nightforge_scheduler::advance_task(&self.store, &self.bells, task).await.unwrap();
    }

    /// Claims the ready job.
    pub(crate) async fn claim(&self) -> Claim {
        let lease = Duration::from_secs(60).as_millis() as i64;
        self.store.claim(&model_name(), &self.boot, "w", lease).await.unwrap().expect("a ready job")
    }

    /// A claimed job of a fresh task.
    pub(crate) async fn claimed(&self) -> Claim {
        self.task(Limits::default()).await;
        self.claim().await
    }

    pub(crate) fn endpoint(&self) -> EndpointConfig {
        EndpointConfig {
            url: self.model.url(),
            model: MODEL.to_owned(),
            context_tokens: Some(32_768),
            ..EndpointConfig::default()
        }
    }

    pub(crate) fn workshop(&self) -> Arc<Workshop> {
        self.workshop_at(self.endpoint())
    }

    pub(crate) fn workshop_at(&self, endpoint: EndpointConfig) -> Arc<Workshop> {
        let url = endpoint.url.clone();
        Arc::new(Workshop {
            store: self.store.clone(),
            bells: self.bells.clone(),
            endpoint: Arc::new(Endpoint::new(Client::new(endpoint).unwrap(), url)),
            slots: Slots::new(1, Duration::ZERO),
            sampling: Sampling::default(),
            time_limits: TimeLimits::default(),
            data: self.data.path().to_owned(),
            sandbox: Sandbox::detect().unwrap(),
            search: None,
        })
    }

    /// A context as an execution has it, and the signal that it listens to.
    pub(crate) async fn context(&self, claim: Claim) -> (JobContext, watch::Sender<Option<Interruption>>) {
        self.context_in(claim, &self.workshop()).await
    }

    /// The same in a given workshop.
    pub(crate) async fn context_in(
        &self,
        claim: Claim,
        workshop: &Workshop,
    ) -> (JobContext, watch::Sender<Option<Interruption>>) {
        let (signal, told) = watch::channel(None);
        let context = JobContext::new(claim, workshop, told, Progress::default()).await.unwrap();
        (context, signal)
    }

    pub(crate) async fn job(&self, job: &JobId) -> JobRow {
        let jobs = self.store.jobs(&job.task).await.unwrap();
        jobs.into_iter().find(|row| row.no == job.no).unwrap()
    }

    /// Types of the task's log.
    pub(crate) async fn log(&self, task: &TaskId) -> Vec<String> {
        self.store.events(task, 0, 10_000).await.unwrap().into_iter().map(|event| event.type_name).collect()
    }

    /// Waits until the job satisfies `condition`.
    pub(crate) async fn until(&self, job: &JobId, condition: impl Fn(&JobRow) -> bool) -> JobRow {
        let found = async {
            loop {
                let row = self.job(job).await;
                if condition(&row) {
                    return row;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(60), found).await {
            Ok(row) => row,
            Err(_) => {
                panic!("not within a minute: {:?}\n{:?}", self.job(job).await, self.log(&job.task).await)
            }
        }
    }

    pub(crate) fn config(&self) -> WorkerConfig {
        let mut config =
            WorkerConfig::new(self.boot.clone(), self.data.path().to_owned(), model_name(), self.endpoint());
        config.sandbox = SandboxRule::Required;
        config
    }

    pub(crate) fn worker(&self, config: WorkerConfig) -> RunningWorker {
        let (drain, abort) = (CancellationToken::new(), CancellationToken::new());
        let running = run(self.store.clone(), self.bells.clone(), config, drain.clone(), abort.clone());
        RunningWorker { drain, abort, ended: tokio::spawn(running) }
    }

    /// Changes rows behind the store's back.
    pub(crate) async fn execute(&self, sql: &str) {
        let mut child = self.python(&format!("db.execute({sql:?}); db.commit()"));
        // Beside the runtime: a transaction that is under way here has to end first.
        let status = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
        assert!(status.success());
    }

    /// Another process takes the database's write lock, until the guard is dropped.
    pub(crate) async fn lock_database(&self) -> Locked {
        let mut child =
            self.python("db.execute('BEGIN IMMEDIATE'); print('locked', flush=True); sys.stdin.read()");
        let said = child.stdout.take().unwrap();
        let read = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(said).read_line(&mut line).map(|_| line)
        });
        assert_eq!(read.await.unwrap().unwrap(), "locked\n");
        Locked(child)
    }

    #[expect(clippy::disallowed_methods, reason = "another process that uses the same database")]
    fn python(&self, script: &str) -> Child {
        let path = self.data.path().join("night.db");
        Command::new("python3")
            .arg("-c")
            .arg(format!("import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1], timeout=60)\n{script}"))
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The database's write lock in another process's hand.
pub(crate) struct Locked(Child);

impl Drop for Locked {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

impl RunningWorker {
    /// Drains it and waits for its end.
    pub(crate) async fn drain(self) {
        self.drain.cancel();
        self.ended.await.unwrap().unwrap();
    }
}

/// What an execution that was interrupted says.
pub(crate) fn interruption<T: std::fmt::Debug>(result: Result<T, Failure>) -> Interruption {
    match result {
        Err(Failure::Interrupted(interruption)) => interruption,
        other => panic!("not interrupted: {other:?}"),
    }
}

/// A result of no use.
pub(crate) fn some_result() -> JobResult {
    JobResult::Verified(nightforge_domain::Verified { failing: Vec::new() })
}

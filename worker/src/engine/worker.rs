//! The worker: pinned to one endpoint, claims jobs for its model and executes a few of them at a time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use nightforge_domain::{BootId, ModelName};
use nightforge_llm::{Client, EndpointConfig, EndpointState, ModeRule, Sampling, TimeLimits};
use nightforge_queue::{Bells, ModelBells};
use nightforge_store::{Claim, EndpointReport, Store, StoreError};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::endpoint::{Endpoint, Watch};
use super::execution::{Execution, Workshop};
use super::lease::{Lease, Leases};
use super::poll;
use super::slots::Slots;
use crate::research::SearchSetup;
use crate::sandbox::Sandbox;
use crate::{branch, retention};

/// Without a bell, a worker with room looks for jobs this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The same while Redis is away, so that no slot stands free for long.
const LOOK_EVERY_WITHOUT_BELLS: Duration = Duration::from_millis(100);

/// After the grace, the hand-backs get so long.
const HAND_BACK_WITHIN: Duration = Duration::from_secs(5);

/// What may run where no sandbox tier works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxRule {
    /// Nothing: without a tier the worker refuses to start.
    Required,
    /// The demo's own script, which is part of this program, may run without one.
    DemoScript,
}

/// How a worker runs.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// This process.
    pub boot: BootId,
    /// Holds repositories and workspaces.
    pub data: PathBuf,
    /// The model whose jobs it claims.
    pub model: ModelName,
    /// The one endpoint that it calls.
    pub endpoint: EndpointConfig,
    /// For the log and the pages; the server itself is pinned, not this process.
    pub gpu: Option<String>,
    /// Model calls at a time. Default 1.
    pub slots: u32,
    /// Jobs at a time for each slot. Default 2: while one runs tests, another has the slot.
    pub jobs_per_slot: u32,
    /// Whether commands may run without a sandbox.
    pub sandbox: SandboxRule,
    /// How models are sampled; the seed is set per step.
    pub sampling: Sampling,
    /// How the model is asked for tool calls. Default: whatever a first few tiny calls find to work.
    pub mode: ModeRule,
    /// Time limits of one model call; the whole call is limited by the task.
    pub time_limits: TimeLimits,
    /// How long a claim holds without renewal. Default 15 s.
    pub lease: Duration,
    /// How long a job keeps its slot after a call. Default 1 s.
    pub sticky: Duration,
    /// How long a step in flight may take at shutdown. Default 30 s.
    pub grace: Duration,
    /// Where research looks for sources. Without it, research jobs of the Researcher are handed back. Default none.
    pub search: Option<Arc<SearchSetup>>,
    /// Whether jobs are noticed by polling, because no bell of the scheduler arrives. Default false.
    pub polls: bool,
}

impl WorkerConfig {
    /// The defaults for a model and its endpoint.
    pub fn new(boot: BootId, data: PathBuf, model: ModelName, endpoint: EndpointConfig) -> Self {
        Self {
            boot,
            data,
            model,
            endpoint,
            gpu: None,
            slots: 1,
            jobs_per_slot: 2,
            sandbox: SandboxRule::Required,
            sampling: Sampling::default(),
            mode: ModeRule::Auto,
            time_limits: TimeLimits::default(),
            lease: Duration::from_secs(15),
            sticky: Duration::from_secs(1),
            grace: Duration::from_secs(30),
            search: None,
            polls: false,
        }
    }
}

/// Claims and executes jobs until `drain`; then lets steps in flight end within the grace, hands the jobs back and
/// returns. `abort` gives steps in flight up at once.
///
/// # Errors
/// When the worker can't start: no sandbox tier, a bad endpoint, a data folder that can't be written to.
pub async fn run(
    store: Store,
    bells: Bells,
    config: WorkerConfig,
    drain: CancellationToken,
    abort: CancellationToken,
) -> anyhow::Result<()> {
    let sandbox = match (tokio::task::spawn_blocking(Sandbox::detect).await?, config.sandbox) {
        (Ok(sandbox), _) => sandbox,
        (Err(missing), SandboxRule::DemoScript) => {
            tracing::warn!("{missing}; the demo's own script runs without a sandbox");
            Sandbox::without_tier()
        }
        (Err(missing), SandboxRule::Required) => {
            return Err(anyhow::Error::new(missing).context("no sandbox, no build"));
        }
    };
    let client = Client::new(config.endpoint.clone()).context("the worker's endpoint")?;
    let endpoint = Arc::new(Endpoint::new(client, config.endpoint.url.clone()));
    let leases_stop = CancellationToken::new();
    let _stop_leases = leases_stop.clone().drop_guard();
    let leases = Leases::start(&store, config.boot.clone(), config.lease, leases_stop)?;
    let workshop = Arc::new(Workshop {
        store: store.clone(),
        bells: bells.clone(),
        endpoint: Arc::clone(&endpoint),
        slots: Slots::new(config.slots, config.sticky),
        sampling: config.sampling.clone(),
        time_limits: config.time_limits.clone(),
        data: config.data.clone(),
        sandbox,
        search: config.search.clone(),
    });
    let background = CancellationToken::new();
    let _stop_background = background.clone().drop_guard();
    let report = first_report(&config);
    let watch =
        Watch::new(Arc::clone(&endpoint), store.clone(), report, config.mode, config.time_limits.clone());
    tokio::spawn(watch.run(background.clone()));
    tokio::spawn(branch::keep(store.clone(), config.data.clone(), background.clone()));
    tokio::spawn(retention::keep(store.clone(), config.data.clone(), background.clone()));

    if config.polls {
        tokio::spawn(poll::ring(store.clone(), bells.clone(), config.model.clone(), background.clone()));
    }

    let mut executions = JoinSet::new();
    let claims =
        Claims { store: &store, config: &config, endpoint: &endpoint, leases: &leases, workshop: &workshop };
    let mut rung = bells.model(&config.model);
    claims.take(&mut rung, &mut executions, &drain, &abort).await;
    drop(rung);
    leases.drain();
    let finished = async {
        while let Some(ended) = executions.join_next().await {
            log_panic(ended);
        }
    };
    tokio::select! {
        () = finished => {}
        () = tokio::time::sleep(config.grace) => {
            tracing::warn!("the grace is over; steps in flight are given up");
        }
        () = abort.cancelled() => {}
    }
    // What is left hands its job back as its step is cut short; that write gets a moment.
    leases.cut();
    let handed_back = async { while executions.join_next().await.is_some() {} };
    if tokio::time::timeout(HAND_BACK_WITHIN, handed_back).await.is_err() {
        tracing::warn!("some jobs were not handed back; their leases run out");
    }
    Ok(())
}

/// Takes claims for this worker.
struct Claims<'a> {
    store: &'a Store,
    config: &'a WorkerConfig,
    endpoint: &'a Endpoint,
    leases: &'a Leases,
    workshop: &'a Arc<Workshop>,
}

impl Claims<'_> {
    /// Claims whenever there is room, until `drain` or `abort`.
    async fn take(
        &self,
        rung: &mut ModelBells,
        executions: &mut JoinSet<()>,
        drain: &CancellationToken,
        abort: &CancellationToken,
    ) {
        let room = self.config.slots.max(1) * self.config.jobs_per_slot.max(1);
        let room = Arc::new(Semaphore::new(room as usize));
        let mut bells_end = false;
        loop {
            let free = async {
                let permit = Arc::clone(&room).acquire_owned().await.expect("the semaphore is never closed");
                self.endpoint.ready().await;
                permit
            };
            let permit = tokio::select! {
                biased;
                () = drain.cancelled() => return,
                () = abort.cancelled() => return,
                permit = free => permit,
            };
            match self.one(drain, abort).await {
                Some(Ok(Some((claim, lease)))) => {
                    let execution = Execution::new(Arc::clone(self.workshop), claim, lease);
                    executions.spawn(async move {
                        execution.run().await;
                        drop(permit);
                    });
                    while let Some(ended) = executions.try_join_next() {
                        log_panic(ended);
                    }
                    continue;
                }
                Some(Ok(None)) => {}
                Some(Err(error)) => tracing::warn!(%error, "no claim; looking again"),
                None => return,
            }
            drop(permit);
            tokio::select! {
                bell = rung.next(), if !bells_end => bells_end = bell.is_none(),
                () = tokio::time::sleep(self.look_every()) => {}
                () = drain.cancelled() => return,
                () = abort.cancelled() => return,
            }
        }
    }

    fn look_every(&self) -> Duration {
        if self.workshop.bells.are_cut_off() { LOOK_EVERY_WITHOUT_BELLS } else { LOOK_EVERY }
    }

    /// One claim with its lease; `None` when the worker ends before the database answers. A drain does not cut the
    /// transaction short: it could have committed, and its job would wait for a lease that nobody holds.
    async fn one(
        &self,
        drain: &CancellationToken,
        abort: &CancellationToken,
    ) -> Option<Result<Option<(Claim, Lease)>, StoreError>> {
        let config = self.config;
        let (sent, name) = (Instant::now(), worker_name(config));
        let claiming = self.store.claim(&config.model, &config.boot, &name, config.lease.as_millis() as i64);
        let grace_is_over = async {
            drain.cancelled().await;
            tokio::time::sleep(config.grace).await;
        };
        let claimed = tokio::select! {
            biased;
            claimed = claiming => claimed,
            () = grace_is_over => return None,
            () = abort.cancelled() => return None,
        };
        Some(claimed.map(|claim| {
            claim.map(|claim| {
                let lease = self.leases.hold(claim.job.clone(), claim.fence, sent);
                (claim, lease)
            })
        }))
    }
}

/// What stands in every report of the endpoint.
fn first_report(config: &WorkerConfig) -> EndpointReport {
    EndpointReport {
        boot: config.boot.clone(),
        url: config.endpoint.url.clone(),
        model: config.model.clone(),
        gpu: config.gpu.clone(),
        slots: config.slots,
        server: None,
        state: EndpointState::Unreachable.as_str().to_owned(),
        message: None,
        context_tokens: config.endpoint.context_tokens,
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "an execution ended without booking its end; its lease runs out");
    }
}

/// How the log names this worker: the GPU where there is one, else the endpoint.
fn worker_name(config: &WorkerConfig) -> String {
    match &config.gpu {
        Some(gpu) => format!("gpu {gpu} at {}", config.endpoint.url),
        None => config.endpoint.url.clone(),
    }
}

//! The roles that one process runs together, as this program starts them. The only file that knows how scheduler,
//! worker and demo model are configured.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nightforge_demo::{DemoModel, DemoOptions, Misbehaviour};
use nightforge_domain::{BootId, ModelName};
use nightforge_llm::SecretString;
use nightforge_llm::{EndpointConfig, ModeRule, Sampling, TimeLimits};
use nightforge_queue::Bells;
use nightforge_scheduler::SchedulerConfig;
use nightforge_store::Store;
use nightforge_worker::sandbox::Sandbox;
use nightforge_worker::{SearchSetup, WorkerConfig};
use tokio_util::sync::CancellationToken;

pub(crate) use nightforge_worker::SandboxRule;

use crate::exit::{Exit, Failure};

/// A model that this process serves.
#[derive(Debug, Clone)]
pub(crate) struct ServedModel {
    /// As tasks ask for it.
    pub(crate) name: ModelName,
    /// As its server names it.
    pub(crate) server_name: String,
    /// Tokens that fit into its context, where known.
    pub(crate) context_tokens: Option<u64>,
    /// How it picks its tokens.
    pub(crate) sampling: Sampling,
    /// How it is asked for tool calls.
    pub(crate) mode: ModeRule,
    /// How long one of its calls may take.
    pub(crate) time_limits: TimeLimits,
    /// Who serves it; one worker each.
    pub(crate) endpoints: Vec<ServedEndpoint>,
}

/// A server of a model.
#[derive(Debug, Clone)]
pub(crate) struct ServedEndpoint {
    /// Base URL, `…/v1`.
    pub(crate) url: String,
    /// The GPU that it is pinned to.
    pub(crate) gpu: Option<String>,
    /// Model calls at a time.
    pub(crate) slots: u32,
    /// Sent as a bearer token.
    pub(crate) api_key: Option<SecretString>,
}

/// What every role of one process shares.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) boot: BootId,
    pub(crate) data: PathBuf,
    pub(crate) store: Store,
    pub(crate) bells: Bells,
    /// Where the Researchers of this process look for sources.
    pub(crate) search: Option<Arc<SearchSetup>>,
    /// Whether what other processes write is noticed by polling, because no bell of theirs arrives here.
    pub(crate) polls: bool,
}

/// Between two heartbeats of a process that has no worker; it is taken for gone after some of them.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(5);

/// Says that this process lives, until `shutdown`.
pub(crate) async fn stay_present(shared: Shared, shutdown: CancellationToken) -> anyhow::Result<()> {
    loop {
        tokio::select! {
            () = tokio::time::sleep(HEARTBEAT_EVERY) => {}
            () = shutdown.cancelled() => return Ok(()),
        }
        if let Err(error) = shared.store.heartbeat(&shared.boot).await {
            tracing::warn!(%error, "no heartbeat; trying again");
        }
    }
}

/// Advances and sweeps until `shutdown`.
pub(crate) async fn schedule(shared: Shared, shutdown: CancellationToken) -> anyhow::Result<()> {
    let config = SchedulerConfig { polls: shared.polls, ..SchedulerConfig::new(shared.boot, shared.data) };
    nightforge_scheduler::run(shared.store, shared.bells, config, shutdown).await
}

/// Executes jobs on one endpoint until `drain`.
pub(crate) async fn work(
    shared: Shared,
    model: ServedModel,
    endpoint: ServedEndpoint,
    sandbox: SandboxRule,
    drain: CancellationToken,
) -> anyhow::Result<()> {
    let called = EndpointConfig {
        url: endpoint.url,
        model: model.server_name,
        api_key: endpoint.api_key,
        context_tokens: model.context_tokens,
        ..EndpointConfig::default()
    };
    let config = WorkerConfig {
        gpu: endpoint.gpu,
        slots: endpoint.slots,
        sandbox,
        sampling: model.sampling,
        mode: model.mode,
        time_limits: model.time_limits,
        search: shared.search,
        polls: shared.polls,
        ..WorkerConfig::new(shared.boot, shared.data, model.name, called)
    };
    // A second signal ends the whole process, so nothing has to be told to abort.
    let abort = CancellationToken::new();
    nightforge_worker::run(shared.store, shared.bells, config, drain, abort).await
}

/// Whether commands of agents can be shut in here, where the rule wants it.
///
/// # Errors
/// With the package that is missing.
pub(crate) async fn check_sandbox(rule: SandboxRule) -> Result<(), Failure> {
    match rule {
        SandboxRule::DemoScript => Ok(()),
        SandboxRule::Required => match tokio::task::spawn_blocking(Sandbox::detect).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(missing)) => {
                Err(Failure::config(format!("agents' commands run in a sandbox only: {missing}")))
            }
            Err(error) => {
                Err(Failure::new(Exit::Failed, format!("the sandbox can't be looked for: {error}")))
            }
        },
    }
}

/// The scripted model, and the objective that it can build.
pub(crate) struct Demo {
    model: DemoModel,
}

impl Demo {
    /// What the script builds.
    pub(crate) const OBJECTIVE: &'static str = nightforge_demo::OBJECTIVE;

    /// The question that the script's team answers, in English or, for `ja`, in Japanese.
    pub(crate) fn research_objective(language: &str) -> &'static str {
        match language {
            "ja" => nightforge_demo::JAPANESE_OBJECTIVE,
            _ => nightforge_demo::RESEARCH_OBJECTIVE,
        }
    }

    /// Answers the next call with 429, as a busy server does.
    pub(crate) fn refuse_once(&self) {
        self.model.misbehave(Misbehaviour::TooManyRequests { retry_after_s: 1 }, 1);
    }

    /// Starts the model on a free port of loopback.
    ///
    /// # Errors
    /// When no port can be listened on.
    pub(crate) async fn start(pace: Duration) -> Result<Self, Failure> {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let options = DemoOptions { listen, pace, ..DemoOptions::default() };
        let model = DemoModel::start(options).await.map_err(|error| {
            Failure::new(Exit::Failed, format!("the demo model can't start on {listen}: {error}"))
        })?;
        Ok(Self { model })
    }

    /// The model, as served here.
    pub(crate) fn served(&self) -> Result<ServedModel, Failure> {
        let name = nightforge_demo::MODEL;
        let endpoint = ServedEndpoint { url: self.model.url(), gpu: None, slots: 1, api_key: None };
        Ok(ServedModel {
            name: name
                .parse()
                .map_err(|error| Failure::new(Exit::Failed, format!("the demo model: {error}")))?,
            server_name: name.to_owned(),
            context_tokens: Some(u64::from(nightforge_demo::CONTEXT_TOKENS)),
            sampling: Sampling::default(),
            mode: ModeRule::Auto,
            time_limits: TimeLimits::default(),
            endpoints: vec![endpoint],
        })
    }

    /// How many features the script builds.
    pub(crate) fn features() -> u64 {
        nightforge_demo::feature_count() as u64
    }

    /// Stops the model.
    pub(crate) async fn stop(self) {
        self.model.stop().await;
    }
}

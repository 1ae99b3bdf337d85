//! Live processes from outside.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use nightforge_domain::{BootId, JobNo, ModelName, TaskId};
use nightforge_store::{EndpointInfo, RunningJob, WorkerInfo, serves};
use serde::{Deserialize, Serialize};

use crate::Api;
use crate::problem::Problem;
use crate::views::moment;

/// Every live process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPage {
    /// In the order of their starts.
    pub workers: Vec<WorkerView>,
}

/// A live process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    /// Its boot id, fresh at every start.
    pub boot: BootId,
    /// `embedded`, `api`, `scheduler` or `worker`.
    pub role: String,
    /// Identity of its data folder; processes with the same one run on one machine.
    pub host: String,
    /// The program's version.
    pub version: String,
    /// When it started.
    pub started_at: Timestamp,
    /// Milliseconds since it last said that it lives.
    pub heartbeat_age_ms: i64,
    /// Model calls at a time.
    pub slots: u32,
    /// The model that it serves, where it serves one.
    pub model: Option<String>,
    /// What it last saw of its endpoints.
    pub endpoints: Vec<EndpointView>,
    /// The jobs that it runs.
    pub running: Vec<RunningView>,
}

/// What a worker last saw of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointView {
    /// The model that tasks ask for.
    pub model: ModelName,
    /// Without credentials.
    pub url: String,
    /// The GPU that it is pinned to.
    pub gpu: Option<String>,
    /// Model calls at a time.
    pub slots: u32,
    /// Which program answers there, where it is known.
    pub server: Option<String>,
    /// `ready`, `loading`, `unreachable` and so on.
    pub state: String,
    /// Whether it takes jobs in that state.
    pub serves: bool,
    /// What was asked, what came back, what to do.
    pub message: Option<String>,
    /// Tokens that fit into its context, where it is known.
    pub context_tokens: Option<u64>,
    /// When the state began.
    pub since: Timestamp,
    /// When it was last looked at.
    pub seen_at: Timestamp,
}

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningView {
    /// Its task.
    pub task: TaskId,
    /// Its number there.
    pub job: JobNo,
    /// `initialize`, `code` or `verify`.
    pub kind: String,
    /// The model that it asks for.
    pub model: String,
    /// When it was claimed.
    pub since: Option<Timestamp>,
}

pub(crate) async fn list(State(api): State<Arc<Api>>) -> Result<Json<WorkerPage>, Problem> {
    let workers = api.store.workers().await?.into_iter().map(worker).collect();
    Ok(Json(WorkerPage { workers }))
}

fn worker(worker: WorkerInfo) -> WorkerView {
    WorkerView {
        boot: worker.boot,
        role: worker.role,
        host: worker.host,
        version: worker.version,
        started_at: moment(worker.started_at),
        heartbeat_age_ms: worker.heartbeat_age_ms,
        slots: worker.slots,
        model: worker.model,
        endpoints: worker.endpoints.into_iter().map(endpoint).collect(),
        running: worker.running.into_iter().map(running).collect(),
    }
}

fn endpoint(endpoint: EndpointInfo) -> EndpointView {
    EndpointView {
        model: endpoint.model,
        url: endpoint.url,
        gpu: endpoint.gpu,
        slots: endpoint.slots,
        server: endpoint.server,
        serves: serves(&endpoint.state),
        state: endpoint.state,
        message: endpoint.message,
        context_tokens: endpoint.context_tokens,
        since: moment(endpoint.since),
        seen_at: moment(endpoint.seen_at),
    }
}

fn running(running: RunningJob) -> RunningView {
    RunningView {
        task: running.job.task,
        job: running.job.no,
        kind: running.kind,
        model: running.model,
        since: running.claimed_at.map(moment),
    }
}

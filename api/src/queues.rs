//! Queues: how deep they are, who serves them, and holding them back.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use jiff::Timestamp;
use nightforge_domain::{Kind, ModelName};
use nightforge_store::{Pause, Queue};
use serde::{Deserialize, Serialize};

use crate::Api;
use crate::asking::{BY, ring_ready};
use crate::problem::Problem;
use crate::views::moment;
use crate::waiting::Floor;

/// Every queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePage {
    /// Of each model, by name.
    pub models: Vec<QueueView>,
    /// Of each kind of task.
    pub kinds: Vec<KindView>,
}

/// The queue of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueView {
    /// The model.
    pub model: ModelName,
    /// Jobs that could be claimed, but for a pause of this queue.
    pub ready: u64,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that are tried again later.
    pub delayed: u64,
    /// Jobs whose task, or its kind, is paused.
    pub held: u64,
    /// How long the oldest ready job has waited, in milliseconds.
    pub oldest_ready_ms: Option<i64>,
    /// Who paused it, and since when.
    pub paused: Option<PauseView>,
    /// Workers whose endpoint takes jobs.
    pub workers_ready: usize,
    /// Workers whose endpoint is parked.
    pub workers_parked: usize,
}

/// A kind of task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindView {
    /// Which one.
    pub kind: Kind,
    /// Tasks that wait for admission.
    pub queued: u64,
    /// Tasks at work.
    pub running: u64,
    /// Who paused it, and since when.
    pub paused: Option<PauseView>,
}

/// Who paused something, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseView {
    /// Who.
    pub by: String,
    /// When.
    pub since: Timestamp,
}

type NameInPath = Result<Path<String>, PathRejection>;

pub(crate) async fn list(State(api): State<Arc<Api>>) -> Result<Json<QueuePage>, Problem> {
    let floor = Floor::look(&api.store).await?;
    let models = names(&api, &floor).iter().map(|model| queue(&floor, model)).collect();
    let mut kinds = Vec::new();
    for kind in Kind::ALL {
        kinds.push(of_kind(&api, &floor, kind).await?);
    }
    Ok(Json(QueuePage { models, kinds }))
}

pub(crate) async fn pause_model(api: State<Arc<Api>>, name: NameInPath) -> Result<Json<QueueView>, Problem> {
    let model = known(&api, name).await?;
    api.store.pause_queue(&Queue::Model(model.clone()), BY).await?;
    Ok(Json(queue(&Floor::look(&api.store).await?, &model)))
}

pub(crate) async fn resume_model(api: State<Arc<Api>>, name: NameInPath) -> Result<Json<QueueView>, Problem> {
    let model = known(&api, name).await?;
    if api.store.resume_queue(&Queue::Model(model.clone())).await? {
        ring_ready(&api).await?;
    }
    Ok(Json(queue(&Floor::look(&api.store).await?, &model)))
}

pub(crate) async fn pause_kind(api: State<Arc<Api>>, name: NameInPath) -> Result<Json<KindView>, Problem> {
    let kind = known_kind(name)?;
    api.store.pause_queue(&Queue::Kind(kind), BY).await?;
    Ok(Json(of_kind(&api, &Floor::look(&api.store).await?, kind).await?))
}

pub(crate) async fn resume_kind(api: State<Arc<Api>>, name: NameInPath) -> Result<Json<KindView>, Problem> {
    let kind = known_kind(name)?;
    if api.store.resume_queue(&Queue::Kind(kind)).await? {
        ring_ready(&api).await?;
    }
    Ok(Json(of_kind(&api, &Floor::look(&api.store).await?, kind).await?))
}

/// Every model that there is any reason to show: served, asked for, or paused.
fn names(api: &Api, floor: &Floor) -> Vec<ModelName> {
    let mut names = api.models.names(floor);
    names.extend(floor.queues.iter().filter_map(|queue| queue.model.parse().ok()));
    names.extend(floor.pauses.iter().filter_map(|pause| match &pause.queue {
        Queue::Model(model) => Some(model.clone()),
        Queue::Kind(_) => None,
    }));
    names.sort();
    names.dedup();
    names
}

async fn known(api: &Api, name: NameInPath) -> Result<ModelName, Problem> {
    let text = name.map_or_else(|_| String::new(), |Path(name)| name);
    let names = names(api, &Floor::look(&api.store).await?);
    let model = names.iter().find(|model| model.as_str() == text);
    model.cloned().ok_or_else(|| Problem::unknown_queue("model", &text, names.iter().map(ModelName::as_str)))
}

fn known_kind(name: NameInPath) -> Result<Kind, Problem> {
    let text = name.map_or_else(|_| String::new(), |Path(name)| name);
    text.parse()
        .map_err(|_| Problem::unknown_queue("kind", &text, Kind::ALL.iter().map(|kind| kind.as_str())))
}

fn queue(floor: &Floor, model: &ModelName) -> QueueView {
    let (depth, endpoints) = (floor.depth(model), floor.endpoints(model));
    let workers_ready = endpoints.iter().filter(|endpoint| endpoint.serves).count();
    QueueView {
        model: model.clone(),
        ready: depth.ready,
        running: depth.running,
        delayed: depth.delayed,
        held: depth.held,
        oldest_ready_ms: depth.oldest_ready_at.map(|since| floor.now.since(since)),
        paused: floor.pause(&Queue::Model(model.clone())).map(PauseView::from),
        workers_ready,
        workers_parked: endpoints.len() - workers_ready,
    }
}

async fn of_kind(api: &Api, floor: &Floor, kind: Kind) -> Result<KindView, Problem> {
    let (queued, running) = api.store.tasks_of_kind(kind).await?;
    Ok(KindView { kind, queued, running, paused: floor.pause(&Queue::Kind(kind)).map(PauseView::from) })
}

impl From<&Pause> for PauseView {
    fn from(pause: &Pause) -> Self {
        Self { by: pause.by.clone(), since: moment(pause.at) }
    }
}

//! Gathers the facts that tell why a task waits, and which models there are.

use nightforge_domain::waiting::{
    EndpointFacts, Holder, ModelFacts, WaitFacts, WaitReason, WaitingJob, Want, why,
};
use nightforge_domain::{JobId, Millis, ModelName, Status, TASKS_PER_SLOT};
use nightforge_store::{
    EndpointInfo, ModelQueue, Pause, Queue, QueueDepth, Store, StoreError, TaskRow, WorkerInfo, serves,
};

/// The roles that advance tasks, as processes announce them.
const SCHEDULERS: [&str; 2] = ["embedded", "scheduler"];

/// What every task's waiting depends on; read once for a page of tasks.
pub(crate) struct Floor {
    pub(crate) now: Millis,
    pub(crate) pauses: Vec<Pause>,
    pub(crate) queues: Vec<ModelQueue>,
    pub(crate) workers: Vec<WorkerInfo>,
    slots: i64,
}

impl Floor {
    /// Looks around.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn look(store: &Store) -> Result<Self, StoreError> {
        Ok(Self {
            now: store.now().await?,
            pauses: store.pauses().await?,
            queues: store.queues().await?,
            workers: store.workers().await?,
            slots: store.live_slots().await?,
        })
    }

    /// Why a task does not go on; empty when it does, or is over.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn why(&self, store: &Store, task: &TaskRow) -> Result<Vec<WaitReason>, StoreError> {
        if task.status.is_final() {
            return Ok(Vec::new());
        }
        let facts = WaitFacts {
            now: self.now,
            status: task.status,
            kind: task.kind,
            paused: task.paused.then(|| Holder(task.paused_by.clone())),
            kind_paused: self.pause(&Queue::Kind(task.kind)).map(holder),
            admission: self.admission(store, task).await?,
            scheduler_lives: self.workers.iter().any(|worker| SCHEDULERS.contains(&worker.role.as_str())),
            wants: self.wants(store, task).await?,
        };
        Ok(why(&facts))
    }

    /// Who paused a queue, if somebody did.
    pub(crate) fn pause(&self, queue: &Queue) -> Option<&Pause> {
        self.pauses.iter().find(|pause| pause.queue == *queue)
    }

    /// The unfinished jobs of a model.
    pub(crate) fn depth(&self, model: &ModelName) -> QueueDepth {
        let queue = self.queues.iter().find(|queue| queue.model == model.as_str());
        queue.map(|queue| queue.depth).unwrap_or_default()
    }

    /// What live workers see of the endpoints of a model. A worker that has announced the model and has not looked
    /// yet counts as one that does not serve.
    pub(crate) fn endpoints(&self, model: &ModelName) -> Vec<EndpointFacts> {
        let mut endpoints = Vec::new();
        for worker in &self.workers {
            let before = endpoints.len();
            let seen = worker.endpoints.iter().filter(|endpoint| endpoint.model == *model);
            endpoints.extend(seen.map(facts));
            if endpoints.len() == before && worker.model.as_deref() == Some(model.as_str()) {
                let message = format!("the worker on {} has not looked at its endpoint yet", worker.host);
                let (url, state) = (String::new(), "starting".to_owned());
                endpoints.push(EndpointFacts { url, state, serves: false, message: Some(message) });
            }
        }
        endpoints
    }

    /// Models that live workers serve, by name, each once.
    pub(crate) fn announced(&self) -> Vec<ModelName> {
        let said = self.workers.iter().filter_map(|worker| worker.model.as_deref()?.parse().ok());
        let seen = self.workers.iter().flat_map(|worker| &worker.endpoints).map(|seen| seen.model.clone());
        let mut names: Vec<ModelName> = said.chain(seen).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The largest context that any endpoint of the model has, where every one has told its own.
    pub(crate) fn largest_context(&self, model: &ModelName) -> Option<u64> {
        let endpoints = self.workers.iter().flat_map(|worker| &worker.endpoints);
        let told: Option<Vec<u64>> = endpoints
            .filter(|endpoint| endpoint.model == *model)
            .map(|endpoint| endpoint.context_tokens)
            .collect();
        told?.into_iter().max()
    }

    /// What the worker that runs a job last saw of its endpoints of this model.
    fn served_by(&self, job: &JobId, model: &ModelName) -> Vec<EndpointFacts> {
        let runs = |worker: &&WorkerInfo| worker.running.iter().any(|running| running.job == *job);
        let worker = self.workers.iter().find(runs);
        let seen = worker.into_iter().flat_map(|worker| &worker.endpoints);
        seen.filter(|endpoint| endpoint.model == *model).map(facts).collect()
    }

    fn model(&self, name: &ModelName) -> ModelFacts {
        let depth = self.depth(name);
        ModelFacts {
            paused: self.pause(&Queue::Model(name.clone())).map(holder),
            endpoints: self.endpoints(name),
            ready: depth.ready,
            running: depth.running,
            name: name.clone(),
        }
    }

    /// Tasks before this one, while it waits for admission.
    async fn admission(&self, store: &Store, task: &TaskRow) -> Result<Option<u64>, StoreError> {
        if task.status != Status::Queued || task.paused || store.has_further_inputs(&task.id).await? {
            return Ok(None);
        }
        let active = store.active_tasks(task.kind, task.priority).await?;
        let before = store.queued_before(&task.id, task.kind, task.priority).await?;
        let full = active + before >= self.slots.max(1) * TASKS_PER_SLOT;
        Ok(full.then(|| u64::try_from(before).unwrap_or(0)))
    }

    async fn wants(&self, store: &Store, task: &TaskRow) -> Result<Vec<Want>, StoreError> {
        if task.status == Status::Queued {
            let models = task.models.models();
            return Ok(models.map(|model| Want { job: None, model: self.model(model) }).collect());
        }
        let jobs = store.open_jobs(&task.id).await?;
        let want = |job: nightforge_store::OpenJob| Want {
            model: self.model(&job.model),
            job: Some(WaitingJob {
                no: job.no,
                state: job.state,
                run_after: job.run_after,
                last_error: job.last_error,
                served_by: self.served_by(&JobId { task: task.id.clone(), no: job.no }, &job.model),
            }),
        };
        Ok(jobs.into_iter().map(want).collect())
    }
}

fn facts(endpoint: &EndpointInfo) -> EndpointFacts {
    EndpointFacts {
        url: endpoint.url.clone(),
        serves: serves(&endpoint.state),
        state: endpoint.state.clone(),
        message: endpoint.message.clone(),
    }
}

fn holder(pause: &Pause) -> Holder {
    Holder(Some(pause.by.clone()))
}

//! Why a task waits, from facts alone.

use std::fmt;

use crate::{JobNo, JobState, Kind, Millis, ModelName, Status};

/// All that a task's waiting may depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitFacts {
    /// The database's clock.
    pub now: Millis,
    /// Where the task stands.
    pub status: Status,
    /// What it does.
    pub kind: Kind,
    /// Who paused it.
    pub paused: Option<Holder>,
    /// Who paused its kind.
    pub kind_paused: Option<Holder>,
    /// While it is queued and no more tasks may start: tasks whose turn comes before.
    pub admission: Option<u64>,
    /// Whether any process advances tasks.
    pub scheduler_lives: bool,
    /// What it asks for: a job each, or while it has none the models of its agents.
    pub wants: Vec<Want>,
}

/// Who holds something back; nobody is named where that was not written down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder(pub Option<String>);

/// One job, or a model that jobs will ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The job, once there is one.
    pub job: Option<WaitingJob>,
    /// The model that it asks for.
    pub model: ModelFacts,
}

/// A job that is ready or running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingJob {
    /// Its number.
    pub no: JobNo,
    /// Ready or running.
    pub state: JobState,
    /// It is not claimed before.
    pub run_after: Millis,
    /// Why it was handed back, if it was.
    pub last_error: Option<String>,
    /// While it runs: what its worker last saw of its endpoints of the job's model.
    pub served_by: Vec<EndpointFacts>,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Its name.
    pub name: ModelName,
    /// Who paused its queue.
    pub paused: Option<Holder>,
    /// Endpoints of live workers.
    pub endpoints: Vec<EndpointFacts>,
    /// Jobs of any task that could be claimed.
    pub ready: u64,
    /// Jobs of any task that run.
    pub running: u64,
}

/// What a live worker last saw of its endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointFacts {
    /// Without credentials.
    pub url: String,
    /// In the words of the design.
    pub state: String,
    /// Whether it takes jobs in that state.
    pub serves: bool,
    /// For a person.
    pub message: Option<String>,
}

/// One reason for which a task does not go on. Displayed, it is a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// The task is paused.
    Paused(Holder),
    /// Its kind is.
    KindPaused(Kind, Holder),
    /// A person has to answer a gate.
    Human,
    /// No process advances tasks.
    NoScheduler,
    /// So many tasks come before it.
    Admission(u64),
    /// The queue of its model is paused.
    ModelPaused(ModelName, Holder),
    /// No live worker serves its model.
    NoWorker(ModelName),
    /// Every endpoint of its model is parked.
    Parked(ModelName, Vec<EndpointFacts>),
    /// A job runs, and its worker's endpoint does not answer, or takes no calls.
    Stalled(JobNo, Vec<EndpointFacts>),
    /// A job is tried again later.
    Delayed {
        /// Which job.
        job: JobNo,
        /// Until then, from now.
        in_ms: i64,
        /// What happened to it.
        reason: Option<String>,
    },
    /// The workers of its model are at work on other jobs.
    Turn {
        /// Its model.
        model: ModelName,
        /// Jobs that could be claimed, its own among them.
        ready: u64,
        /// Jobs that run.
        running: u64,
    },
}

/// Why the task does not go on; empty when it does, or is over.
pub fn why(facts: &WaitFacts) -> Vec<WaitReason> {
    let mut reasons = Vec::new();
    if facts.status.is_final() {
        return reasons;
    }
    // A pause is told also while the last step ends.
    reasons.extend(facts.paused.clone().map(WaitReason::Paused));
    reasons.extend(facts.kind_paused.clone().map(|by| WaitReason::KindPaused(facts.kind, by)));
    if facts.status == Status::WaitingForHuman {
        reasons.push(WaitReason::Human);
        return reasons;
    }
    let jobs = || facts.wants.iter().filter_map(|want| want.job.as_ref());
    if jobs().any(|job| job.state == JobState::Running) {
        reasons.extend(
            jobs()
                .filter(|job| is_stalled(job))
                .map(|job| WaitReason::Stalled(job.no, job.served_by.clone())),
        );
        return reasons;
    }
    if jobs().next().is_none() && !facts.scheduler_lives {
        reasons.push(WaitReason::NoScheduler);
    }
    reasons.extend(facts.admission.map(WaitReason::Admission));
    for want in &facts.wants {
        for reason in of_want(want, facts.now, reasons.is_empty()) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    reasons
}

fn is_stalled(job: &WaitingJob) -> bool {
    let stalled = !job.served_by.is_empty() && !job.served_by.iter().any(|endpoint| endpoint.serves);
    job.state == JobState::Running && stalled
}

fn of_want(want: &Want, now: Millis, nothing_else: bool) -> Vec<WaitReason> {
    let Want { job, model } = want;
    let name = || model.name.clone();
    let mut reasons = Vec::new();
    reasons.extend(model.paused.clone().map(|by| WaitReason::ModelPaused(name(), by)));
    if model.endpoints.is_empty() {
        reasons.push(WaitReason::NoWorker(name()));
    } else if !model.endpoints.iter().any(|endpoint| endpoint.serves) {
        reasons.push(WaitReason::Parked(name(), model.endpoints.clone()));
    }
    let Some(job) = job else { return reasons };
    if job.run_after > now {
        let (in_ms, reason) = (job.run_after.since(now), job.last_error.clone());
        reasons.push(WaitReason::Delayed { job: job.no, in_ms, reason });
    } else if reasons.is_empty() && nothing_else && (model.running > 0 || model.ready > 1) {
        reasons.push(WaitReason::Turn { model: name(), ready: model.ready, running: model.running });
    }
    reasons
}

impl WaitReason {
    /// A name that never changes its meaning.
    pub fn name(&self) -> &'static str {
        match self {
            WaitReason::Paused(_) => "paused",
            WaitReason::KindPaused(..) => "kind-paused",
            WaitReason::Human => "human",
            WaitReason::NoScheduler => "no-scheduler",
            WaitReason::Admission(_) => "admission",
            WaitReason::ModelPaused(..) => "model-paused",
            WaitReason::NoWorker(_) => "no-worker",
            WaitReason::Parked(..) => "endpoints-parked",
            WaitReason::Stalled(..) => "endpoint-away",
            WaitReason::Delayed { .. } => "delayed",
            WaitReason::Turn { .. } => "turn",
        }
    }

    /// A few words, for a list.
    pub fn short(&self) -> String {
        match self {
            WaitReason::Paused(_) => "paused".to_owned(),
            WaitReason::KindPaused(kind, _) => format!("{kind} tasks are paused"),
            WaitReason::Human => "waits for a person".to_owned(),
            WaitReason::NoScheduler => "no scheduler runs".to_owned(),
            WaitReason::Admission(0) => "next in line".to_owned(),
            WaitReason::Admission(before) => format!("{before} tasks before it"),
            WaitReason::ModelPaused(model, _) => format!("{model} is paused"),
            WaitReason::NoWorker(model) => format!("no worker for {model}"),
            WaitReason::Parked(model, _) => format!("{model} is not ready"),
            WaitReason::Stalled(..) => "its model server does not answer".to_owned(),
            WaitReason::Delayed { in_ms, .. } => format!("again in {}", seconds(*in_ms)),
            WaitReason::Turn { .. } => "waits for its turn".to_owned(),
        }
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitReason::Paused(by) => write!(f, "the task is paused{by}; `nightforge resume` lets it go on"),
            WaitReason::KindPaused(kind, by) => write!(
                f,
                "tasks of kind {kind} are paused{by}; `nightforge queue resume --kind {kind}` lets them go on"
            ),
            WaitReason::Human => f.write_str("a person has to accept or send back what it shows"),
            WaitReason::NoScheduler => {
                f.write_str("no scheduler runs; start `nightforge up` or `nightforge scheduler`")
            }
            WaitReason::Admission(before) => {
                f.write_str("as many tasks as may are at work; ")?;
                match before {
                    0 => f.write_str("this one is next"),
                    1 => f.write_str("1 comes before it"),
                    before => write!(f, "{before} come before it"),
                }
            }
            WaitReason::ModelPaused(model, by) => write!(
                f,
                "the queue of model `{model}` is paused{by}; `nightforge queue resume {model}` lets it go on"
            ),
            WaitReason::NoWorker(model) => write!(
                f,
                "no live worker serves model `{model}`; start one that does, or submit the objective again \
                 with another --model"
            ),
            WaitReason::Parked(model, endpoints) => {
                write!(f, "no endpoint of model `{model}` takes jobs:")?;
                told(f, endpoints)
            }
            WaitReason::Stalled(job, endpoints) => {
                write!(f, "job {job} runs, and the endpoint of its worker takes no calls:")?;
                told(f, endpoints)
            }
            WaitReason::Delayed { job, in_ms, reason } => {
                write!(f, "job {job} is tried again in {}", seconds(*in_ms))?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ", after: {reason}"))
            }
            WaitReason::Turn { model, ready, running } => write!(
                f,
                "the workers of model `{model}` are at work: {running} of its jobs run, {ready} could, this one among \
                 them"
            ),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |by| write!(f, " by {by}"))
    }
}

/// How each endpoint is, and what to do about it.
fn told(f: &mut fmt::Formatter<'_>, endpoints: &[EndpointFacts]) -> fmt::Result {
    for (place, endpoint) in endpoints.iter().enumerate() {
        let mark = if place == 0 { "" } else { ";" };
        match &endpoint.message {
            Some(message) => write!(f, "{mark} {} ({message})", endpoint.state)?,
            None => write!(f, "{mark} {} is {}", endpoint.url, endpoint.state)?,
        }
    }
    Ok(())
}

fn seconds(ms: i64) -> String {
    format!("{} s", ms.max(0).saturating_add(999) / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder() -> Option<Holder> {
        Some(Holder(Some("ada".to_owned())))
    }

    fn endpoint(state: &str) -> EndpointFacts {
        let message = (state != "ready").then(|| "asked GET /models: nothing. Start it".to_owned());
        EndpointFacts { url: "http://h/v1".into(), state: state.into(), serves: state == "ready", message }
    }

    fn model(states: &[&str]) -> ModelFacts {
        let endpoints = states.iter().map(|state| endpoint(state)).collect();
        ModelFacts { name: "m".parse().unwrap(), paused: None, endpoints, ready: 3, running: 2 }
    }

    fn job(state: JobState, run_after: i64) -> Option<WaitingJob> {
        let last_error = (run_after > 0).then(|| "server down".to_owned());
        Some(WaitingJob {
            no: JobNo(4),
            state,
            run_after: Millis(run_after),
            last_error,
            served_by: Vec::new(),
        })
    }

    /// A running job whose worker sees its endpoints so.
    fn runs_at(states: &[&str]) -> Option<WaitingJob> {
        let served_by = states.iter().map(|state| endpoint(state)).collect();
        job(JobState::Running, 0).map(|job| WaitingJob { served_by, ..job })
    }

    /// A running task with one ready job whose model is ready.
    fn facts() -> WaitFacts {
        WaitFacts {
            now: Millis(1_000),
            status: Status::Running,
            kind: Kind::Build,
            paused: None,
            kind_paused: None,
            admission: None,
            scheduler_lives: true,
            wants: vec![Want { job: job(JobState::Ready, 0), model: model(&["ready"]) }],
        }
    }

    fn with(change: impl FnOnce(&mut WaitFacts)) -> WaitFacts {
        let mut facts = facts();
        change(&mut facts);
        facts
    }

    #[test]
    fn every_reason_is_named_and_comes_with_a_remedy() {
        let ready = |model| vec![Want { job: job(JobState::Ready, 0), model }];
        let queued = |facts: &mut WaitFacts| {
            facts.status = Status::Queued;
            facts.wants = vec![Want { job: None, model: model(&["ready"]) }];
        };
        #[rustfmt::skip]
        let table: Vec<(&str, WaitFacts, &[&str], &str)> = vec![
            ("over", with(|f| { f.status = Status::Completed; f.paused = holder(); }), &[], ""),
            ("at work", with(|f| f.wants[0].job = job(JobState::Running, 0)), &[], ""),
            ("at work, seen so", with(|f| f.wants[0].job = runs_at(&["ready"])), &[], ""),
            ("at work, one of two serves", with(|f| f.wants[0].job = runs_at(&["loading", "ready"])), &[], ""),
            ("its server froze", with(|f| f.wants[0].job = runs_at(&["unreachable"])), &["endpoint-away"],
                "job 4 runs, and the endpoint of its worker takes no calls: unreachable (asked GET /models: nothing."),
            ("ready, and what ran it is away",
                with(|f| f.wants[0].job = runs_at(&["unreachable"]).map(|j| WaitingJob { state: JobState::Ready, ..j })),
                &["turn"], ""),
            ("about to start", with(queued), &[], ""),
            ("its turn", facts(), &["turn"], "2 of its jobs run, 3 could"),
            ("about to be claimed", with(|f| (f.wants[0].model.ready, f.wants[0].model.running) = (1, 0)), &[], ""),
            ("one of two endpoints serves", with(|f| f.wants = ready(model(&["loading", "ready"]))), &["turn"], ""),
            ("paused", with(|f| f.paused = holder()), &["paused"], "paused by ada; `nightforge resume`"),
            ("paused by nobody knows whom", with(|f| f.paused = Some(Holder(None))), &["paused"], "is paused;"),
            ("paused, its last step running",
                with(|f| { f.paused = holder(); f.wants[0].job = job(JobState::Running, 0); }), &["paused"], ""),
            ("its kind is paused", with(|f| f.kind_paused = holder()), &["kind-paused"], "queue resume --kind build"),
            ("its model is paused", with(|f| f.wants[0].model.paused = holder()), &["model-paused"],
                "`m` is paused by ada; `nightforge queue resume m`"),
            ("a gate", with(|f| { f.status = Status::WaitingForHuman; f.wants.clear(); }), &["human"], "a person"),
            ("no worker", with(|f| f.wants = ready(model(&[]))), &["no-worker"], "no live worker serves model `m`"),
            ("no worker, not begun", with(|f| { queued(f); f.wants[0].model = model(&[]); }), &["no-worker"], ""),
            ("parked", with(|f| f.wants = ready(model(&["unreachable", "loading"]))), &["endpoints-parked"],
                "unreachable (asked GET /models: nothing. Start it); loading (asked"),
            ("one model twice", with(|f| f.wants = [ready(model(&[])), ready(model(&[]))].concat()), &["no-worker"], ""),
            ("admission", with(|f| { queued(f); f.admission = Some(7); }), &["admission"], "7 come before it"),
            ("next", with(|f| { queued(f); f.admission = Some(0); }), &["admission"], "this one is next"),
            ("no scheduler", with(|f| { queued(f); f.scheduler_lives = false; }), &["no-scheduler"], "nightforge up"),
            ("no scheduler, but a job", with(|f| f.scheduler_lives = false), &["turn"], ""),
            ("delayed", with(|f| f.wants[0].job = job(JobState::Ready, 5_500)), &["delayed"],
                "job 4 is tried again in 5 s, after: server down"),
            ("delayed and parked",
                with(|f| { f.wants = ready(model(&["loading"])); f.wants[0].job = job(JobState::Ready, 5_500); }),
                &["endpoints-parked", "delayed"], ""),
            ("everything at once",
                with(|f| {
                    queued(f);
                    (f.paused, f.kind_paused, f.admission, f.scheduler_lives) = (holder(), holder(), Some(1), false);
                    f.wants[0].model = ModelFacts { paused: holder(), ..model(&["loading"]) };
                }),
                &["paused", "kind-paused", "no-scheduler", "admission", "model-paused", "endpoints-parked"], ""),
        ];
        for (name, facts, expected, said) in table {
            let reasons = why(&facts);
            let names: Vec<&str> = reasons.iter().map(WaitReason::name).collect();
            assert_eq!(names, expected, "{name}");
            let text: Vec<String> = reasons.iter().map(WaitReason::to_string).collect();
            assert!(text.join("\n").contains(said), "{name}: {text:?}");
            assert!(reasons.iter().all(|reason| reason.short().chars().count() <= 40), "{name}");
        }
    }
}

//! `demo`: the whole system in one process, with the scripted model over real HTTP.

use std::time::Duration;

use nightforge_api::{LimitChanges, PageRequest, SubmitBody, TaskView};
use nightforge_domain::{AgentModels, Kind, Limits};
use tokio_util::sync::CancellationToken;

use crate::args;
use crate::client::{Client, ClientError};
use crate::data_folder;
use crate::exit::{Exit, Failure};
use crate::follow::{Ending, follow, result_of};
use crate::output::{Format, Outcomes, Output, note};
use crate::place::Place;
use crate::roles::{Demo, SandboxRule};
use crate::running::{Interface, Plan, Running};
use crate::search::SearchPlan;
use crate::signals;

/// The demo's research may work so long, as in the original: 15 minutes.
const TASK_TIMEOUT_MS: u64 = 15 * 60 * 1_000;

/// One call of the demo's research may take so long, unless answers are slowed down.
const AGENT_TIMEOUT_MS: u64 = 120 * 1_000;

/// Tasks of a folder that are looked at: the longest page of the interface.
const TASKS_LOOKED_AT: u32 = 200;

pub(super) async fn run(args: args::Demo) -> Result<Exit, Failure> {
    if args.kind == Some(Kind::Build) && args.language != "en" {
        return Err(Failure::usage(
            "--language is for the research question; leave it out, or leave --kind out",
        ));
    }
    let output = Output::new(args.output.output);
    let leave = signals::orderly_end()?;
    let data = args.data.clone().map_or_else(|| data_folder::fresh_for("demo"), Ok)?;
    let model = Demo::start(Duration::from_millis(args.pace)).await?;
    let served = model.served()?;
    let interface = Interface {
        listen: args.listen,
        agents: Some(AgentModels::same(&served.name)),
        models: vec![served],
        limits: Limits::default(),
    };
    let plan = Plan::embedded(Place::folder(data), interface, SandboxRule::DemoScript, SearchPlan::demo());
    let mut running = Running::start(plan).await?;
    let server = running.url();
    note(&format!("the demo runs in {}; its tasks are at {server}/api/tasks", running.data().display()));
    note(
        "the model is a script, and what goes wrong on the way is part of it: a refused call (HTTP 429), a feature that \
         fails at first, citations that do not hold",
    );
    let show = Show { client: Client::new(&server)?, model: &model, args: &args, output, leave: &leave };
    let shown = tokio::select! {
        shown = show.all(&server) => shown,
        failure = running.broken() => Err(failure),
    };
    if let Ok(endings) = &shown
        && let Some(Ending::Left(task)) = endings.last()
    {
        let data = running.data().display();
        note(&format!("ending with task {} unfinished; go on with: nightforge demo --data {data}", task.id));
    }
    let place = running.data().display().to_string();
    let ended = running.end().await;
    model.stop().await;
    let endings = shown?;
    ended?;
    if let (Format::Table, Some(Ending::Over(task))) = (output.format, endings.last()) {
        note(&format!("look further with: nightforge show {} --report --data {place}", task.id));
    }
    Ok(endings.iter().map(|ending| Exit::of(ending.task().state)).max().unwrap_or(Exit::Done))
}

/// What the demo shows, and to whom.
struct Show<'a> {
    client: Client,
    model: &'a Demo,
    args: &'a args::Demo,
    output: Output,
    leave: &'a CancellationToken,
}

impl Show<'_> {
    /// Shows one task of each kind, one after the other, and what they came to; with `--keep` it then waits until
    /// somebody leaves.
    async fn all(&self, server: &str) -> Result<Vec<Ending>, Failure> {
        let mut endings = Vec::new();
        for task in self.tasks().await? {
            let ending = self.one(task).await?;
            let is_left = matches!(ending, Ending::Left(_));
            endings.push(ending);
            if is_left {
                break;
            }
        }
        if self.output.format == Format::Json {
            self.output.json(&Outcomes::of(endings.iter().map(Ending::task)))?;
        }
        if self.args.keep && !matches!(endings.last(), Some(Ending::Left(_))) {
            note(&format!("kept running at {server}; Ctrl-C ends it"));
            self.leave.cancelled().await;
        }
        Ok(endings)
    }

    /// The task of each kind, as it stands: a finished one is only shown, one that goes on is gone on with. The next
    /// demo of a folder begins where every kind has finished the same number of times.
    async fn tasks(&self) -> Result<Vec<Turn>, Failure> {
        let kinds = self.args.kind.map_or_else(|| Kind::ALL.to_vec(), |kind| vec![kind]);
        let mut made = Vec::with_capacity(kinds.len());
        for kind in kinds {
            made.push((kind, self.made(kind).await?));
        }
        let most = made.iter().map(|(_, tasks)| tasks.len()).max().unwrap_or(0);
        let is_over = |tasks: &[TaskView]| {
            tasks.len() == most && tasks.last().is_some_and(|task| task.state.is_final())
        };
        let number = if made.iter().all(|(_, tasks)| is_over(tasks)) { most + 1 } else { most.max(1) };
        let turn = |(kind, mut tasks): (Kind, Vec<TaskView>)| match tasks.len() {
            count if count < number => Turn::New(kind, count + 1),
            _ => Turn::Made(Box::new(tasks.remove(number - 1))),
        };
        Ok(made.into_iter().map(turn).collect())
    }

    /// The tasks that demos have made of this kind in the folder, oldest first.
    async fn made(&self, kind: Kind) -> Result<Vec<TaskView>, Failure> {
        let wanted = PageRequest { limit: TASKS_LOOKED_AT, ..PageRequest::default() };
        let mut tasks = self.client.tasks(&wanted).await?.tasks;
        tasks.retain(|task| task.kind == kind && task.objective == self.objective(kind));
        tasks.reverse();
        Ok(tasks)
    }

    /// Queues what is not there yet, and follows it.
    async fn one(&self, turn: Turn) -> Result<Ending, Failure> {
        let task = match turn {
            Turn::Made(task) if task.state.is_final() => return Ok(Ending::Over(*task)),
            Turn::Made(task) => *task,
            Turn::New(kind, number) => {
                if kind == Kind::Research {
                    // Before it is queued, so that it is always the same call that meets it.
                    self.model.refuse_once();
                }
                self.queue(kind, number).await?
            }
        };
        let ending = follow(&self.client, &task.id, self.output, self.leave).await?;
        if let (Format::Table, Ending::Over(task)) = (self.output.format, &ending) {
            self.output.outcome(task, result_of(&self.client, task).await?.as_ref())?;
        }
        Ok(ending)
    }

    fn objective(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Build => Demo::OBJECTIVE,
            Kind::Research => Demo::research_objective(&self.args.language),
        }
    }

    async fn queue(&self, kind: Kind, number: usize) -> Result<TaskView, Failure> {
        let limits = LimitChanges::default();
        let limits = match kind {
            Kind::Build => limits.with("min_features", Some(Demo::features())),
            // An answer that is slowed down must not run into the limit.
            Kind::Research => limits
                .with("task_timeout_ms", Some(TASK_TIMEOUT_MS.max(self.args.pace.saturating_mul(60))))
                .with("agent_timeout_ms", Some(AGENT_TIMEOUT_MS.max(self.args.pace.saturating_mul(2)))),
        };
        let body = SubmitBody { limits, ..SubmitBody::new(kind, self.objective(kind)) };
        let key = match (kind, self.args.language.as_str()) {
            (Kind::Research, "ja") => format!("demo-research-ja-{number}"),
            _ => format!("demo-{kind}-{number}"),
        };
        match self.client.submit(&body, Some(&key)).await {
            Ok(task) => Ok(task),
            // Another version of this program asked for it in other words.
            Err(ClientError::Refused(problem)) if problem.name() == "idempotency-conflict" => {
                let Some(task) = &problem.task else { return Err(ClientError::Refused(problem).into()) };
                Ok(self.client.task(task.as_str()).await?)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// One kind's turn in a demo.
enum Turn {
    /// It is to be queued, as the demo of this number.
    New(Kind, usize),
    /// It is there.
    Made(Box<TaskView>),
}

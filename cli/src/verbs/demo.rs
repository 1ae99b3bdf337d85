//! `demo`: the whole system in one process, with the scripted model over real HTTP.

use std::time::Duration;

use nightforge_api::{LimitChanges, SubmitBody, TaskView};
use nightforge_domain::{AgentModels, Kind, Limits};
use tokio_util::sync::CancellationToken;

use crate::args;
use crate::client::{Client, ClientError};
use crate::data_folder;
use crate::exit::{Exit, Failure};
use crate::follow::{Ending, follow};
use crate::output::{Format, Outcomes, Output, note};
use crate::place::Place;
use crate::roles::{Demo, SandboxRule};
use crate::running::{Interface, Plan, Running};
use crate::signals;

pub(super) async fn run(args: args::Demo) -> Result<Exit, Failure> {
    let Kind::Build = args.kind;
    let output = Output::new(args.output.output);
    let leave = signals::orderly_end()?;
    let data = args.data.map_or_else(data_folder::fresh_for_demo, Ok)?;
    let model = Demo::start(Duration::from_millis(args.pace)).await?;
    let served = model.served()?;
    let interface = Interface {
        listen: args.listen,
        agents: Some(AgentModels { initializer: served.name.clone(), coder: served.name.clone() }),
        models: vec![served],
        limits: Limits::default(),
    };
    let plan = Plan::embedded(Place::folder(data), interface, SandboxRule::DemoScript);
    let mut running = Running::start(plan).await?;
    let server = running.url();
    note(&format!("the demo runs in {}; its tasks are at {server}/api/tasks", running.data().display()));
    let shown = tokio::select! {
        shown = show(&server, output, args.keep, &leave) => shown,
        failure = running.broken() => Err(failure),
    };
    if let Ok(Ending::Left(task)) = &shown {
        let data = running.data().display();
        note(&format!("ending with task {} unfinished; go on with: nightforge demo --data {data}", task.id));
    }
    let ended = running.end().await;
    model.stop().await;
    let (Ending::Over(task) | Ending::Left(task)) = shown?;
    ended?;
    Ok(Exit::of(task.state))
}

/// Queues the objective, shows what happens and what it came to; with `keep` it then waits for `leave`.
async fn show(
    server: &str,
    output: Output,
    keep: bool,
    leave: &CancellationToken,
) -> Result<Ending, Failure> {
    let client = Client::new(server)?;
    let task = queue(&client).await?;
    let ending = follow(&client, &task.id, output, leave).await?;
    let (Ending::Over(task) | Ending::Left(task)) = &ending;
    match (output.format, &ending) {
        (Format::Json, _) => output.json(&Outcomes::of(task))?,
        (Format::Table, Ending::Over(_)) => output.outcome(task)?,
        (Format::Table, Ending::Left(_)) | (Format::Jsonl, _) => {}
    }
    if keep && matches!(ending, Ending::Over(_)) {
        note(&format!("kept running at {server}; Ctrl-C ends it"));
        leave.cancelled().await;
    }
    Ok(ending)
}

/// The unfinished demo of the data folder, or a new one next to the finished ones. Each has its own idempotency
/// key, so it is found again by asking for it.
async fn queue(client: &Client) -> Result<TaskView, Failure> {
    let body = SubmitBody {
        kind: Kind::Build,
        objective: Demo::OBJECTIVE.to_owned(),
        priority: None,
        model: None,
        deadline: None,
        limits: LimitChanges::default().with("min_features", Some(Demo::features())),
    };
    let mut number = 1_u32;
    loop {
        let task = match client.submit(&body, Some(&format!("demo-build-{number}"))).await {
            Ok(task) => task,
            // Another version of this program asked for it in other words.
            Err(ClientError::Refused(problem)) if problem.name() == "idempotency-conflict" => {
                let Some(task) = &problem.task else { return Err(ClientError::Refused(problem).into()) };
                client.task(task.as_str()).await?
            }
            Err(error) => return Err(error.into()),
        };
        if !task.state.is_final() {
            return Ok(task);
        }
        number += 1;
    }
}

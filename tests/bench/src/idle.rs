//! What processes use that have nothing to do: `up`, and the three roles on PostgreSQL and Redis, beside a bare tokio
//! program with an HTTP server in it.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use nightforge_services::{Postgres, Redis};
use tokio::net::TcpListener;
use tokio::task::block_in_place;

use crate::args::Form;
use crate::fake_model::{CONTEXT_TOKENS, FakeModel};
use crate::load::MODEL;
use crate::process::{Process, Usage, command, nightforge};
use crate::table::{Limit, Row};

/// Limits: a share of one core, in percent, and resident memory.
const CPU_PERCENT: f64 = 1.0;
const RESIDENT_MB: f64 = 60.0;

/// Starting costs more than idling; it is over by then.
const SETTLE: Duration = Duration::from_secs(6);

/// The program that idle roles are compared with: a runtime and an HTTP server. Runs until it is ended.
///
/// # Errors
/// When it can't listen.
pub(crate) async fn be_the_baseline() -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    eprintln!("ready at {}", listener.local_addr()?);
    let routes = Router::new().route("/", get(async || "idle"));
    Ok(axum::serve(listener, routes).await?)
}

/// # Errors
/// When a service or a process does not start, or ends by itself.
pub(crate) async fn run(form: Form) -> anyhow::Result<Vec<Row>> {
    let (settle, watched) =
        form.pick((SETTLE, Duration::from_secs(30)), (Duration::from_millis(500), Duration::from_secs(1)));
    let (postgres, redis) = block_in_place(|| anyhow::Ok((Postgres::start()?, Redis::start()?)))?;
    let model = FakeModel::start().await?;
    let folder = tempfile::tempdir()?;
    let (embedded, cluster) = (folder.path().join("embedded"), folder.path().join("cluster"));
    configure(&embedded, &model, "")?;
    let services = format!("database_url = \"{}\"\nredis_url = \"{}\"\n", postgres.url(), redis.url());
    configure(&cluster, &model, &services)?;
    let processes = block_in_place(|| start(&embedded, &cluster))?;
    tokio::time::sleep(settle).await;
    let before = usages(&processes)?;
    tokio::time::sleep(watched).await;
    let after = usages(&processes)?;
    let percent = |place: usize| {
        let used = after[place].cpu.saturating_sub(before[place].cpu);
        used.as_secs_f64() / watched.as_secs_f64() * 100.0
    };
    let megabytes = |place: usize| after[place].resident_bytes as f64 / 1e6;
    let mut rows = Vec::new();
    for (place, process) in processes.iter().enumerate().skip(1) {
        let name = process.name();
        rows.push(
            Row::new(format!("idle {name}, CPU"), "% of a core", percent(place))
                .beside(percent(0))
                .limited(Limit::Below(CPU_PERCENT))
                .noting(format!("over {} s", watched.as_secs())),
        );
        rows.push(
            Row::new(format!("idle {name}, resident"), "MB", megabytes(place))
                .beside(megabytes(0))
                .limited(Limit::Below(RESIDENT_MB)),
        );
    }
    block_in_place(|| drop(processes));
    Ok(rows)
}

fn configure(folder: &Path, model: &FakeModel, services: &str) -> anyhow::Result<()> {
    std::fs::create_dir(folder)?;
    let toml = format!(
        "listen = \"127.0.0.1:0\"\n{services}[models.bench]\nname = \"{MODEL}\"\ncontext = {CONTEXT_TOKENS}\n\
         [[models.bench.endpoints]]\nurl = \"{}\"\n",
        model.url()
    );
    Ok(std::fs::write(folder.join("nightforge.toml"), toml)?)
}

/// The baseline first, then ours.
fn start(embedded: &Path, cluster: &Path) -> anyhow::Result<Vec<Process>> {
    let mut baseline = command(&std::env::current_exe()?);
    baseline.arg("--idle-baseline");
    let mut processes = vec![Process::start("baseline", baseline)?];
    for (folder, role) in [(embedded, "up"), (cluster, "api"), (cluster, "scheduler"), (cluster, "worker")] {
        let mut command = nightforge(folder)?;
        command.arg(role).arg("--data").arg(folder.join("data"));
        processes.push(Process::start(role, command)?);
    }
    Ok(processes)
}

fn usages(processes: &[Process]) -> anyhow::Result<Vec<Usage>> {
    processes.iter().map(Process::usage).collect()
}

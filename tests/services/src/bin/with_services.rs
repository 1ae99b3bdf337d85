//! Runs a command beside services that it shares: `with-services [--postgres] [--llama] -- COMMAND…`.
//!
//! The command finds them through `NIGHTFORGE_TEST_POSTGRES_URL` and `NIGHTFORGE_TEST_LLAMA_URL`. They end with it,
//! and so do they when this program is told to end, or is killed. The exit code is the command's.

use std::process::ExitCode;

use anyhow::{Context, bail};
use nightforge_services::{LlamaOptions, LlamaServer, Postgres};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "usage: with-services [--postgres] [--llama] -- COMMAND…";

fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let (mut postgres, mut llama) = (None, None);
    // By `by_ref`, so that the command is left.
    for argument in arguments.by_ref() {
        match argument.to_str() {
            Some("--postgres") => postgres = Some(Postgres::start()?),
            Some("--llama") => llama = Some(LlamaServer::start(&LlamaOptions::default())?),
            Some("--") => break,
            _ => bail!("unknown argument {argument:?}; {USAGE}"),
        }
    }
    let program = arguments.next().with_context(|| format!("no command; {USAGE}"))?;
    #[expect(clippy::disallowed_methods, reason = "the command that this program is for")]
    let mut command = tokio::process::Command::new(&program);
    command.args(arguments);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_this_package(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.envs(postgres.as_ref().map(|server| ("NIGHTFORGE_TEST_POSTGRES_URL", server.url())));
    command.envs(llama.as_ref().map(|server| ("NIGHTFORGE_TEST_LLAMA_URL", server.url())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let status = runtime.block_on(async {
        let child = command.spawn().with_context(|| format!("{} can't be started", program.display()))?;
        end_of(child).await
    });
    // Before anything is reported, whatever the command came to.
    drop((postgres, llama));
    Ok(ExitCode::from(status?))
}

/// What `cargo run` says of the package that it runs. Build scripts look at some of it, so a cargo below would build
/// their crates again.
fn is_of_this_package(name: &str) -> bool {
    let prefixes = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Waits for the command and passes on what this program is told; its exit code, as a shell would give it.
async fn end_of(mut child: Child) -> anyhow::Result<u8> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    loop {
        tokio::select! {
            status = child.wait() => {
                let status = status?;
                let by_signal = std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0);
                return Ok(status.code().unwrap_or(128 + by_signal) as u8);
            }
            // A terminal sends it to the command as well.
            _ = interrupt.recv() => tell(&child, Signal::INT),
            _ = terminate.recv() => tell(&child, Signal::TERM),
        }
    }
}

fn tell(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        let _may_have_ended = kill_process(pid, signal);
    }
}

//! `init.sh`: run by the harness, twice at first, so that it is known to work again and again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::progress::INIT_SCRIPT;
use super::runner::Runner;

/// Both runs together.
const INIT_TIMEOUT: Duration = Duration::from_secs(300);

/// What running `init.sh` gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InitRun {
    /// All runs ended with 0 in time.
    pub(crate) ok: bool,
    /// How it ended, and the output of a run that failed.
    pub(crate) text: String,
}

/// Runs `init.sh` once.
///
/// # Errors
/// When this machine can't run a command.
pub(crate) async fn run_once(runner: &Runner) -> anyhow::Result<InitRun> {
    let ran = runner.run(&format!("sh ./{INIT_SCRIPT}"), INIT_TIMEOUT).await?;
    let text = if ran.passed() { "ok".to_owned() } else { ran.text() };
    Ok(InitRun { ok: ran.passed(), text })
}

/// Runs `init.sh` twice: it must also work where it has worked before.
///
/// # Errors
/// When this machine can't run a command.
pub(crate) async fn run_twice(runner: &Runner) -> anyhow::Result<InitRun> {
    let started = std::time::Instant::now();
    let first = run_once(runner).await?;
    if !first.ok {
        return Ok(first);
    }
    let second = run_once(runner).await?;
    if !second.ok {
        return Ok(InitRun {
            ok: false,
            text: format!("the first run worked, the second did not: {}", second.text),
        });
    }
    if started.elapsed() > INIT_TIMEOUT {
        let text = format!("both runs together took over {} s", INIT_TIMEOUT.as_secs());
        return Ok(InitRun { ok: false, text });
    }
    Ok(second)
}

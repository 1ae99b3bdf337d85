//! What all roles have in common: they run until somebody ends them, or until a part of them breaks.

use crate::exit::{Exit, Failure};
use crate::output::note;
use crate::running::{Plan, Running};
use crate::signals;

/// Runs the plan. `ready` is told once, when everything has started.
pub(super) async fn run(plan: Plan, ready: impl FnOnce(&Running)) -> Result<Exit, Failure> {
    let asked_to_end = signals::orderly_end()?;
    let mut running = Running::start(plan).await?;
    ready(&running);
    tokio::select! {
        failure = running.broken() => {
            // The others get their chance to hand back what they have.
            if let Err(second) = running.end().await {
                note(&second.message);
            }
            Err(failure)
        }
        () = asked_to_end.cancelled() => {
            note("ending: steps in flight are finished, jobs handed back; once more ends at once");
            running.end().await?;
            Ok(Exit::Done)
        }
    }
}

//! `up`: everything in one process, until somebody ends it.

use crate::args::Up;
use crate::config::{self, Settings};
use crate::discover::{candidates, choose, look};
use crate::embedded::{Embedded, Plan};
use crate::exit::{Exit, Failure};
use crate::output::note;
use crate::roles::SandboxRule;
use crate::signals;

pub(super) async fn run(args: Up) -> Result<Exit, Failure> {
    let settings = config::load(&args)?;
    let asked_to_end = signals::orderly_end()?;
    let mut embedded = Embedded::start(plan(settings).await?).await?;
    note(&format!("ready at {}, data in {}", embedded.url(), embedded.data().display()));
    note(&format!("queue work with: nightforge submit build \"…\" --watch{}", server_flag(&embedded)));
    tokio::select! {
        failure = embedded.broken() => {
            // The others get their chance to hand back what they have.
            if let Err(second) = embedded.end().await {
                note(&second.message);
            }
            Err(failure)
        }
        () = asked_to_end.cancelled() => {
            note("ending: steps in flight are finished, jobs handed back; once more ends at once");
            embedded.end().await?;
            Ok(Exit::Done)
        }
    }
}

async fn plan(settings: Settings) -> Result<Plan, Failure> {
    let (models, agents) = match settings.models {
        Some(configured) => configured,
        None => {
            let findings = look(&candidates(settings.discover.as_deref())).await?;
            let choice = choose(&findings)?;
            for line in &choice.said {
                note(line);
            }
            (vec![choice.model], choice.agents)
        }
    };
    Ok(Plan {
        listen: settings.listen,
        data: settings.data,
        models,
        agents,
        limits: settings.limits,
        sandbox: SandboxRule::Required,
    })
}

fn server_flag(embedded: &Embedded) -> String {
    let url = embedded.url();
    if url == crate::args::DEFAULT_SERVER { String::new() } else { format!(" --server {url}") }
}

//! `up`: everything in one process, until somebody ends it.

use crate::args::Up;
use crate::config::{self, Settings};
use crate::discover::{candidates, choose, look};
use crate::exit::{Exit, Failure};
use crate::output::note;
use crate::roles::SandboxRule;
use crate::running::{Interface, Plan, Running};

pub(super) async fn run(args: Up) -> Result<Exit, Failure> {
    let settings = config::load(&args.settings, args.listen)?;
    super::role::run(plan(settings).await?, |running| {
        note(&format!("ready at {}, data in {}", running.url(), running.data().display()));
        note(&format!("queue work with: nightforge submit build \"…\" --watch{}", server_flag(running)));
    })
    .await
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
    let interface =
        Interface { listen: settings.listen, models, agents: Some(agents), limits: settings.limits };
    Ok(Plan::embedded(settings.place, interface, SandboxRule::Required))
}

/// What a client has to add to find this server.
pub(super) fn server_flag(running: &Running) -> String {
    let url = running.url();
    if url == crate::args::DEFAULT_SERVER { String::new() } else { format!(" --server {url}") }
}

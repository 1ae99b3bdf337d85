//! `up`: everything in one process, until somebody ends it.

use nightforge_domain::AgentModels;

use crate::args::Up;
use crate::config::{self, Settings};
use crate::discover::{candidates, choose, look};
use crate::exit::{Exit, Failure};
use crate::output::note;
use crate::roles::{SandboxRule, ServedModel};
use crate::running::{Interface, Plan, Running};

pub(super) async fn run(args: Up) -> Result<Exit, Failure> {
    let settings = config::load(&args.settings, args.listen)?;
    super::role::run(plan(settings).await?, |running| {
        note(&format!("ready at {}, data in {}", running.url(), running.data().display()));
        note(&format!(
            "queue work with: nightforge submit build|research \"…\" --watch{}",
            server_flag(running)
        ));
    })
    .await
}

/// The configured models and who calls which; where none is configured, what a look around finds.
pub(super) async fn models(settings: &mut Settings) -> Result<(Vec<ServedModel>, AgentModels), Failure> {
    if let Some(configured) = settings.models.take() {
        return Ok(configured);
    }
    let findings = look(&candidates(settings.discover.as_deref())).await?;
    let choice = choose(&findings)?;
    for line in &choice.said {
        note(line);
    }
    Ok((vec![choice.model], choice.agents))
}

async fn plan(mut settings: Settings) -> Result<Plan, Failure> {
    let (models, agents) = models(&mut settings).await?;
    let interface =
        Interface { listen: settings.listen, models, agents: Some(agents), limits: settings.limits };
    Ok(Plan::embedded(settings.place, interface, SandboxRule::Required, settings.search))
}

/// What a client has to add to find this server.
pub(super) fn server_flag(running: &Running) -> String {
    let url = running.url();
    if url == crate::args::DEFAULT_SERVER { String::new() } else { format!(" --server {url}") }
}

//! `api`: the HTTP interface alone.

use nightforge_store::Role;

use super::up::server_flag;
use crate::args::Api;
use crate::config;
use crate::exit::{Exit, Failure};
use crate::output::note;
use crate::roles::SandboxRule;
use crate::running::{Interface, Plan};

pub(super) async fn run(args: Api) -> Result<Exit, Failure> {
    let settings = config::load(&args.settings, args.listen)?;
    let (models, agents) = match settings.models {
        Some((models, agents)) => (models, Some(agents)),
        None => {
            note("no model is configured here; tasks can ask for those that live workers serve");
            (Vec::new(), None)
        }
    };
    let plan = Plan {
        role: Role::Api,
        place: settings.place,
        interface: Some(Interface { listen: settings.listen, models, agents, limits: settings.limits }),
        schedules: false,
        workers: Vec::new(),
        sandbox: SandboxRule::Required,
        search: settings.search,
    };
    super::role::run(plan, |running| {
        note(&format!("the api is ready at {}, data in {}", running.url(), running.data().display()));
        note(&format!(
            "queue work with: nightforge submit build|research \"…\" --watch{}",
            server_flag(running)
        ));
    })
    .await
}

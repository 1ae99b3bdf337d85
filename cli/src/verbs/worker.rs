//! `worker`: executes the jobs of one model on one server.

use nightforge_domain::ModelName;
use nightforge_store::Role;

use crate::args::Worker;
use crate::config;
use crate::discover::{candidates, choose, look};
use crate::exit::{Exit, Failure};
use crate::output::note;
use crate::pinned::{Wanted, check_endpoint, pinned};
use crate::roles::SandboxRule;
use crate::running::Plan;

pub(super) async fn run(args: Worker) -> Result<Exit, Failure> {
    let settings = config::load(&args.settings, None)?;
    let wanted = Wanted { model: args.model, endpoint: args.endpoint, gpu: args.gpu, slots: args.slots };
    check_endpoint(wanted.endpoint.as_deref())?;
    let configured = match settings.models {
        Some((models, _)) => models,
        None if wanted.model.is_some() && wanted.endpoint.is_some() => Vec::new(),
        None => {
            let named = wanted.endpoint.as_ref().map(std::slice::from_ref);
            let findings = look(&candidates(named.or(settings.discover.as_deref()))).await?;
            let choice = choose(&findings)?;
            for line in &choice.said {
                note(line);
            }
            vec![choice.model]
        }
    };
    let names: Vec<ModelName> = configured.iter().map(|model| model.name.clone()).collect();
    let (model, endpoint) = pinned(configured, wanted)?;
    if !names.is_empty() && !names.contains(&model.name) {
        note(&format!(
            "model {} is not in the configuration; its jobs are taken with the defaults",
            model.name
        ));
    }
    let place = format!("{} at {}", model.name, endpoint.url);
    let plan = Plan {
        role: Role::Worker,
        place: settings.place,
        interface: None,
        schedules: false,
        workers: vec![(model, endpoint)],
        sandbox: SandboxRule::Required,
        search: settings.search,
    };
    super::role::run(plan, |running| {
        note(&format!("the worker of {place} is ready, data in {}", running.data().display()));
    })
    .await
}

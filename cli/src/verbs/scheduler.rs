//! `scheduler`: advances tasks; one of all schedulers sweeps.

use nightforge_store::Role;

use crate::args::Scheduler;
use crate::config;
use crate::exit::{Exit, Failure};
use crate::output::note;
use crate::roles::SandboxRule;
use crate::running::Plan;

pub(super) async fn run(args: Scheduler) -> Result<Exit, Failure> {
    let settings = config::load(&args.settings, None)?;
    let plan = Plan {
        role: Role::Scheduler,
        place: settings.place,
        interface: None,
        schedules: true,
        workers: Vec::new(),
        sandbox: SandboxRule::Required,
        search: settings.search,
    };
    super::role::run(plan, |running| {
        note(&format!("the scheduler is ready, data in {}", running.data().display()));
    })
    .await
}

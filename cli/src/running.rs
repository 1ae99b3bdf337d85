//! One running process: its data folder, database and bells, and the roles that it was asked to run.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use nightforge_api::{Api, KnownModel, Models, check_listen};
use nightforge_domain::{AgentModels, BootId, Limits};
use nightforge_store::presence::{self, BootLock};
use nightforge_store::{DbClock, Process, Role, Store, fresh_boot_id};
use tokio::net::TcpListener;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::data_folder::DataFolder;
use crate::exit::{Exit, Failure};
use crate::place::Place;
use crate::roles::{self, SandboxRule, ServedEndpoint, ServedModel, Shared};
use crate::search::SearchPlan;

/// What is going to run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What this process says that it is.
    pub(crate) role: Role,
    /// Data folder, database, bells.
    pub(crate) place: Place,
    /// The HTTP interface, where it runs here.
    pub(crate) interface: Option<Interface>,
    /// Whether tasks are advanced here.
    pub(crate) schedules: bool,
    /// A worker each.
    pub(crate) workers: Vec<(ServedModel, ServedEndpoint)>,
    /// What may run where no sandbox works.
    pub(crate) sandbox: SandboxRule,
    /// Where research looks for sources.
    pub(crate) search: SearchPlan,
}

/// What the HTTP interface needs to know.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) listen: SocketAddr,
    /// The models that tasks may ask for.
    pub(crate) models: Vec<ServedModel>,
    /// Who calls which; without it, everybody calls the only model that there is.
    pub(crate) agents: Option<AgentModels>,
    pub(crate) limits: Limits,
}

impl Plan {
    /// Everything in one process.
    pub(crate) fn embedded(
        place: Place,
        interface: Interface,
        sandbox: SandboxRule,
        search: SearchPlan,
    ) -> Self {
        let of_each = |model: &ServedModel| {
            let model = model.clone();
            model.endpoints.clone().into_iter().map(move |endpoint| (model.clone(), endpoint))
        };
        let workers = interface.models.iter().flat_map(of_each).collect();
        let (role, interface) = (Role::Embedded, Some(interface));
        Self { role, place, interface, schedules: true, workers, sandbox, search }
    }
}

type Ended = Result<(), Failure>;

/// The running process. End it with [`Running::end`]; dropped, it ends without handing jobs back.
pub(crate) struct Running {
    /// Where the HTTP interface listens.
    address: Option<SocketAddr>,
    workers: JoinSet<Ended>,
    others: JoinSet<Ended>,
    /// Workers claim nothing more, and hand back what they have.
    drain: CancellationToken,
    /// Everybody else ends.
    stop: CancellationToken,
    store: Store,
    boot: BootId,
    _boot_lock: BootLock,
    /// Given back last.
    folder: DataFolder,
}

impl Running {
    /// Starts everything. Nothing is written before the port and the data folder are ours.
    ///
    /// # Errors
    /// When the port is taken, the data folder can't be used, the database or Redis can't be reached or is refused, or
    /// the sandbox is missing.
    pub(crate) async fn start(plan: Plan) -> Result<Self, Failure> {
        let listener = match &plan.interface {
            Some(interface) => Some(listen(interface.listen).await?),
            None => None,
        };
        let address = match &listener {
            Some(listener) => Some(listener.local_addr().map_err(|error| {
                Failure::new(Exit::Failed, format!("the port that was taken can't be told: {error}"))
            })?),
            None => None,
        };
        let folder = match plan.role {
            Role::Embedded => DataFolder::take(&plan.place.data)?,
            Role::Api | Role::Scheduler | Role::Worker => DataFolder::share(&plan.place.data)?,
        };
        let store = Store::open(&plan.place.database(folder.path()), DbClock::Database).await?;
        let search = match plan.workers.is_empty() {
            true => None,
            false => {
                roles::check_sandbox(plan.sandbox).await?;
                plan.search.open(folder.path()).await?
            }
        };
        let boot = fresh_boot_id();
        let unusable = |error: io::Error| {
            Failure::config(format!(
                "the data folder {} can't be written to: {error}",
                folder.path().display()
            ))
        };
        let boot_lock = BootLock::take(folder.path(), &boot).map_err(unusable)?;
        let host = presence::host_id(folder.path()).map_err(unusable)?;
        let home = store.settle_in(&host).await?;
        if home != host {
            return Err(elsewhere(&folder, &home));
        }
        let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
        let bells = plan.place.bells(stop.clone()).await?;
        // Nothing can refuse the start any more: whoever is announced runs.
        store.announce(&announcement(&plan, boot.clone(), host)).await?;
        let polls = plan.role != Role::Embedded && !plan.place.has_redis();
        if polls {
            tracing::info!("no redis_url is set: this process looks for work of others by polling");
        }
        let shared = Shared {
            boot: boot.clone(),
            data: folder.path().to_owned(),
            store: store.clone(),
            bells,
            search,
            polls,
        };
        let (mut workers, mut others) = (JoinSet::new(), JoinSet::new());
        if let (Some(interface), Some(listener)) = (plan.interface, listener) {
            let (api, stop) = (api(&shared, interface, plan.search.names()), stop.clone());
            others.spawn(named("the HTTP interface", async move {
                Ok(nightforge_api::serve(api, listener, stop).await?)
            }));
        }
        if plan.schedules {
            others.spawn(named("the scheduler", roles::schedule(shared.clone(), stop.clone())));
        }
        if plan.workers.is_empty() {
            // A worker's lease thread does this where there is one.
            others.spawn(named("the heartbeat", roles::stay_present(shared.clone(), stop.clone())));
        }
        for (model, endpoint) in plan.workers {
            let name = format!("the worker of {} at {}", model.name, endpoint.url);
            let work = roles::work(shared.clone(), model, endpoint, plan.sandbox, drain.clone());
            workers.spawn(async move { named(&name, work).await });
        }
        Ok(Self { address, workers, others, drain, stop, store, boot, _boot_lock: boot_lock, folder })
    }

    /// Where the HTTP interface listens; empty where it does not run here.
    pub(crate) fn url(&self) -> String {
        self.address.map(|address| format!("http://{address}")).unwrap_or_default()
    }

    /// The data folder, as an absolute path.
    pub(crate) fn data(&self) -> &Path {
        self.folder.path()
    }

    /// Returns when a role ends by itself, which none should.
    pub(crate) async fn broken(&mut self) -> Failure {
        tokio::select! {
            Some(ended) = self.workers.join_next() => why_broken(ended),
            Some(ended) = self.others.join_next() => why_broken(ended),
        }
    }

    /// Ends in order: workers hand back what they have while the scheduler and the interface still run.
    ///
    /// # Errors
    /// When a role fails on its way out.
    pub(crate) async fn end(mut self) -> Result<(), Failure> {
        self.drain.cancel();
        let workers = all(&mut self.workers).await;
        self.stop.cancel();
        let others = all(&mut self.others).await;
        // Nothing is lost when this fails: others find out by the file lock, or by the silence.
        if let Err(error) = self.store.mark_gone(&self.boot).await {
            tracing::debug!(%error, "the end of this process was not written down");
        }
        self.store.close().await;
        workers.and(others)
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    check_listen(address).map_err(Failure::config)?;
    TcpListener::bind(address).await.map_err(|error| port_failure(address, &error))
}

fn port_failure(address: SocketAddr, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::AddrInUse => Failure::new(
            Exit::Conflict,
            format!(
                "{address} is in use: another program listens there, perhaps another nightforge. End it, or choose \
                 another port with --listen, such as --listen {}:0 for any free one",
                address.ip()
            ),
        ),
        _ => Failure::config(format!(
            "{address} can't be listened on: {error}; choose another address with --listen"
        )),
    }
}

fn known(model: &ServedModel) -> KnownModel {
    KnownModel {
        name: model.name.clone(),
        server_name: model.server_name.clone(),
        endpoints: model.endpoints.iter().map(|endpoint| endpoint.url.clone()).collect(),
    }
}

/// The database's repositories lie in another folder.
fn elsewhere(folder: &DataFolder, home: &str) -> Failure {
    Failure::config(format!(
        "the database belongs to another data folder than {0}: to the one whose file host-id holds {home}. Name that one \
         with --data; all roles share it. If its repositories are in {0} now, or are gone for good: nightforge migrate \
         --adopt --data {0}",
        folder.path().display()
    ))
}

/// The HTTP interface of this process.
fn api(shared: &Shared, interface: Interface, search: Vec<String>) -> Api {
    Api {
        store: shared.store.clone(),
        bells: shared.bells.clone(),
        models: Models { known: interface.models.iter().map(known).collect(), agents: interface.agents },
        data: shared.data.clone(),
        search,
        defaults: interface.limits,
    }
}

/// What this process says of itself.
fn announcement(plan: &Plan, boot: BootId, host: String) -> Process {
    // A process with one worker is that worker; one with several names them by their endpoints' reports.
    let only = match (plan.role, plan.workers.as_slice()) {
        (Role::Worker, [only]) => Some(only),
        _ => None,
    };
    Process {
        boot,
        host,
        role: plan.role,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        model: only.map(|(model, _)| model.name.to_string()),
        endpoint: only.map(|(_, endpoint)| endpoint.url.clone()),
        gpu: only.and_then(|(_, endpoint)| endpoint.gpu.clone()),
        slots: plan.workers.iter().map(|(_, endpoint)| endpoint.slots).sum(),
    }
}

async fn named(role: &str, run: impl Future<Output = anyhow::Result<()>>) -> Ended {
    run.await.map_err(|error| Failure::new(Exit::Failed, format!("{role}: {error:#}")))
}

fn flattened(ended: Result<Ended, JoinError>) -> Ended {
    ended.unwrap_or_else(|error| {
        Err(Failure::new(Exit::Failed, format!("a part of this process broke: {error}")))
    })
}

fn why_broken(ended: Result<Ended, JoinError>) -> Failure {
    match flattened(ended) {
        Err(failure) => failure,
        Ok(()) => Failure::new(Exit::Failed, "a part of this process ended by itself; its log says why"),
    }
}

/// Waits for all; the first failure counts.
async fn all(roles: &mut JoinSet<Ended>) -> Ended {
    let mut outcome = Ok(());
    while let Some(ended) = roles.join_next().await {
        outcome = outcome.and(flattened(ended));
    }
    outcome
}

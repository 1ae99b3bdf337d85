//! Everything in one process: database, bells, HTTP interface, scheduler, a worker for each endpoint.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use nightforge_api::{Api, KnownModel, Models, check_listen};
use nightforge_domain::{AgentModels, Limits};
use nightforge_queue::Bells;
use nightforge_store::presence::{self, BootLock};
use nightforge_store::{DbClock, Process, Role, Store, fresh_boot_id};
use tokio::net::TcpListener;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::data_folder::{DataFolder, database_url};
use crate::exit::{Exit, Failure};
use crate::roles::{self, SandboxRule, ServedModel, Shared};

/// What is going to run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) listen: SocketAddr,
    pub(crate) data: PathBuf,
    pub(crate) models: Vec<ServedModel>,
    pub(crate) agents: AgentModels,
    pub(crate) limits: Limits,
    pub(crate) sandbox: SandboxRule,
}

type Ended = Result<(), Failure>;

/// The running process. End it with [`Embedded::end`]; dropped, it ends without handing jobs back.
pub(crate) struct Embedded {
    address: SocketAddr,
    workers: JoinSet<Ended>,
    others: JoinSet<Ended>,
    /// Workers claim nothing more, and hand back what they have.
    drain: CancellationToken,
    /// Everybody else ends.
    stop: CancellationToken,
    store: Store,
    _boot_lock: BootLock,
    /// Given back last.
    folder: DataFolder,
}

impl Embedded {
    /// Starts everything. Nothing is written before the port and the data folder are ours.
    ///
    /// # Errors
    /// When the port is taken, the data folder can't be used, the database is a newer program's, or the sandbox is
    /// missing.
    pub(crate) async fn start(plan: Plan) -> Result<Self, Failure> {
        let listener = listen(plan.listen).await?;
        let address = listener.local_addr().map_err(|error| port_failure(plan.listen, &error))?;
        let folder = DataFolder::take(&plan.data)?;
        let store = Store::open(&database_url(folder.path()), DbClock::Database).await?;
        roles::check_sandbox(plan.sandbox).await?;
        let boot = fresh_boot_id();
        let unusable = |error: io::Error| {
            Failure::config(format!(
                "the data folder {} can't be written to: {error}",
                folder.path().display()
            ))
        };
        let boot_lock = BootLock::take(folder.path(), &boot).map_err(unusable)?;
        let process = Process {
            boot: boot.clone(),
            host: presence::host_id(folder.path()).map_err(unusable)?,
            role: Role::Embedded,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: None,
            endpoint: None,
            gpu: None,
            slots: plan.models.iter().flat_map(|model| &model.endpoints).map(|endpoint| endpoint.slots).sum(),
        };
        store.announce(&process).await?;

        let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
        let bells = Bells::in_memory(stop.clone());
        let api = Api {
            store: store.clone(),
            bells: bells.clone(),
            models: Models { known: plan.models.iter().map(known).collect(), agents: plan.agents },
            data: folder.path().to_owned(),
            defaults: plan.limits,
        };
        let shared = Shared { boot, data: folder.path().to_owned(), store: store.clone(), bells };
        let (mut workers, mut others) = (JoinSet::new(), JoinSet::new());
        others.spawn(named("the HTTP interface", {
            let stop = stop.clone();
            async move { Ok(nightforge_api::serve(api, listener, stop).await?) }
        }));
        others.spawn(named("the scheduler", roles::schedule(shared.clone(), stop.clone())));
        for model in plan.models {
            for endpoint in model.endpoints.clone() {
                let name = format!("the worker of {} at {}", model.name, endpoint.url);
                let work = roles::work(shared.clone(), model.clone(), endpoint, plan.sandbox, drain.clone());
                workers.spawn(async move { named(&name, work).await });
            }
        }
        Ok(Self { address, workers, others, drain, stop, store, _boot_lock: boot_lock, folder })
    }

    /// Where the HTTP interface listens.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
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

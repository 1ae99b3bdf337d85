//! Where a reading verb reads: a server, or the data folder itself.

use std::path::{Path, PathBuf};

use nightforge_api::{EventView, NotOne, PageRequest, TaskPage, TaskView, read_page, resolve_id};
use nightforge_domain::TaskId;
use nightforge_store::Store;

use crate::args::{DEFAULT_SERVER, FromArgs};
use crate::client::{Client, ClientError, EVENT_PAGE};
use crate::data_folder;
use crate::exit::{Exit, Failure};
use crate::output::note;

/// What is read.
pub(crate) enum Source {
    Server(Client),
    Folder { store: Store, data: PathBuf },
}

impl Source {
    /// The folder where one is named, the server else; with both, the folder only if the server does not answer.
    pub(crate) async fn open(from: &FromArgs) -> Result<Self, Failure> {
        let Some(data) = &from.data else {
            return Ok(Self::Server(Client::new(from.server.as_deref().unwrap_or(DEFAULT_SERVER))?));
        };
        if let Some(server) = &from.server {
            let client = Client::new(server)?;
            let probe = PageRequest { limit: 1, ..PageRequest::default() };
            match client.tasks(&probe).await {
                Err(ClientError::Unreachable(_)) => {
                    note(&format!("{server} does not answer; reading {}", data.display()));
                }
                _ => return Ok(Self::Server(client)),
            }
        }
        Self::folder(data).await
    }

    async fn folder(data: &Path) -> Result<Self, Failure> {
        data_folder::check_name(data)?;
        if !data_folder::database_path(data).is_file() {
            return Err(Failure::new(
                Exit::NotFound,
                format!(
                    "{} holds no nightforge.db; name a data folder that `nightforge up` or `demo` has used",
                    data.display()
                ),
            ));
        }
        let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
        let store = Store::open_existing(&data_folder::database_url(&data)).await?;
        Ok(Self::Folder { store, data })
    }

    /// Tasks, newest first.
    pub(crate) async fn tasks(&self, wanted: &PageRequest) -> Result<TaskPage, Failure> {
        let (store, data) = match self {
            Self::Server(client) => return Ok(client.tasks(wanted).await?),
            Self::Folder { store, data } => (store, data),
        };
        Ok(read_page(store, data, wanted).await?)
    }

    /// The task with this id, which may be shortened.
    pub(crate) async fn task(&self, id: &str) -> Result<TaskView, Failure> {
        let (store, data) = match self {
            Self::Server(client) => return Ok(client.task(id).await?),
            Self::Folder { store, data } => (store, data),
        };
        let task = resolve_id(store, id).await.map_err(|error| match error {
            NotOne::Unknown(_) => {
                Failure::new(Exit::NotFound, format!("{error}, with --data {}", data.display()))
            }
            NotOne::Several { .. } => Failure::new(Exit::Conflict, error.to_string()),
            NotOne::Store(error) => error.into(),
        })?;
        Ok(TaskView::load(store, data, &task).await?)
    }

    /// Events after number `after`, oldest first; fewer than [`EVENT_PAGE`] at the end.
    pub(crate) async fn events(&self, task: &TaskId, after: i64) -> Result<Vec<EventView>, Failure> {
        match self {
            Self::Server(client) => Ok(client.events(task, after).await?),
            Self::Folder { store, .. } => {
                Ok(store.events(task, after, EVENT_PAGE).await?.into_iter().map(Into::into).collect())
            }
        }
    }
}

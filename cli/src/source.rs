//! Where a reading verb reads: a server, or the data folder itself.

use std::path::{Path, PathBuf};

use nightforge_api::{EventView, TaskPage, TaskView};
use nightforge_domain::{Status, TaskId};
use nightforge_store::{Store, TaskFilter};

use crate::args::{DEFAULT_SERVER, FromArgs};
use crate::client::{Client, ClientError, EVENT_PAGE};
use crate::data_folder;
use crate::exit::{Exit, Failure};
use crate::output::note;

/// Which tasks a list shows.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) state: Option<Status>,
    pub(crate) before: Option<TaskId>,
    pub(crate) limit: u32,
}

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
            let probe = Wanted { state: None, before: None, limit: 1 };
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
    pub(crate) async fn tasks(&self, wanted: &Wanted) -> Result<TaskPage, Failure> {
        let (store, data) = match self {
            Self::Server(client) => return Ok(client.tasks(wanted).await?),
            Self::Folder { store, data } => (store, data),
        };
        let filter = TaskFilter {
            status: wanted.state,
            before: wanted.before.clone(),
            id_prefix: None,
            limit: wanted.limit + 1,
        };
        let mut rows = store.tasks(&filter).await?;
        let more = rows.len() > wanted.limit as usize;
        rows.truncate(wanted.limit as usize);
        let next = rows.last().filter(|_| more).map(|row| row.id.clone());
        let mut tasks = Vec::with_capacity(rows.len());
        for row in rows {
            tasks.push(TaskView::of(store, data, row).await?);
        }
        Ok(TaskPage { tasks, next })
    }

    /// The task with this id, which may be shortened.
    pub(crate) async fn task(&self, id: &str) -> Result<TaskView, Failure> {
        let (store, data) = match self {
            Self::Server(client) => return Ok(client.task(id).await?),
            Self::Folder { store, data } => (store, data),
        };
        let prefix = id.to_ascii_lowercase();
        let filter = TaskFilter { id_prefix: Some(prefix.clone()), limit: 2, ..TaskFilter::default() };
        let found = if prefix.is_empty() { Vec::new() } else { store.tasks(&filter).await? };
        match <[_; 1]>::try_from(found) {
            Ok([row]) => Ok(TaskView::of(store, data, row).await?),
            Err(found) if found.is_empty() => Err(Failure::new(
                Exit::NotFound,
                format!(
                    "there is no task `{id}` in {}; `nightforge list --data` shows those that there are",
                    data.display()
                ),
            )),
            Err(found) => {
                let ids: Vec<&str> = found.iter().map(|row| row.id.as_str()).collect();
                Err(Failure::new(
                    Exit::Conflict,
                    format!(
                        "several tasks begin with `{id}`, among them {}; give more of the id",
                        ids.join(" and ")
                    ),
                ))
            }
        }
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

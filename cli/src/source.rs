//! Where a reading verb reads: a server, or the data folder itself.

use std::path::{Path, PathBuf};

use nightforge_api::{
    EventView, FindingPage, MessageView, NotOne, PageRequest, SourcePage, SubtaskPage, TaskPage, TaskView,
    read_findings, read_messages, read_page, read_sources, read_subtasks, resolve_id,
};
use nightforge_domain::TaskId;
use nightforge_domain::research::{MessageType, ResearchResult};
use nightforge_store::Store;

use crate::args::{DEFAULT_SERVER, FromArgs};
use crate::client::{Client, ClientError, EVENT_PAGE};
use crate::data_folder;
use crate::exit::{Exit, Failure};
use crate::output::{Workspace, note};

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

    /// What the team of a research task has before it.
    pub(crate) async fn workspace(&self, task: &TaskId) -> Result<Workspace, Failure> {
        let (subtasks, findings, sources) = match self {
            Self::Server(client) => (
                client.page::<SubtaskPage>(task, "subtasks").await?,
                client.page::<FindingPage>(task, "findings").await?,
                client.page::<SourcePage>(task, "sources").await?,
            ),
            Self::Folder { store, .. } => (
                read_subtasks(store, task).await?,
                read_findings(store, task).await?,
                read_sources(store, task).await?,
            ),
        };
        Ok(Workspace {
            assignments: subtasks.subtasks,
            findings: findings.findings,
            uncertainties: findings.uncertainties,
            sources: sources.sources,
            latest_review: self.latest_review(task).await?,
        })
    }

    /// The last message in which the Critic decided.
    async fn latest_review(&self, task: &TaskId) -> Result<Option<MessageView>, Failure> {
        let (mut latest, mut after) = (None, 0);
        loop {
            let messages = match self {
                Self::Server(client) => client.messages(task, after).await?,
                Self::Folder { store, .. } => read_messages(store, task, after, EVENT_PAGE).await?.messages,
            };
            let is_last = messages.len() < EVENT_PAGE as usize;
            after = messages.last().map_or(after, |view| view.message.number);
            let decided = |view: &MessageView| {
                matches!(view.message.kind, MessageType::Approved | MessageType::NeedsMoreWork)
            };
            latest = messages.into_iter().rfind(decided).or(latest);
            if is_last {
                return Ok(latest);
            }
        }
    }

    /// The result of a research task; `None` where there is none.
    pub(crate) async fn result(&self, task: &TaskId) -> Result<Option<ResearchResult>, Failure> {
        Ok(match self {
            Self::Server(client) => client.result(task).await?,
            Self::Folder { store, .. } => store.research_result(task).await?,
        })
    }

    /// The report as Markdown; `None` while there is none.
    pub(crate) async fn report(&self, task: &TaskId) -> Result<Option<String>, Failure> {
        Ok(match self {
            Self::Server(client) => client.report(task).await?,
            Self::Folder { store, .. } => store.task(task).await?.report,
        })
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

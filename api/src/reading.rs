//! Pages of tasks and shortened ids, as the interface and a reader of the data folder both need them.

use std::path::Path;

use nightforge_domain::{Status, TaskId};
use nightforge_store::{Store, StoreError, TaskFilter};

use crate::waiting::Floor;
use crate::{TaskPage, TaskView};

/// Which tasks a page shows, newest first.
#[derive(Debug, Clone, Default)]
pub struct PageRequest {
    /// Only this state.
    pub state: Option<Status>,
    /// Only tasks older than this one.
    pub before: Option<TaskId>,
    /// Only ids that begin with this.
    pub id_prefix: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// Reads a page.
///
/// # Errors
/// When the database fails.
pub async fn read_page(store: &Store, data: &Path, wanted: &PageRequest) -> Result<TaskPage, StoreError> {
    let filter = TaskFilter {
        status: wanted.state,
        before: wanted.before.clone(),
        id_prefix: wanted.id_prefix.as_deref().map(str::to_ascii_lowercase),
        // One more than asked for tells whether there is a next page.
        limit: wanted.limit + 1,
    };
    let mut rows = store.tasks(&filter).await?;
    let more = rows.len() > wanted.limit as usize;
    rows.truncate(wanted.limit as usize);
    let next = rows.last().filter(|_| more).map(|row| row.id.clone());
    let floor = Floor::look(store).await?;
    let mut tasks = Vec::with_capacity(rows.len());
    for row in rows {
        tasks.push(TaskView::of(store, data, &floor, row).await?);
    }
    Ok(TaskPage { tasks, next })
}

/// Why an id names no task.
#[derive(Debug, thiserror::Error)]
pub enum NotOne {
    /// There is none.
    #[error("there is no task `{0}`; `nightforge list` shows those that there are")]
    Unknown(String),
    /// The shortened id fits several.
    #[error("several tasks begin with `{prefix}`, among them {first} and {second}; give more of the id")]
    Several {
        /// As it was given.
        prefix: String,
        /// One of them.
        first: TaskId,
        /// Another one.
        second: TaskId,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The one task whose id is `id`, or begins with it.
///
/// # Errors
/// When there is none, or several.
pub async fn resolve_id(store: &Store, id: &str) -> Result<TaskId, NotOne> {
    let unknown = || NotOne::Unknown(id.chars().take(60).collect());
    // Ids are written in lower case; people also paste ULIDs in upper case.
    let prefix = id.to_ascii_lowercase();
    if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(unknown());
    }
    if let Ok(whole) = prefix.parse::<TaskId>() {
        return match store.task(&whole).await {
            Ok(_) => Ok(whole),
            Err(StoreError::NoTask(_)) => Err(unknown()),
            Err(error) => Err(error.into()),
        };
    }
    let filter = TaskFilter { id_prefix: Some(prefix), limit: 2, ..TaskFilter::default() };
    let mut found = store.tasks(&filter).await?.into_iter().map(|row| row.id);
    match (found.next(), found.next()) {
        (None, _) => Err(unknown()),
        (Some(only), None) => Ok(only),
        (Some(first), Some(second)) => {
            Err(NotOne::Several { prefix: id.chars().take(60).collect(), first, second })
        }
    }
}

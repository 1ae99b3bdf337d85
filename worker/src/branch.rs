//! The project's branch follows the head that the database records, never the other way round.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nightforge_domain::{CommitId, Millis, TaskId};
use nightforge_store::Store;
use tokio_util::sync::CancellationToken;

use crate::project::Repository;

/// How often branches are compared with the database.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Heads that changed while the last look was going on are looked at again.
const OVERLAP_MS: i64 = 5_000;

/// The bare repository of a task's project.
pub fn repository_path(data: &Path, task: &TaskId) -> PathBuf {
    data.join("git").join(format!("{task}.git"))
}

/// Moves the branch to `head` where it differs and this machine has the commit.
///
/// # Errors
/// When git fails.
pub(crate) fn repair(data: &Path, task: &TaskId, head: &CommitId) -> anyhow::Result<()> {
    let path = repository_path(data, task);
    if !path.exists() {
        return Ok(());
    }
    let repository = Repository::open(&path)?;
    let branch = repository.branch()?;
    if branch.as_ref() != Some(head) && repository.has(head)? {
        repository.move_branch(branch.as_ref(), head)?;
    }
    Ok(())
}

/// Repairs branches of tasks that changed, until `stop`: a process may have ended between the database's commit and
/// the branch's move.
pub(crate) async fn keep(store: Store, data: PathBuf, stop: CancellationToken) {
    let mut since = Millis(0);
    loop {
        match store.heads_since(since).await {
            Ok(heads) => {
                let mut unrepaired: Option<Millis> = None;
                for (task, head, updated_at) in heads {
                    since = since.max(Millis(updated_at.0 - OVERLAP_MS));
                    let (data, name) = (data.clone(), task.clone());
                    let repaired = tokio::task::spawn_blocking(move || repair(&data, &task, &head)).await;
                    if let Err(error) = repaired.map_err(anyhow::Error::new).and_then(|repaired| repaired) {
                        tracing::warn!(task.id = %name, %error, "branch not repaired; trying again");
                        // They come in the order of their times.
                        unrepaired = unrepaired.or(Some(updated_at));
                    }
                }
                since = since.min(unrepaired.unwrap_or(since));
            }
            Err(error) => tracing::debug!(%error, "heads not read"),
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}

#[cfg(test)]
mod tests;

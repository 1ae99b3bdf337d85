//! What is kept of a task that is over: its repository. Its workspaces are removed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nightforge_domain::{Millis, TaskId};
use nightforge_store::Store;
use tokio_util::sync::CancellationToken;

use crate::project::remove_folder;

/// How often finished tasks are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Tasks of one look; the next one goes on.
const BATCH: u32 = 100;

/// Removes workspaces of tasks that are over, until `stop`. A task that is retried makes new ones from its commits.
pub(crate) async fn keep(store: Store, data: PathBuf, stop: CancellationToken) {
    let mut since = Millis(0);
    loop {
        match store.finished_since(since, BATCH).await {
            Ok(finished) => {
                let more = finished.len() == BATCH as usize;
                let before = since;
                for (task, finished_at) in finished {
                    let folder = workspaces(&data, &task);
                    let removed = tokio::task::spawn_blocking(move || remove(&folder)).await;
                    // One that can't be removed must not keep the others; the next start tries it again.
                    if let Err(error) = removed.map_err(std::io::Error::other).and_then(|removed| removed) {
                        tracing::warn!(task.id = %task, %error, "workspaces not removed");
                    }
                    since = finished_at;
                }
                if more && since > before && !stop.is_cancelled() {
                    continue;
                }
            }
            Err(error) => tracing::debug!(%error, "finished tasks not read"),
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}

fn workspaces(data: &Path, task: &TaskId) -> PathBuf {
    data.join("work").join(task.as_str())
}

fn remove(folder: &Path) -> std::io::Result<()> {
    if folder.exists() { remove_folder(folder) } else { Ok(()) }
}

//! Rings for what other processes wrote, where no bell of theirs arrives.

use nightforge_queue::{Bell, Bells};
use nightforge_store::{Changes, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::admission;
use crate::advance::AFTER_ERROR;

/// Inputs that one look rings for; the next one goes on.
const BATCH: i64 = 200;

/// Looks after every change, until `shutdown`.
pub(crate) async fn serve(store: Store, bells: Bells, shutdown: CancellationToken) {
    let mut changes = store.changes();
    loop {
        let looked = tokio::select! {
            looked = look(&store, &bells, &mut changes) => looked,
            () = shutdown.cancelled() => return,
        };
        if let Err(error) = looked {
            tracing::warn!(%error, "the database can't be polled; trying again");
            tokio::time::sleep(AFTER_ERROR).await;
        }
    }
}

async fn look(store: &Store, bells: &Bells, changes: &mut Changes) -> Result<(), StoreError> {
    changes.next().await?;
    for task in store.tasks_with_stale_inputs(0, BATCH).await? {
        bells.ring(Bell::Task(task));
    }
    admission::ring_next(store, bells).await
}

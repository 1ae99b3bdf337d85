//! Advances what other processes wrote, where no bell of theirs arrives: there is no Redis, or it is away.

use std::time::Duration;

use nightforge_queue::Bells;
use nightforge_store::{Changes, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::admission::NEXT;
use crate::advance::{AFTER_ERROR, advance_task};

/// Tasks that one look advances; the next one goes on.
const BATCH: i64 = 200;

/// How often it is asked whether bells still arrive.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Looks after every change while no bells arrive, until `shutdown`; `always` where none ever do.
pub(crate) async fn serve(store: Store, bells: Bells, always: bool, shutdown: CancellationToken) {
    let mut changes = store.changes();
    loop {
        let polls = always || bells.are_cut_off();
        let looked = tokio::select! {
            looked = look(&store, &bells, &mut changes), if polls => looked,
            () = tokio::time::sleep(ASK_EVERY), if !polls => Ok(()),
            () = shutdown.cancelled() => return,
        };
        if let Err(error) = looked {
            tracing::warn!(%error, "the database can't be polled; trying again");
            tokio::time::sleep(AFTER_ERROR).await;
        }
    }
}

/// Not by a ring: it would wait for Redis, too.
async fn look(store: &Store, bells: &Bells, changes: &mut Changes) -> Result<(), StoreError> {
    changes.next().await?;
    for task in store.tasks_with_stale_inputs(0, BATCH).await? {
        advance_task(store, bells, &task).await?;
    }
    for task in store.queued_tasks(NEXT).await? {
        advance_task(store, bells, &task).await?;
    }
    Ok(())
}

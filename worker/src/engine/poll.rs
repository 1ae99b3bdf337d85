//! Rings this worker's own bell when another process has written, where no bell of the scheduler arrives.

use std::time::Duration;

use nightforge_domain::ModelName;
use nightforge_queue::{Bell, Bells};
use nightforge_store::Store;
use tokio_util::sync::CancellationToken;

/// After the database failed.
const AFTER_ERROR: Duration = Duration::from_millis(500);

/// Rings after every change, until `stop`.
pub(super) async fn ring(store: Store, bells: Bells, model: ModelName, stop: CancellationToken) {
    let mut changes = store.changes();
    loop {
        let changed = tokio::select! {
            changed = changes.next() => changed,
            () = stop.cancelled() => return,
        };
        match changed {
            Ok(()) => bells.ring(Bell::Model(model.clone())),
            Err(error) => {
                tracing::warn!(%error, "the database can't be polled; trying again");
                tokio::time::sleep(AFTER_ERROR).await;
            }
        }
    }
}

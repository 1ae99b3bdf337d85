//! One sweep: what it finds it puts right in bounded batches, one task per transaction.

use nightforge_queue::{Bell, Bells};
use nightforge_store::{Ended, Store, StoreError, presence};

use crate::{SchedulerConfig, admission};

/// Rows of each kind that one sweep looks at; the next one goes on.
const BATCH: i64 = 200;

/// An input this old was not rung for, or its bell was lost.
const STALE_INPUT_MS: i64 = 2_000;

/// Processes that ended are shown in no list, and are kept so long for whoever looks into the database: 7 days.
const KEEP_GONE_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Sweeps once. With `judge` off, leases of processes that are not known to be gone are left alone.
pub(crate) async fn sweep(
    store: &Store,
    bells: &Bells,
    config: &SchedulerConfig,
    judge: bool,
) -> Result<(), StoreError> {
    mark_ended_processes(store, config).await?;
    if judge {
        store.mark_silent_gone(config.lease.as_millis() as i64 * 3).await?;
        for lease in store.expired_leases(BATCH).await? {
            let Some(swept) = store.sweep_lease(&lease).await? else { continue };
            tracing::info!(job.id = %lease.job, fence = lease.fence.0, ended = ?swept.ended, "lease swept");
            match swept.ended {
                Ended::Ready => bells.ring(Bell::Model(swept.model)),
                Ended::Failed | Ended::Dead | Ended::Cancelled => bells.ring(Bell::Task(lease.job.task)),
            }
        }
    }
    for task in store.pass_deadlines(BATCH).await? {
        bells.ring(Bell::Task(task));
    }
    for task in store.tasks_with_stale_inputs(STALE_INPUT_MS, BATCH).await? {
        bells.ring(Bell::Task(task));
    }
    admission::ring_next(store, bells).await?;
    for model in store.models_with_ready_jobs().await? {
        bells.ring(Bell::Model(model));
    }
    store.forget_gone(KEEP_GONE_MS, BATCH).await?;
    Ok(())
}

/// Processes of this machine whose file lock is free have ended, however they did.
async fn mark_ended_processes(store: &Store, config: &SchedulerConfig) -> Result<(), StoreError> {
    let host = match presence::host_id(&config.data) {
        Ok(host) => host,
        Err(error) => {
            tracing::warn!(%error, data = %config.data.display(), "the data folder can't be read");
            return Ok(());
        }
    };
    for process in store.live_processes().await? {
        if process.host != host {
            continue;
        }
        match presence::has_ended(&config.data, &process.boot) {
            Ok(false) => {}
            Ok(true) => {
                tracing::info!(boot = %process.boot, "process has ended");
                store.mark_gone(&process.boot).await?;
            }
            Err(error) => tracing::warn!(%error, boot = %process.boot, "boot lock can't be looked at"),
        }
    }
    Ok(())
}

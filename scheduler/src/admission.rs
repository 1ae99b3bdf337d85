//! Admission: only so many tasks of a kind are active at once; the rest are rows. A long queue then costs nothing,
//! and what was begun comes to its end before something else is begun.

use nightforge_domain::{Input, Status, TASKS_PER_SLOT};
use nightforge_queue::{Bell, Bells};
use nightforge_store::{Pending, Store, StoreError};
use tokio::sync::Mutex;

/// Tasks that are rung when there may be room; each looks for itself.
pub(crate) const NEXT: i64 = 4;

/// One admission at a time in this process, so that those after it count those before.
pub(crate) static ADMITTING: Mutex<()> = Mutex::const_new(());

/// Whether the input is a submission, which has to wait for its turn.
pub(crate) fn is_submission(pending: &Pending) -> bool {
    pending.input == Input::Submitted && pending.task.status == Status::Queued
}

/// Whether the task may start now. Tasks of lower priority do not count against it, so an urgent one exceeds the
/// limit; one that is to be ended starts at once, and ends.
///
/// # Errors
/// When the database fails.
pub(crate) async fn may_start(store: &Store, pending: &Pending) -> Result<bool, StoreError> {
    let task = &pending.task;
    if task.paused {
        return Ok(false);
    }
    let most = store.live_slots().await?.max(1) * TASKS_PER_SLOT;
    let active = store.active_tasks(task.kind, task.priority).await?;
    let before = store.queued_before(&task.id, task.kind, task.priority).await?;
    Ok(active + before < most || store.has_further_inputs(&task.id).await?)
}

/// Rings the tasks whose turn is next.
///
/// # Errors
/// When the database fails.
pub(crate) async fn ring_next(store: &Store, bells: &Bells) -> Result<(), StoreError> {
    for task in store.queued_tasks(NEXT).await? {
        bells.ring(Bell::Task(task));
    }
    Ok(())
}

//! Carries bells through apalis's in-memory backend, and replaces its worker when that dies.
//!
//! Three facts of apalis 1.0 shape this file; `tests/it/apalis.rs` shows each:
//! - `MemorySink` takes its lock once in `poll_ready` and again, by `try_lock().unwrap()`, in `start_send`; a
//!   clone on another thread makes it panic. And a `poll_ready` that finds the lock taken forgets its waker, so
//!   nobody wakes it. The worker calls `poll_ready` too. So one pusher pushes, and its sink shares no lock with
//!   the sink inside the worker's storage.
//! - A storage has one consumer, and the worker owns it. So one worker takes all bells, and our mailboxes fan
//!   them out.
//! - An error of the backend ends the worker for good and drops what waits in its storage. So every life of the
//!   worker gets a fresh storage and a new name, and bells in transit are pushed again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use apalis::prelude::{MemorySink, MemoryStorage, MemoryStorageError, Task, TaskBuilder, WorkerBuilder};
use futures_channel::mpsc;
use futures_util::lock::Mutex;
use futures_util::{FutureExt, Sink, SinkExt};
use tokio_util::sync::CancellationToken;

use crate::back_off::BackOff;
use crate::bell::Bell;
use crate::ledger::Ledger;
use crate::panic_text::panic_text;

/// One storage of apalis, seen from both ends.
pub(crate) struct Channel {
    /// The pusher's end.
    sink: MemorySink<Bell>,
    /// The worker's end.
    storage: MemoryStorage<Bell>,
}

impl Channel {
    /// A fresh, empty one.
    pub(crate) fn open() -> Channel {
        let (sender, receiver) = mpsc::unbounded();
        Channel {
            sink: sink_of_its_own(sender.clone().sink_map_err(MemoryStorageError::from)),
            storage: MemoryStorage::new_with(
                sink_of_its_own(sender.sink_map_err(MemoryStorageError::from)),
                Box::pin(receiver),
            ),
        }
    }
}

/// A sink that shares its lock with no other.
fn sink_of_its_own<S>(sink: S) -> MemorySink<Bell>
where
    S: Sink<Task<Bell>, Error = MemoryStorageError> + Send + Sync + Unpin + 'static,
{
    MemorySink::new(Arc::new(Mutex::new(Box::new(sink))))
}

/// Carries bells until `stop`. `open` makes the channel for each life of the worker.
pub(crate) async fn carry(ledger: Arc<Ledger>, open: impl Fn() -> Channel, stop: CancellationToken) {
    let mut back_off = BackOff::new();
    for life in 0_u64.. {
        let carried_before = ledger.carried();
        let name = format!("bells-{life}");
        let end = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            end = live(&ledger, &name, open()) => end,
        };
        ledger.recall();
        if ledger.carried() > carried_before {
            back_off.reset();
        }
        let pause = back_off.grow();
        tracing::warn!(worker = name, reason = %end, back_off_ms = pause.as_millis(), "the bell worker ended; starting another");
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// One life of pusher and worker, in one task; returns why it ended.
async fn live(ledger: &Arc<Ledger>, name: &str, channel: Channel) -> String {
    let Channel { mut sink, storage } = channel;
    let posts_to = Arc::clone(ledger);
    let worker = WorkerBuilder::new(name).backend(storage).build(move |bell: Bell| {
        let ledger = Arc::clone(&posts_to);
        async move { ledger.post(bell) }
    });
    let push = async {
        loop {
            let bell = ledger.next_unsent().await;
            if let Err(error) = sink.send(TaskBuilder::new(bell).build()).await {
                return error;
            }
        }
    };
    tokio::select! {
        error = push => format!("pushing failed: {error}"),
        end = AssertUnwindSafe(worker.run()).catch_unwind() => match end {
            Ok(Ok(())) => "the storage is closed".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("panic: {}", panic_text(panic.as_ref())),
        },
    }
}

#[cfg(test)]
mod tests;

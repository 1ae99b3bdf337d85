//! What apalis 1.0 really does where bells had to be built around it. When one of these fails after an update,
//! apalis has changed, and the part of `src/memory.rs` that works around it may go.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use ::apalis::prelude::{
    MemorySink, MemoryStorage, MemoryStorageError, Task, TaskBuilder, WorkerBuilder, WorkerError,
};
use futures_channel::mpsc;
use futures_util::lock::Mutex;
use futures_util::{Sink, SinkExt};

type BoxedSink = Box<dyn Sink<Task<u32>, Error = MemoryStorageError> + Send + Sync + Unpin>;

fn sink() -> (Arc<Mutex<BoxedSink>>, MemorySink<u32>, mpsc::UnboundedReceiver<Task<u32>>) {
    let (sender, receiver) = mpsc::unbounded();
    let boxed: BoxedSink = Box::new(sender.sink_map_err(MemoryStorageError::from));
    let lock = Arc::new(Mutex::new(boxed));
    (Arc::clone(&lock), MemorySink::new(lock), receiver)
}

#[derive(Default)]
struct CountedWaker(AtomicUsize);

impl Wake for CountedWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Holding the lock stands for a clone of the sink, or the worker, that is inside of it on another thread.
#[test]
fn pushing_panics_while_a_clone_of_the_sink_is_in_use() {
    let (lock, mut sink, _receiver) = sink();
    let in_use = lock.try_lock().expect("nobody else holds it");
    let task = TaskBuilder::new(1).build();
    let pushed = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut sink).start_send(task)));
    assert!(pushed.is_err(), "`start_send` waited or failed in a civil way");
    drop(in_use);
    assert!(Pin::new(&mut sink).start_send(TaskBuilder::new(2).build()).is_ok());
}

/// Why pushers, and workers, that share a sink can hang for ever.
#[test]
fn who_finds_the_sink_in_use_is_never_woken() {
    let (lock, mut sink, _receiver) = sink();
    let wakes = Arc::new(CountedWaker::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let in_use = lock.try_lock().expect("nobody else holds it");
    assert!(Pin::new(&mut sink).poll_ready(&mut Context::from_waker(&waker)).is_pending());
    drop(in_use);
    assert_eq!(wakes.0.load(Ordering::SeqCst), 0, "the release of the lock woke the waiter");
    assert!(matches!(Pin::new(&mut sink).poll_ready(&mut Context::from_waker(&waker)), Poll::Ready(Ok(()))));
}

/// Why a dead worker's storage is thrown away and its bells are pushed again.
#[tokio::test]
async fn a_backend_error_ends_the_worker_and_what_waits_in_its_storage_is_gone() {
    let (mut sender, receiver) = mpsc::unbounded();
    sender.send(TaskBuilder::new(1).build()).await.expect("the receiver lives");
    let (_, away, its_receiver) = sink();
    drop(its_receiver);
    let storage = MemoryStorage::new_with(away, Box::pin(receiver));

    let handled = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&handled);
    let worker = WorkerBuilder::new("raw").backend(storage).build(move |_: u32| {
        let counter = Arc::clone(&counter);
        async move {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    assert!(matches!(worker.run().await, Err(WorkerError::BackendError(_))));
    assert_eq!(handled.load(Ordering::SeqCst), 0);
    assert!(sender.is_closed(), "the storage, with the message in it, died with the worker");
}

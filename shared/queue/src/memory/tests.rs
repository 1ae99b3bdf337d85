//! Lives of the apalis worker that end badly, each in another way.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use nightforge_domain::TaskId;
use tokio::time::Instant;

use super::*;

fn task(number: usize) -> TaskId {
    format!("{number:026}").parse().unwrap()
}

/// A sink for the worker's end whose backend is away whenever `broken` is set.
struct Breakable {
    broken: Arc<AtomicBool>,
}

impl Breakable {
    fn check(&self) -> Poll<Result<(), MemoryStorageError>> {
        let broken = self.broken.load(Ordering::SeqCst);
        Poll::Ready(if broken { Err(MemoryStorageError::Other("backend is away".into())) } else { Ok(()) })
    }
}

impl Sink<Task<Bell>> for Breakable {
    type Error = MemoryStorageError;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.check()
    }

    fn start_send(self: Pin<&mut Self>, _: Task<Bell>) -> Result<(), Self::Error> {
        panic!("the worker's end is never pushed to")
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.check()
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }
}

/// A channel whose worker swallows every bell until `broken` is set, and then dies of a backend error.
fn swallowing(broken: &Arc<AtomicBool>) -> Channel {
    let (sender, receiver) = mpsc::unbounded();
    Channel {
        sink: sink_of_its_own(sender.sink_map_err(MemoryStorageError::from)),
        storage: MemoryStorage::new_with(
            sink_of_its_own(Breakable { broken: Arc::clone(broken) }),
            Box::pin(receiver.filter(|_| std::future::ready(false))),
        ),
    }
}

/// A channel whose worker panics when it takes the bell number `fatal`, counted from 1.
fn panicking(fatal: usize) -> Channel {
    let (sender, receiver) = mpsc::unbounded();
    let mut taken = 0;
    Channel {
        sink: sink_of_its_own(sender.clone().sink_map_err(MemoryStorageError::from)),
        storage: MemoryStorage::new_with(
            sink_of_its_own(sender.sink_map_err(MemoryStorageError::from)),
            Box::pin(receiver.inspect(move |_| {
                taken += 1;
                assert!(taken != fatal, "injected panic");
            })),
        ),
    }
}

/// A channel that is closed already: its worker ends without an error.
fn closed() -> Channel {
    let (sender, _) = mpsc::unbounded();
    Channel {
        sink: sink_of_its_own(sender.clone().sink_map_err(MemoryStorageError::from)),
        storage: MemoryStorage::new_with(
            sink_of_its_own(sender.sink_map_err(MemoryStorageError::from)),
            Box::pin(futures_util::stream::empty()),
        ),
    }
}

/// Starts a carrier whose first lives get `channels`, and later ones healthy channels.
fn carry_over(channels: Vec<Channel>) -> (Arc<Ledger>, CancellationToken) {
    let ledger = Arc::new(Ledger::default());
    let stop = CancellationToken::new();
    let channels = std::sync::Mutex::new(channels.into_iter());
    let open = move || channels.lock().unwrap().next().unwrap_or_else(Channel::open);
    tokio::spawn(carry(Arc::clone(&ledger), open, stop.clone()));
    (ledger, stop)
}

/// Takes tasks until every one of `wanted` came; hangs, and so fails, if one is lost.
async fn take_all(ledger: &Ledger, wanted: impl Iterator<Item = usize>) {
    let mut wanted: BTreeSet<TaskId> = wanted.map(task).collect();
    let arrived = ledger.listen_tasks();
    tokio::time::timeout(Duration::from_secs(60), async {
        while !wanted.is_empty() {
            match ledger.take_task() {
                Some(task) => assert!(wanted.remove(&task), "{task} came twice or was not rung"),
                None => arrived.notified().await,
            }
        }
    })
    .await
    .unwrap_or_else(|_| panic!("lost: {wanted:?}"));
}

#[tokio::test(start_paused = true)]
async fn bells_survive_a_backend_error() {
    let broken = Arc::new(AtomicBool::new(false));
    let (ledger, _stop) = carry_over(vec![swallowing(&broken)]);
    (0..10).for_each(|number| ledger.ring(Bell::Task(task(number))));
    while ledger.in_transit() < 10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ledger.carried(), 0, "all ten are lost inside the worker");

    broken.store(true, Ordering::SeqCst);
    ledger.ring(Bell::Task(task(10)));
    ledger.ring(Bell::Task(task(3)));
    take_all(&ledger, 0..11).await;
    assert_eq!(ledger.stats().restarts, 1);
    assert_eq!(ledger.stats().coalesced, 1, "task 3 was still outstanding");

    ledger.ring(Bell::Task(task(3)));
    take_all(&ledger, 3..4).await;
    assert_eq!(ledger.stats().outstanding(), 0);
}

#[tokio::test(start_paused = true)]
async fn bells_survive_a_panic_while_one_is_handled() {
    let (ledger, _stop) = carry_over(vec![panicking(3), panicking(1), panicking(5)]);
    (0..20).for_each(|number| ledger.ring(Bell::Task(task(number))));
    take_all(&ledger, 0..20).await;
    assert_eq!(ledger.stats().restarts, 3);
    assert_eq!((ledger.stats().delivered, ledger.in_transit()), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_ends_without_an_error_is_replaced_too() {
    let (ledger, _stop) = carry_over(vec![closed(), closed()]);
    ledger.ring(Bell::Task(task(1)));
    take_all(&ledger, 1..2).await;
    assert_eq!(ledger.stats().restarts, 2);
}

/// When each life began, in milliseconds after the first one.
async fn births(open: impl Fn(usize) -> Channel + Send + 'static, lives: usize) -> Vec<u128> {
    let ledger = Arc::new(Ledger::default());
    (0..lives).for_each(|number| ledger.ring(Bell::Task(task(number))));
    let (sender, mut births) = tokio::sync::mpsc::unbounded_channel();
    let opened = AtomicUsize::new(0);
    let open = move || {
        // The test reads only the first ones; by the end nobody may be listening.
        let _ = sender.send(Instant::now());
        open(opened.fetch_add(1, Ordering::SeqCst))
    };
    let stop = CancellationToken::new();
    let carrier = tokio::spawn(carry(Arc::clone(&ledger), open, stop.clone()));
    let first = births.recv().await.unwrap();
    let mut at_ms = vec![0];
    while at_ms.len() < lives {
        at_ms.push(births.recv().await.unwrap().duration_since(first).as_millis());
    }
    stop.cancel();
    carrier.await.unwrap();
    at_ms
}

#[tokio::test(start_paused = true)]
async fn back_off_doubles_up_to_its_cap() {
    let at_ms = births(|_| closed(), 10).await;
    let gaps: Vec<_> = at_ms.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Tokio's timer rounds up to the next millisecond.
    let expected = [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];
    assert!(gaps.iter().zip(expected).all(|(gap, wanted)| (wanted..=wanted + 1).contains(gap)), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn back_off_begins_anew_after_a_life_that_carried_something() {
    // Lives 0, 1 and 2 carry nothing, life 3 carries one bell, life 4 nothing.
    let open = |life| if life == 3 { panicking(2) } else { closed() };
    let at_ms = births(open, 6).await;
    let gaps: Vec<_> = at_ms.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let expected = [50, 100, 200, 50, 100];
    assert!(gaps.iter().zip(expected).all(|(gap, wanted)| (wanted..=wanted + 1).contains(gap)), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_carrier_in_the_middle_of_a_back_off() {
    let ledger = Arc::new(Ledger::default());
    let stop = CancellationToken::new();
    let carrier = tokio::spawn(carry(Arc::clone(&ledger), closed, stop.clone()));
    while ledger.stats().restarts < 8 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let begin = Instant::now();
    stop.cancel();
    carrier.await.unwrap();
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

//! What apalis-redis 1.0 really does where `src/redis` had to be built around it. When one of these fails after an
//! update, apalis has changed, and what works around it may go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use apalis::prelude::{
    Backend, IntervalStrategy, PollSnapshot, PollStrategy, TaskBuilder, TaskSink, WorkerBuilder,
    WorkerContext, WorkerError,
};
use apalis_redis::{Config, RedisStorage};
use tokio::sync::mpsc;

use crate::conformance::soon;
use crate::redis_server::RedisServer;

async fn storage(server: &RedisServer, config: Config) -> RedisStorage<u32> {
    let connection = apalis_redis::connect(server.url()).await.expect("redis-server answers");
    RedisStorage::new(connection).with_config(config.queue("raw"))
}

/// Runs a worker that counts; ends only with an error.
async fn run(storage: RedisStorage<u32>, handled: mpsc::UnboundedSender<u32>) -> Result<(), WorkerError> {
    WorkerBuilder::new("raw-worker")
        .backend(storage)
        .build(move |number: u32| {
            let handled = handled.clone();
            async move {
                // The test may have seen enough.
                let _ = handled.send(number);
            }
        })
        .run()
        .await
}

async fn says(end: Result<(), WorkerError>, what: &str) {
    let Err(WorkerError::BackendError(error)) = end else { panic!("{end:?}") };
    assert!(error.to_string().contains(what), "{error}");
}

#[derive(Default)]
struct CountedWaker(AtomicUsize);

impl Wake for CountedWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Why a worker slept for up to 28 seconds, until its next heartbeat: when the interval fires, a new timer is made
/// that nobody polls, and `PollWith` takes the answer for granted.
#[test]
fn the_interval_strategy_does_not_wake_its_worker_after_it_fired() {
    let wakes = Arc::new(CountedWaker::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = Context::from_waker(&waker);
    let mut strategy = IntervalStrategy::new(Duration::from_millis(5));
    let mut poll = || strategy.poll_drive(&mut cx, &PollSnapshot::new());
    assert!(poll().is_pending());
    let begin = std::time::Instant::now();
    while wakes.0.load(Ordering::SeqCst) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(10), "the first timer wakes");
        std::thread::yield_now();
    }
    assert!(poll().is_ready());
    // Many intervals of nothing.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "it woke the worker again");
}

#[tokio::test]
async fn too_many_waiting_messages_end_every_worker() {
    let server = RedisServer::start().await;
    let mut pusher = storage(&server, Config::default()).await;
    for _ in 0..24 {
        pusher.push_bulk((0..500).collect()).await.expect("redis-server takes them");
    }
    for _ in 0..2 {
        let (handled, _numbers) = mpsc::unbounded_channel();
        let worker = run(storage(&server, Config::default()).await, handled);
        says(soon("the end of the worker", worker).await, "too many results to unpack").await;
        let _: () = server.run(&["DEL", "raw:workers"]).await;
    }
}

#[tokio::test]
async fn a_backend_error_ends_the_worker() {
    let server = RedisServer::start().await;
    let mut pusher = storage(&server, Config::default()).await;
    let (handled, mut numbers) = mpsc::unbounded_channel();
    let worker = tokio::spawn(run(storage(&server, Config::default()).await, handled));
    pusher.push(1).await.expect("redis-server takes it");
    while numbers.try_recv().is_err() {
        assert!(!worker.is_finished());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let _: () = server.run(&["FLUSHALL"]).await;
    // The worker sleeps until its heartbeat in half a minute; a new one would start at once.
    let (handled, _numbers) = mpsc::unbounded_channel();
    let short = Config::default().heartbeat_interval(Duration::from_millis(200));
    let second = tokio::spawn(run(storage(&server, short).await, handled));
    while !server.run::<bool>(&["EXISTS", "raw:workers"]).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let _: () = server.run(&["FLUSHALL"]).await;
    says(soon("the end of the worker", second).await.expect("no panic"), "worker not registered").await;
    worker.abort();
}

#[tokio::test]
async fn half_a_second_without_an_answer_ends_the_worker() {
    let server = RedisServer::start().await;
    let (handled, _numbers) = mpsc::unbounded_channel();
    let short = Config::default().heartbeat_interval(Duration::from_millis(50));
    let worker = tokio::spawn(run(storage(&server, short).await, handled));
    while !server.run::<bool>(&["EXISTS", "raw:workers"]).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.freeze();
    let end = soon("the end of the worker", worker).await.expect("no panic");
    server.thaw();
    says(end, "timed out").await;
}

/// They wait there while one of them is worked on, and nobody else gets them.
#[tokio::test]
async fn one_look_takes_a_whole_batch_by_default() {
    let server = RedisServer::start().await;
    storage(&server, Config::default())
        .await
        .push_bulk((0..15).collect())
        .await
        .expect("redis-server takes them");
    let mut taker = storage(&server, Config::default()).await;
    let worker = WorkerContext::from("raw-worker");
    let next = std::future::poll_fn(|cx| {
        if taker.poll_ready(cx, &worker).is_pending() {
            std::task::Poll::Pending
        } else {
            taker.poll_next(cx, &worker)
        }
    });
    assert!(soon("a message", next).await.is_some());
    assert_eq!(server.run::<usize>(&["SCARD", "raw:inflight:raw-worker"]).await, 10);
}

#[tokio::test]
async fn finished_messages_stay_for_ever() {
    let server = RedisServer::start().await;
    storage(&server, Config::default())
        .await
        .push_bulk((0..5).collect())
        .await
        .expect("redis-server takes them");
    let (handled, _numbers) = mpsc::unbounded_channel();
    let worker = tokio::spawn(run(storage(&server, Config::default()).await, handled));
    while server.run::<usize>(&["SCARD", "raw:done"]).await < 5 {
        assert!(!worker.is_finished());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.run::<usize>(&["HLEN", "raw:data"]).await, 5);
    assert_eq!(server.run::<Vec<String>>(&["KEYS", "raw:meta:*"]).await.len(), 5);
    worker.abort();
}

/// `EXPIRE key 0` deletes the key at once. So no message of ours has an idempotency key.
#[tokio::test]
async fn an_idempotency_key_without_a_time_to_live_is_forgotten_at_once() {
    let server = RedisServer::start().await;
    let mut pusher = storage(&server, Config::default()).await;
    for _ in 0..2 {
        let message = TaskBuilder::new(1).idempotency_key("once").build();
        pusher.push_task(message).await.expect("redis-server takes it");
    }
    assert_eq!(server.waiting("raw").await, 2);
    assert_eq!(server.run::<Vec<String>>(&["KEYS", "raw:idempotency*"]).await, Vec::<String>::new());
}

/// The pusher's clock says when; a consumer whose clock is behind leaves the message lying.
#[tokio::test]
async fn a_pushed_message_waits_for_the_second_of_its_pushers_clock() {
    let server = RedisServer::start().await;
    storage(&server, Config::default()).await.push(1).await.expect("redis-server takes it");
    let lists: (usize, usize) =
        (server.run(&["LLEN", "raw:active"]).await, server.run(&["ZCARD", "raw:scheduled"]).await);
    assert_eq!(lists, (0, 1));
}

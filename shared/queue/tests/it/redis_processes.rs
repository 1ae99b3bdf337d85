//! What bells promise between processes. Two handles on one Redis are two processes, as far as Redis can tell.

use std::time::{Duration, Instant};

use nightforge_queue::{Bell, Bells, MAX_OUTSTANDING, RedisConfig};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::conformance::{eventually, model, soon, task};
use crate::redis_server::RedisServer;

const TASKS: &str = "nightforge:bells:tasks";
const QWEN: &str = "nightforge:bells:model:qwen";

/// Waits until a question to Redis is answered as wished.
async fn until<T: PartialEq + std::fmt::Debug>(what: &str, wished: T, ask: impl AsyncFn() -> T) {
    let begin = Instant::now();
    loop {
        let answer = ask().await;
        if answer == wished {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}: {answer:?}, not {wished:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_ring_in_one_process_is_a_bell_in_another() {
    let server = RedisServer::start().await;
    let (api, scheduler, worker) = (server.bells().await, server.bells().await, server.bells().await);
    let mut tasks = scheduler.tasks();
    let mut jobs = worker.model(&model("qwen"));
    api.ring(Bell::Task(task(1)));
    assert_eq!(soon("the task", tasks.next()).await, Some(task(1)));
    scheduler.ring(Bell::Model(model("qwen")));
    assert_eq!(soon("the job", jobs.next()).await, Some(()));
    worker.ring(Bell::Task(task(1)));
    assert_eq!(soon("the result", tasks.next()).await, Some(task(1)));
    let stats = [api.stats(), scheduler.stats(), worker.stats()];
    assert_eq!(
        stats.map(|stats| (stats.sent, stats.received, stats.delivered)),
        [(1, 0, 0), (1, 2, 2), (1, 1, 1)]
    );
    assert_eq!(stats.map(|stats| stats.outstanding()), [0, 0, 0]);
}

/// The bound is loose, to catch a worker that sleeps until its next tick or heartbeat; the figures are printed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bell_comes_at_once() {
    const RINGS: usize = 400;
    let server = RedisServer::start().await;
    let (ringer, listener) = (server.bells().await, server.bells().await);
    let mut tasks = listener.tasks();
    ringer.ring(Bell::Task(task(0)));
    soon("the first bell", tasks.next()).await;
    let mut took_us: Vec<u128> = Vec::with_capacity(RINGS);
    for number in 0..RINGS {
        // With and without a look under way when the bell comes.
        if number % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let begin = Instant::now();
        ringer.ring(Bell::Task(task(number)));
        assert_eq!(soon("a bell", tasks.next()).await, Some(task(number)));
        took_us.push(begin.elapsed().as_micros());
    }
    took_us.sort_unstable();
    let (median, slowest) = (took_us[RINGS / 2], took_us[RINGS - 1]);
    println!(
        "ring to next between processes: median {median} µs, p99 {} µs, slowest {slowest} µs",
        took_us[RINGS * 99 / 100]
    );
    assert!(slowest < 500_000, "{slowest} µs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_wakes_the_waiting_workers_of_all_processes() {
    let server = RedisServer::start().await;
    let (scheduler, here, there) = (server.bells().await, server.bells().await, server.bells().await);
    for _ in 0..20 {
        let workers: Vec<_> = [&here, &here, &there, &there, &there]
            .into_iter()
            .map(|bells| {
                let mut consumer = bells.model(&model("qwen"));
                // Each takes one bell and is then busy, so nobody can take a second one.
                tokio::spawn(async move { consumer.next().await.map(|()| consumer) })
            })
            .collect();
        for _ in 0..workers.len() {
            scheduler.ring(Bell::Model(model("qwen")));
        }
        for worker in workers {
            soon("every worker of both processes", worker).await.expect("no panic").expect("no shutdown");
        }
    }
    assert_eq!(here.stats().delivered + there.stats().delivered, 100);
}

#[tokio::test]
async fn a_busy_process_leaves_the_bells_to_others() {
    let server = RedisServer::start().await;
    let (scheduler, busy, idle) = (server.bells().await, server.bells().await, server.bells().await);
    let _at_work = busy.model(&model("qwen"));
    until("the busy consumer runs", 1, async || {
        server.run::<usize>(&["ZCARD", &format!("{QWEN}:workers")]).await
    })
    .await;
    for _ in 0..10 {
        scheduler.ring(Bell::Model(model("qwen")));
    }
    eventually("all are in the queue", &scheduler, |stats| stats.sent == 10).await;
    // The busy consumer was called for each; time enough to do the wrong thing.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut waits = idle.model(&model("qwen"));
    for _ in 0..10 {
        assert_eq!(soon("the idle process", waits.next()).await, Some(()));
    }
    assert_eq!(busy.stats().received, 0);
}

#[tokio::test]
async fn a_process_takes_no_bell_that_it_does_not_serve() {
    let server = RedisServer::start().await;
    let (ringer, worker) = (server.bells().await, server.bells().await);
    let mut gemma = worker.model(&model("gemma"));
    ringer.ring(Bell::Model(model("qwen")));
    ringer.ring(Bell::Task(task(1)));
    for _ in 0..20 {
        ringer.ring(Bell::Model(model("gemma")));
        assert_eq!(soon("its own bell", gemma.next()).await, Some(()));
    }
    assert_eq!((server.waiting(QWEN).await, server.waiting(TASKS).await), (1, 1));
    assert_eq!(worker.stats().received, 20);
    let registered: Vec<String> = server.run(&["KEYS", "*:workers"]).await;
    assert_eq!(registered, ["nightforge:bells:model:gemma:workers"]);
}

#[tokio::test]
async fn a_consumer_ends_with_its_last_listener_and_leaves_its_bells() {
    let server = RedisServer::start().await;
    let (ringer, worker) = (server.bells().await, server.bells().await);
    let (mut one, two) = (worker.model(&model("qwen")), worker.model(&model("qwen")));
    ringer.ring(Bell::Model(model("qwen")));
    soon("a bell", one.next()).await;
    drop(one);
    // It asks for a bell and goes away before it looks at it.
    let mut two = two;
    let mut asks = Box::pin(two.next());
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut asks).await.is_err());
    ringer.ring(Bell::Model(model("qwen")));
    eventually("the bell is in the mailbox", &worker, |stats| stats.received == 2).await;
    drop(asks);
    drop(two);
    until("the bell is back in the queue", 1, async || server.waiting(QWEN).await).await;
    until("the worker is unregistered", Vec::<String>::new(), async || {
        server.run(&["KEYS", "*:workers*"]).await
    })
    .await;
    let mut other = ringer.model(&model("qwen"));
    assert_eq!(soon("somebody else", other.next()).await, Some(()));
}

#[tokio::test]
async fn one_task_rung_in_several_processes_is_one_bell() {
    let server = RedisServer::start().await;
    let ringers = [server.bells().await, server.bells().await, server.bells().await];
    for ringer in &ringers {
        ringer.ring(Bell::Task(task(7)));
        eventually("it was pushed or merged", ringer, |stats| stats.sent + stats.coalesced == 1).await;
    }
    assert_eq!(server.waiting(TASKS).await, 1);
    let mut tasks = ringers[0].tasks();
    assert_eq!(soon("the one bell", tasks.next()).await, Some(task(7)));
    ringers[1].ring(Bell::Task(task(7)));
    assert_eq!(soon("a ring after it was returned", tasks.next()).await, Some(task(7)));
}

/// A process that dies with a bell in hand, or between the announcement and the push, must not swallow the rings
/// that follow.
#[tokio::test]
async fn a_process_that_died_silences_no_task() {
    let server = RedisServer::start().await;
    let bells = server.bells().await;
    bells.ring(Bell::Task(task(1)));
    until("it waits", 1, async || server.waiting(TASKS).await).await;
    let taken: String = server.run(&["LPOP", &format!("{TASKS}:active")]).await;
    let _: () = server.run(&["SADD", &format!("{TASKS}:inflight:dead"), &taken]).await;
    let mark = format!("{TASKS}:mark:{}", task(1));
    assert_eq!(server.run::<String>(&["GET", &mark]).await, taken);
    bells.ring(Bell::Task(task(1)));
    let mut tasks = bells.tasks();
    assert_eq!(soon("rung again", tasks.next()).await, Some(task(1)));

    let _: () = server.run(&["SET", &mark, "never-pushed"]).await;
    let begin = Instant::now();
    bells.ring(Bell::Task(task(1)));
    assert_eq!(soon("rung once more", tasks.next()).await, Some(task(1)));
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_is_bounded_over_all_processes() {
    const PROCESSES: usize = 3;
    let server = RedisServer::start().await;
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(server.bells().await);
    }
    for number in 0..900 {
        for (process, bells) in processes.iter().enumerate() {
            bells.ring(Bell::Task(task(number * PROCESSES + process)));
        }
        if number % 100 == 0 {
            tokio::task::yield_now().await;
            assert!(server.waiting(TASKS).await <= MAX_OUTSTANDING);
        }
    }
    for bells in &processes {
        eventually("all is pushed", bells, |stats| stats.sent + stats.dropped == 900).await;
    }
    assert_eq!(server.waiting(TASKS).await, MAX_OUTSTANDING);
}

#[tokio::test]
async fn two_installations_share_a_redis() {
    let server = RedisServer::start().await;
    let bells = async |prefix: &str| {
        let config = RedisConfig::new(server.url()).with_prefix(prefix);
        Bells::redis(config, CancellationToken::new()).await.expect("a plain redis-server is fit for bells")
    };
    let (one, other) = (bells("one").await, bells("other").await);
    let (mut of_one, mut of_other) = (one.tasks(), other.tasks());
    one.ring(Bell::Task(task(1)));
    other.ring(Bell::Task(task(2)));
    assert_eq!(soon("its own", of_other.next()).await, Some(task(2)));
    assert_eq!(soon("its own", of_one.next()).await, Some(task(1)));
    let keys: Vec<String> = server.run(&["KEYS", "*"]).await;
    let ours = |key: &String| {
        ["one:", "other:", "core:apalis:queues:list"].iter().any(|known| key.starts_with(known))
    };
    assert!(keys.iter().all(ours), "{keys:?}");
}

#[tokio::test]
async fn shutdown_of_one_process_leaves_no_task_behind_and_others_alone() {
    let server = RedisServer::start().await;
    let (ends, goes_on) = (CancellationToken::new(), CancellationToken::new());
    let other = server.bells_until(goes_on.clone()).await;
    let bells = server.bells_until(ends.clone()).await;
    let mut tasks = bells.tasks();
    other.ring(Bell::Task(task(1)));
    assert_eq!(soon("a bell", tasks.next()).await, Some(task(1)));
    // A last word just before the end.
    bells.ring(Bell::Task(task(2)));
    ends.cancel();
    assert_eq!(soon("the end", tasks.next()).await, None);
    let mut others = other.tasks();
    assert_eq!(soon("the last word", others.next()).await, Some(task(2)));
    drop((tasks, others));
    goes_on.cancel();
    let metrics = Handle::current().metrics();
    soon("every task ends", async {
        while metrics.num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let registered: Vec<String> = server.run(&["KEYS", "*:workers*"]).await;
    assert_eq!(registered, Vec::<String>::new());
}

#[tokio::test]
async fn the_last_handle_ends_everything_but_the_callers_token() {
    let server = RedisServer::start().await;
    let shutdown = CancellationToken::new();
    let bells = server.bells_until(shutdown.clone()).await;
    let mut tasks = bells.tasks();
    bells.ring(Bell::Task(task(1)));
    drop(bells);
    assert_eq!(soon("a consumer keeps the rest alive", tasks.next()).await, Some(task(1)));
    drop(tasks);
    let metrics = Handle::current().metrics();
    soon("every task ends", async {
        while metrics.num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(!shutdown.is_cancelled());
}

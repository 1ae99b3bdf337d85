//! Redis goes away and comes back, each time in another way.

use std::time::{Duration, Instant};

use nightforge_queue::{Bell, Bells, MAX_OUTSTANDING, TaskBells};

use crate::conformance::{eventually, model, soon, task};
use crate::redis_server::RedisServer;

/// A process that rings, one that listens, and a first bell between them.
async fn pair(server: &RedisServer) -> (Bells, Bells, TaskBells) {
    let (ringer, listener) = (server.bells().await, server.bells().await);
    let mut tasks = listener.tasks();
    carries(&ringer, &mut tasks, 0).await;
    (ringer, listener, tasks)
}

/// One ring, without help from anybody, is enough.
async fn carries(ringer: &Bells, tasks: &mut TaskBells, number: usize) {
    ringer.ring(Bell::Task(task(number)));
    assert_eq!(soon("a bell", tasks.next()).await, Some(task(number)));
}

#[tokio::test]
async fn a_killed_and_restarted_redis_gets_what_was_rung_meanwhile() {
    let mut server = RedisServer::start().await;
    let (ringer, listener, mut tasks) = pair(&server).await;
    server.kill();
    for _ in 0..3 {
        for number in 1..=5 {
            ringer.ring(Bell::Task(task(number)));
        }
    }
    eventually("the consumer has noticed", &listener, |stats| stats.restarts >= 2).await;
    server.restart().await;
    let mut came = Vec::new();
    for _ in 1..=5 {
        came.push(soon("a bell from the outage", tasks.next()).await);
    }
    assert_eq!(came, (1..=5).map(|number| Some(task(number))).collect::<Vec<_>>());
    assert_eq!((ringer.stats().coalesced, ringer.stats().dropped), (10, 0));
    carries(&ringer, &mut tasks, 1).await;
}

#[tokio::test]
async fn rings_while_redis_is_away_are_bounded_and_never_wait() {
    let mut server = RedisServer::start().await;
    let (ringer, _listener, mut tasks) = pair(&server).await;
    server.kill();
    let begin = Instant::now();
    for number in 1..=20_000 {
        ringer.ring(Bell::Task(task(number)));
        ringer.ring(Bell::Model(model("qwen")));
        assert!(ringer.stats().outstanding() <= MAX_OUTSTANDING as u64);
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    // A push that fails puts its batch back, and merges it with what was rung meanwhile.
    tokio::time::sleep(Duration::from_millis(500)).await;
    ringer.ring(Bell::Task(task(1)));
    assert!(ringer.stats().outstanding() <= MAX_OUTSTANDING as u64);
    server.restart().await;
    assert_eq!(soon("the first of them", tasks.next()).await, Some(task(1)));
    eventually("all are sent", &ringer, |stats| stats.outstanding() == 0).await;
}

#[tokio::test]
async fn flushall_in_the_middle_loses_only_bells() {
    let server = RedisServer::start().await;
    let (ringer, listener, mut tasks) = pair(&server).await;
    let mut jobs = listener.model(&model("qwen"));
    for round in 1..=5 {
        // A bell that nobody has taken is lost; the sweeper rings again.
        ringer.ring(Bell::Model(model("gemma")));
        let _: () = server.run(&["FLUSHALL"]).await;
        carries(&ringer, &mut tasks, round).await;
        ringer.ring(Bell::Model(model("qwen")));
        assert_eq!(soon("a job", jobs.next()).await, Some(()));
    }
    assert!(
        listener.stats().restarts >= 5,
        "apalis's worker survives FLUSHALL by now? {:?}",
        listener.stats()
    );
}

#[tokio::test]
async fn killed_connections_are_replaced() {
    let server = RedisServer::start().await;
    let (ringer, listener, mut tasks) = pair(&server).await;
    for (round, kind) in ["normal", "pubsub", "normal", "pubsub"].into_iter().enumerate() {
        let restarts = listener.stats().restarts;
        let killed: usize = server.run(&["CLIENT", "KILL", "TYPE", kind]).await;
        assert!(killed >= 1, "{kind}");
        let begin = Instant::now();
        carries(&ringer, &mut tasks, round + 1).await;
        assert!(begin.elapsed() < Duration::from_secs(5), "{kind}: {:?}", begin.elapsed());
        eventually("the life ended", &listener, |stats| stats.restarts > restarts).await;
    }
}

/// Redis-rs gives up after half a second by default.
#[tokio::test]
async fn a_redis_that_is_frozen_for_three_seconds_ends_no_worker() {
    let server = RedisServer::start().await;
    let (ringer, listener, mut tasks) = pair(&server).await;
    server.freeze();
    ringer.ring(Bell::Task(task(1)));
    let thaw = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        server.thaw();
    };
    let ((), came) = tokio::join!(thaw, soon("the bell from the freeze", tasks.next()));
    assert_eq!(came, Some(task(1)));
    assert_eq!(listener.stats().restarts, 0);
    carries(&ringer, &mut tasks, 2).await;
}

#[tokio::test]
async fn a_redis_that_is_frozen_for_long_is_given_up_and_found_again() {
    let server = RedisServer::start().await;
    let (ringer, listener, mut tasks) = pair(&server).await;
    server.freeze();
    ringer.ring(Bell::Task(task(1)));
    eventually("no read waits for ever", &listener, |stats| stats.restarts >= 1).await;
    server.thaw();
    assert_eq!(soon("the bell from the freeze", tasks.next()).await, Some(task(1)));
    // The push that got no answer may have been carried out, so its bell may come twice.
    loop {
        ringer.ring(Bell::Task(task(2)));
        match soon("a bell", tasks.next()).await {
            Some(number) if number == task(1) => {}
            number => return assert_eq!(number, Some(task(2))),
        }
    }
}

/// Writes fail while reads go on.
#[tokio::test]
async fn a_full_redis_gets_its_bells_when_it_has_room_again() {
    let server = RedisServer::start().await;
    let (ringer, listener, mut tasks) = pair(&server).await;
    let _: () = server.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    ringer.ring(Bell::Task(task(1)));
    let early = tokio::time::timeout(Duration::from_millis(300), tasks.next()).await;
    assert!(early.is_err(), "a full Redis took it");
    assert_eq!(ringer.stats().outstanding(), 1);
    let _: () = server.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(soon("the bell", tasks.next()).await, Some(task(1)));
    drop(listener);
}

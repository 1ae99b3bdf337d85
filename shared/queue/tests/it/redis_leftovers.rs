//! What is left in Redis: nothing of ours for ever, and nothing of others that stops us.

use std::time::{Duration, Instant};

use apalis::prelude::{TaskBuilder, TaskSink};
use apalis_redis::{Config, RedisStorage};
use nightforge_queue::{Bell, MAX_OUTSTANDING};

use crate::conformance::{model, soon, task};
use crate::redis_server::RedisServer;

const TASKS: &str = "nightforge:bells:tasks";

/// Every key with the size of what it holds, but for apalis's signals, which come and go and hold one thing.
async fn inventory(server: &RedisServer) -> Vec<(String, usize)> {
    let mut keys: Vec<String> = server.run(&["KEYS", "*"]).await;
    keys.retain(|key| !key.ends_with(":signal"));
    keys.sort();
    let mut found = Vec::new();
    for key in keys {
        let kind: String = server.run(&["TYPE", &key]).await;
        let size = match kind.as_str() {
            "hash" => "HLEN",
            "list" => "LLEN",
            "set" => "SCARD",
            "zset" => "ZCARD",
            _ => "STRLEN",
        };
        let size: usize = server.run(&[size, &key]).await;
        found.push((key, size));
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_bells_leave_as_little_as_one() {
    let server = RedisServer::start().await;
    let (ringer, listener) = (server.bells().await, server.bells().await);
    let mut tasks = listener.tasks();
    let mut jobs = listener.model(&model("qwen"));
    let mut after = Vec::new();
    for number in 1..=2_500 {
        ringer.ring(Bell::Task(task(number)));
        ringer.ring(Bell::Model(model("qwen")));
        assert_eq!(soon("a task", tasks.next()).await, Some(task(number)));
        assert_eq!(soon("a job", jobs.next()).await, Some(()));
        if number == 1 {
            after = inventory(&server).await;
        }
    }
    assert_eq!(inventory(&server).await, after);
    // For each queue its worker and the worker's description; and apalis's list of queues.
    assert!(after.len() <= 5 && after.iter().all(|(_, size)| *size <= 3), "{after:?}");
    drop((tasks, jobs));
    let begin = Instant::now();
    while server.run::<usize>(&["DBSIZE"]).await > 0 {
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", inventory(&server).await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// As an older program, or one that is not ours, would leave them.
async fn push_foreign(server: &RedisServer, count: usize) {
    let mut storage =
        RedisStorage::<Bell>::new(apalis_redis::connect(server.url()).await.expect("redis-server answers"))
            .with_config(Config::default().queue(TASKS));
    let mut pushed = 0;
    while pushed < count {
        let batch: Vec<Bell> =
            (pushed..count.min(pushed + 500)).map(|number| Bell::Task(task(number))).collect();
        pushed += batch.len();
        storage.push_bulk(batch).await.expect("redis-server takes them");
    }
}

#[tokio::test]
async fn twelve_thousand_messages_that_wait_for_the_first_worker_do_not_stop_it() {
    let server = RedisServer::start().await;
    push_foreign(&server, 12_000).await;
    assert_eq!(server.waiting(TASKS).await, 12_000);
    let bells = server.bells().await;
    let mut tasks = bells.tasks();
    assert!(soon("a bell", tasks.next()).await.is_some());
    assert!(server.waiting(TASKS).await < MAX_OUTSTANDING);
    assert_eq!(server.run::<usize>(&["HLEN", &format!("{TASKS}:data")]).await, server.waiting(TASKS).await);
    for _ in 0..MAX_OUTSTANDING - 1 {
        assert!(soon("the youngest are left", tasks.next()).await.is_some());
    }
    bells.ring(Bell::Task(task(99_999)));
    assert_eq!(soon("a bell of ours", tasks.next()).await, Some(task(99_999)));
}

#[tokio::test]
async fn twelve_thousand_messages_pushed_at_a_running_worker_do_not_stop_it() {
    let server = RedisServer::start().await;
    let bells = server.bells().await;
    let mut tasks = bells.tasks();
    bells.ring(Bell::Task(task(99_999)));
    assert_eq!(soon("a bell of ours", tasks.next()).await, Some(task(99_999)));
    push_foreign(&server, 12_000).await;
    for _ in 0..500 {
        assert!(soon("a bell", tasks.next()).await.is_some());
    }
    assert!(server.waiting(TASKS).await < MAX_OUTSTANDING);
    assert!(bells.stats().restarts >= 1, "apalis's worker survives too many messages by now?");
}

#[tokio::test]
async fn a_dead_process_is_buried_and_its_bells_are_heirs() {
    let server = RedisServer::start().await;
    let bells = server.bells().await;
    bells.ring(Bell::Task(task(1)));
    while server.waiting(TASKS).await < 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // A process registers, takes the bell and dies; its description has expired by now.
    let taken: String = server.run(&["LPOP", &format!("{TASKS}:active")]).await;
    let _: () = server.run(&["SADD", &format!("{TASKS}:inflight:ghost"), &taken]).await;
    let _: () = server.run(&["ZADD", &format!("{TASKS}:workers"), "1", "ghost"]).await;
    let mut tasks = bells.tasks();
    assert_eq!(soon("what the dead had in hand", tasks.next()).await, Some(task(1)));
    let registered: Vec<String> = server.run(&["ZRANGE", &format!("{TASKS}:workers"), "0", "-1"]).await;
    assert!(!registered.contains(&"ghost".to_owned()), "{registered:?}");
    for key in ["inflight:ghost", "data"] {
        assert!(!server.run::<bool>(&["EXISTS", &format!("{TASKS}:{key}")]).await, "{key} is left");
    }
}

/// Nobody extends the life of a description but its worker, so that of a crashed one goes by itself.
#[tokio::test]
async fn the_description_of_a_worker_expires() {
    let server = RedisServer::start().await;
    let bells = server.bells().await;
    let mut tasks = bells.tasks();
    bells.ring(Bell::Task(task(1)));
    soon("a bell", tasks.next()).await;
    let keys: Vec<String> = server.run(&["KEYS", &format!("{TASKS}:workers:metadata:*")]).await;
    assert_eq!(keys.len(), 1, "{keys:?}");
    let left_s: i64 = server.run(&["TTL", &keys[0]]).await;
    assert!((1..=60).contains(&left_s), "{left_s}");
}

#[tokio::test]
async fn rubbish_in_a_queue_is_removed() {
    let server = RedisServer::start().await;
    let connection = apalis_redis::connect(server.url()).await.expect("redis-server answers");
    let mut storage = RedisStorage::<String>::new(connection).with_config(Config::default().queue(TASKS));
    for _ in 0..50 {
        storage
            .push_task(TaskBuilder::new("\"no bell\"".to_owned()).build())
            .await
            .expect("redis-server takes it");
    }
    let bells = server.bells().await;
    let mut tasks = bells.tasks();
    bells.ring(Bell::Task(task(1)));
    assert_eq!(soon("a bell of ours", tasks.next()).await, Some(task(1)));
    assert_eq!(bells.stats().restarts, 0);
    let begin = Instant::now();
    while server.run::<bool>(&["EXISTS", &format!("{TASKS}:data")]).await {
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", inventory(&server).await);
        // Messages are taken while somebody wants one.
        let _ = tokio::time::timeout(Duration::from_millis(20), tasks.next()).await;
    }
}

/// apalis's worker dies of a message whose data is gone.
#[tokio::test]
async fn a_message_without_its_data_is_buried_with_the_worker_that_died_of_it() {
    let server = RedisServer::start().await;
    let _: () = server.run(&["RPUSH", &format!("{TASKS}:active"), "nothing", "nothing-either"]).await;
    let bells = server.bells().await;
    let mut tasks = bells.tasks();
    bells.ring(Bell::Task(task(1)));
    assert_eq!(soon("a bell of ours", tasks.next()).await, Some(task(1)));
    assert_eq!(bells.stats().restarts, 2);
    let in_flight: Vec<String> = server.run(&["KEYS", "*:inflight:*"]).await;
    assert_eq!(in_flight, Vec::<String>::new());
}

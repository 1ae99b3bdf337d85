//! What every backend of bells has to do. Each story gets fresh bells and the token that shuts them down.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nightforge_domain::{ModelName, TaskId};
use nightforge_queue::{Bell, BellStats, Bells, MAX_OUTSTANDING, MAX_OUTSTANDING_PER_MODEL};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) fn task(number: usize) -> TaskId {
    format!("{number:026}").parse().expect("26 digits")
}

pub(crate) fn model(name: &str) -> ModelName {
    name.parse().expect("a plain name")
}

/// A hang is a failure, too.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(30), future).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain: {what}"),
    }
}

/// Where Redis carries the bells, what becomes of a ring is known a little later. Awaits it.
pub(crate) async fn eventually(what: &str, bells: &Bells, holds: impl Fn(&BellStats) -> bool) {
    let until = async {
        while !holds(&bells.stats()) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(30), until).await.is_err() {
        panic!("never came true: {what}: {:?}", bells.stats());
    }
}

/// Bells of this world that were rung and not returned, when nobody else rings or listens.
fn waiting(stats: &BellStats) -> u64 {
    stats.rung - stats.coalesced - stats.dropped - stats.delivered
}

/// Whoever rings has written to the database before; a consumer that looks after `next` must see that. Here a
/// counter for each task stands for the database.
pub(crate) async fn rings_from_many_threads_are_all_seen(bells: Bells) {
    const RINGERS: usize = 8;
    const RINGS: usize = 2_000;
    const TASKS: usize = 97;
    let written: Arc<Vec<AtomicUsize>> = Arc::new((0..TASKS).map(|_| AtomicUsize::new(0)).collect());

    let ringers: Vec<_> = (0..RINGERS)
        .map(|ringer| {
            let (bells, written) = (bells.clone(), Arc::clone(&written));
            tokio::spawn(async move {
                for ring in 0..RINGS {
                    let number = (ring * (ringer + 1)) % TASKS;
                    written[number].fetch_add(1, Ordering::SeqCst);
                    bells.ring(Bell::Task(task(number)));
                    if ring % 50 == ringer {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();

    let (sender, mut looks) = mpsc::unbounded_channel();
    for _ in 0..2 {
        let (mut consumer, written, sender) = (bells.tasks(), Arc::clone(&written), sender.clone());
        tokio::spawn(async move {
            while let Some(id) = consumer.next().await {
                let number: usize = id.as_str().parse().expect("made of digits");
                let seen = written[number].load(Ordering::SeqCst);
                if sender.send((number, seen)).is_err() {
                    return;
                }
            }
        });
    }
    for ringer in ringers {
        soon("a ringer", ringer).await.expect("ringing panicked");
    }

    let last: Vec<usize> = written.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    assert_eq!(last.iter().sum::<usize>(), RINGERS * RINGS);
    let mut unseen: HashSet<usize> = (0..TASKS).collect();
    soon("the last ring of every task", async {
        while !unseen.is_empty() {
            let (number, seen) = looks.recv().await.expect("the consumers live");
            if seen == last[number] {
                unseen.remove(&number);
            }
        }
    })
    .await;
    assert_eq!(bells.stats().rung, (RINGERS * RINGS) as u64);
}

pub(crate) async fn many_rings_for_one_task_without_a_consumer_are_one_bell(bells: Bells) {
    for _ in 0..1_000 {
        bells.ring(Bell::Task(task(7)));
        tokio::task::yield_now().await;
    }
    bells.ring(Bell::Task(task(8)));
    let mut consumer = bells.tasks();
    assert_eq!(soon("the bell from before the consumer", consumer.next()).await, Some(task(7)));
    assert_eq!(soon("the other bell", consumer.next()).await, Some(task(8)), "task 7 came twice");
    eventually("999 rings are merged", &bells, |stats| stats.coalesced == 999).await;
    assert_eq!(bells.stats().delivered, 2);
}

pub(crate) async fn a_ring_after_delivery_is_delivered_again(bells: Bells) {
    let mut consumer = bells.tasks();
    let (asked, mut rings) = mpsc::unbounded_channel();
    let ringer = bells.clone();
    tokio::spawn(async move {
        while let Some(()) = rings.recv().await {
            ringer.ring(Bell::Task(task(1)));
        }
    });
    for round in 0..1_000 {
        asked.send(()).expect("the ringer lives");
        assert_eq!(soon(&format!("round {round}"), consumer.next()).await, Some(task(1)));
    }
    eventually("every ring was a bell", &bells, |stats| {
        (stats.rung, stats.delivered, stats.coalesced, stats.dropped) == (1_000, 1_000, 0, 0)
    })
    .await;
}

/// Runs on one thread, where the order of waiting is exact.
pub(crate) async fn workers_of_a_model_take_turns_and_hear_nothing_of_other_models(bells: Bells) {
    const WORKERS: usize = 3;
    const ROUNDS: usize = 300;
    let (sender, mut woken) = mpsc::unbounded_channel();
    for worker in 0..WORKERS {
        let (mut consumer, sender) = (bells.model(&model("qwen")), sender.clone());
        tokio::spawn(async move {
            while let Some(()) = consumer.next().await {
                if sender.send(worker).is_err() {
                    return;
                }
            }
        });
    }
    let mut other = bells.model(&model("gemma"));
    let mut turns: HashMap<usize, usize> = HashMap::new();
    for _ in 0..ROUNDS {
        bells.ring(Bell::Model(model("qwen")));
        *turns.entry(soon("a worker", woken.recv()).await.expect("a sender lives")).or_default() += 1;
    }
    assert!((0..WORKERS).all(|worker| turns.get(&worker) >= Some(&(ROUNDS / WORKERS / 2))), "{turns:?}");
    assert!(woken.try_recv().is_err(), "one ring woke two workers");

    bells.ring(Bell::Model(model("gemma")));
    soon("the other model's bell", other.next()).await;
    assert_eq!(bells.stats().delivered, ROUNDS as u64 + 1);
    bells.ring(Bell::Model(model("qwen")));
    tokio::select! {
        biased;
        _ = other.next() => panic!("a bell of another model"),
        worker = soon("a worker", woken.recv()) => assert!(worker.is_some()),
    }
}

/// Several rings at once wake several workers, also those that were already waiting.
pub(crate) async fn a_burst_for_a_model_wakes_as_many_workers(bells: Bells) {
    const WORKERS: usize = 5;
    for _ in 0..200 {
        let mut workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let mut consumer = bells.model(&model("qwen"));
                // Each worker takes one bell and is then busy, so nobody can take a second one.
                tokio::spawn(async move { consumer.next().await.map(|()| consumer) })
            })
            .collect();
        for _ in 0..WORKERS {
            bells.ring(Bell::Model(model("qwen")));
        }
        for worker in &mut workers {
            soon("every worker of the burst", worker).await.expect("no panic").expect("no shutdown");
        }
    }
}

pub(crate) async fn bells_of_a_model_without_workers_stay_few(bells: Bells) {
    for _ in 0..10_000 {
        bells.ring(Bell::Model(model("nobody")));
    }
    eventually("all but a few are merged", &bells, |stats| {
        waiting(stats) == MAX_OUTSTANDING_PER_MODEL as u64
    })
    .await;
    let mut late = bells.model(&model("nobody"));
    for _ in 0..MAX_OUTSTANDING_PER_MODEL {
        assert_eq!(soon("a bell from before the worker", late.next()).await, Some(()));
    }
    assert_eq!(waiting(&bells.stats()), 0);
    assert_eq!(bells.stats().outstanding(), 0);
}

pub(crate) async fn the_bound_drops_counts_and_opens_again(bells: Bells) {
    for number in 0..5_000 {
        bells.ring(Bell::Task(task(number)));
        assert!(bells.stats().outstanding() <= MAX_OUTSTANDING as u64);
        if number % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    eventually("all beyond the bound are dropped", &bells, |stats| waiting(stats) == MAX_OUTSTANDING as u64)
        .await;
    assert_eq!(bells.stats().dropped, 5_000 - MAX_OUTSTANDING as u64);
    bells.ring(Bell::Task(task(0)));
    eventually("at the bound a known bell is merged", &bells, |stats| {
        waiting(stats) == MAX_OUTSTANDING as u64
    })
    .await;
    assert_eq!(bells.stats().coalesced, 1, "it was dropped");

    let mut consumer = bells.tasks();
    let mut seen = HashSet::new();
    for _ in 0..MAX_OUTSTANDING {
        seen.insert(soon("a bell below the bound", consumer.next()).await);
    }
    assert_eq!(seen, (0..MAX_OUTSTANDING).map(|number| Some(task(number))).collect());
    assert_eq!(waiting(&bells.stats()), 0);
    assert_eq!(bells.stats().outstanding(), 0);

    bells.ring(Bell::Task(task(4_999)));
    assert_eq!(soon("a bell that was dropped before", consumer.next()).await, Some(task(4_999)));
}

/// A `next` that loses a `select!` must not take a bell with it.
pub(crate) async fn a_dropped_next_loses_nothing(bells: Bells) {
    let mut consumer = bells.tasks();
    let mut delivered = 0;
    for round in 0..500 {
        bells.ring(Bell::Task(task(round)));
        for _ in 0..round % 5 {
            tokio::select! {
                biased;
                bell = consumer.next() => {
                    assert_eq!(bell, Some(task(round)));
                    delivered += 1;
                }
                () = tokio::task::yield_now() => {}
            }
        }
        if delivered <= round {
            assert_eq!(soon("the bell of the round", consumer.next()).await, Some(task(round)));
            delivered += 1;
        }
    }
}

pub(crate) async fn shutdown_ends_waiting_and_later_consumers(bells: Bells, shutdown: CancellationToken) {
    let (mut for_task, mut for_model) = (bells.tasks(), bells.model(&model("qwen")));
    let both = tokio::spawn(async move { (for_task.next().await, for_model.next().await) });
    tokio::task::yield_now().await;
    shutdown.cancel();
    assert_eq!(soon("both consumers", both).await.expect("no panic"), (None, None));
    for number in 0..2_000 {
        bells.ring(Bell::Task(task(number)));
    }
    assert_eq!(soon("a late consumer", bells.tasks().next()).await, None);
    eventually("also after shutdown memory is bounded", &bells, |stats| {
        waiting(stats) == MAX_OUTSTANDING as u64
    })
    .await;
}

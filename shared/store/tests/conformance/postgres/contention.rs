//! Everybody wants the same few tasks at once: the lock order keeps them from waiting for each other in a circle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nightforge_domain::TaskId;
use nightforge_store::{HandBack, Store, fresh_boot_id};
use tokio::task::JoinSet;

use crate::bed::{Bed, process};
use crate::crowd::Dice;
use crate::work::{LEASE, advance, good_result, model, new_task, step};

const TASKS: usize = 3;
const WORKERS: u64 = 12;
const FOR: Duration = Duration::from_secs(3);

/// An error of any write, `deadlock_detected` (40P01) among them, ends the test.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_waits_in_a_circle() {
    let bed = Bed::postgres().await;
    let mut tasks = Vec::new();
    for _ in 0..TASKS {
        tasks.push(bed.store.submit(&new_task()).await.unwrap().task);
    }
    let (writes, until) = (Arc::new(AtomicU64::new(0)), Instant::now() + FOR);
    let mut everybody = JoinSet::new();
    for seed in 0..WORKERS {
        everybody.spawn(work(bed.store.clone(), Dice(seed), Arc::clone(&writes), until));
    }
    for seed in 0..3 {
        everybody.spawn(decide(bed.store.clone(), tasks.clone(), Dice(100 + seed), until));
        everybody.spawn(sweep(bed.store.clone(), until));
    }
    while let Some(ended) = everybody.join_next().await {
        ended.unwrap();
    }
    assert!(writes.load(Ordering::Relaxed) > 200, "{writes:?} writes are no contention");
    bed.end().await;
}

async fn work(store: Store, mut dice: Dice, writes: Arc<AtomicU64>, until: Instant) {
    let boot = fresh_boot_id();
    while Instant::now() < until {
        store.announce(&process(&boot)).await.unwrap();
        let Some(claim) = store.claim(&model(), &boot, "w", LEASE).await.unwrap() else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        store.renew(&boot, &[(claim.job.clone(), claim.fence)], LEASE).await.unwrap();
        let _recorded_or_lost =
            store.record_step(&claim.job, claim.fence, &step(claim.steps), &[]).await.unwrap();
        let why = HandBack { reason: "next".to_owned(), delay_ms: 0, infrastructure: false };
        if dice.throw(4) == 0 {
            let result = good_result(&claim.spec);
            let _finished_or_lost = store.finish(&claim.job, claim.fence, &result).await.unwrap();
        } else {
            let _returned_or_lost = store.hand_back(&claim.job, claim.fence, &why).await.unwrap();
        }
        writes.fetch_add(4, Ordering::Relaxed);
    }
}

/// Advances, pauses, cancels, and begins anew what is over.
async fn decide(store: Store, tasks: Vec<TaskId>, mut dice: Dice, until: Instant) {
    let mut tasks = tasks;
    while Instant::now() < until {
        let place = dice.throw(tasks.len() as u64) as usize;
        advance(&store, &tasks[place]).await.unwrap();
        if store.task(&tasks[place]).await.unwrap().status.is_final() {
            tasks[place] = store.submit(&new_task()).await.unwrap().task;
        } else if dice.throw(40) == 0 {
            // It may be over meanwhile.
            let _asked_or_late = store.ask_cancel(&tasks[place], "ada").await.is_ok();
        } else if dice.throw(10) == 0 {
            for paused in [true, false] {
                let _changed_or_late = store.set_paused(&tasks[place], paused, "ada").await.is_ok();
            }
        }
    }
}

async fn sweep(store: Store, until: Instant) {
    while Instant::now() < until {
        store.mark_silent_gone(0).await.unwrap();
        for lease in store.expired_leases(50).await.unwrap() {
            store.sweep_lease(&lease).await.unwrap();
        }
        store.pass_deadlines(50).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

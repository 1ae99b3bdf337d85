//! The server dies and comes back, again and again, while everybody writes: each write happened once or not at all,
//! and everybody goes on within seconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nightforge_domain::{Status, TaskId};
use nightforge_services::Postgres;
use nightforge_store::{Claim, Store, StoreError, fresh_boot_id};
use tokio::task::JoinSet;

use crate::bed::{Bed, process};
use crate::crowd::{Dice, check, signed};
use crate::work::{advance, model, new_task, step};

const TASKS: usize = 12;
const WORKERS: u64 = 6;
const OUTAGES: usize = 6;
const BACK_WITHIN: Duration = Duration::from_secs(5);

/// In milliseconds of the bed's clock.
const SHORT_LEASE: i64 = 2_000;

#[derive(Clone)]
struct Night {
    store: Store,
    clock: Arc<AtomicI64>,
    errors: Arc<AtomicU64>,
}

impl Night {
    /// Tries again until the database answers.
    async fn insist<T>(&self, write: impl AsyncFn() -> Result<T, StoreError>) -> T {
        loop {
            match write().await {
                Ok(answer) => return answer,
                Err(StoreError::Database(_)) => {
                    self.errors.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(error) => panic!("not an outage's error: {error}"),
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_dies_again_and_again_loses_and_doubles_nothing() {
    tokio::task::LocalSet::new().run_until(a_night_of_outages()).await;
}

async fn a_night_of_outages() {
    let mut server = Postgres::start().unwrap();
    let bed = Bed::postgres_at(&server.url()).await;
    let night = Night { store: bed.store.clone(), clock: bed.clock(), errors: Arc::default() };
    let mut tasks = Vec::new();
    let mut crowd = JoinSet::new();
    for seed in 0..WORKERS {
        crowd.spawn_local(work(night.clone(), Dice(seed)));
    }
    crowd.spawn_local(sweep(night.clone()));
    crowd.spawn_local(schedule(night.clone()));
    for outage in 0..OUTAGES {
        for _ in 0..TASKS / OUTAGES {
            let mut new = new_task();
            new.idempotency_key = Some(format!("task {}", tasks.len()));
            tasks.push(night.insist(async || night.store.submit(&new).await).await.task);
        }
        // Somewhere in the middle of their work.
        tokio::time::sleep(Duration::from_millis(150)).await;
        server = tokio::task::spawn_blocking(move || {
            if outage % 2 == 0 {
                server.kill().unwrap();
            }
            server.restart().unwrap();
            server
        })
        .await
        .unwrap();
        let back = Instant::now();
        night.insist(async || night.store.ping().await).await;
        assert!(back.elapsed() < BACK_WITHIN, "back after {:?}", back.elapsed());
    }
    tokio::select! {
        ended = crowd.join_next() => panic!("somebody left early: {ended:?}"),
        over = tokio::time::timeout(Duration::from_secs(60), all_over(&night, &tasks)) => {
            over.expect("every accepted task reaches its end");
        }
    }
    crowd.shutdown().await;
    assert!(night.errors.load(Ordering::Relaxed) > OUTAGES as u64, "outages that nobody felt prove nothing");
    let found = bed.rows("SELECT count(*) FROM tasks").await;
    assert_eq!(found, [TASKS.to_string()], "each objective was accepted once");
    for task in &tasks {
        check(&bed, task).await;
    }
    bed.end().await;
}

#[tokio::test]
async fn a_connection_that_the_server_has_closed_is_handed_to_nobody() {
    let mut server = Postgres::start().unwrap();
    let bed = Bed::postgres_at(&server.url()).await;
    let ping_all = async || {
        let all = (0..10).map(|_| {
            let store = bed.store.clone();
            tokio::spawn(async move { store.ping().await })
        });
        for ping in all.collect::<Vec<_>>() {
            ping.await.unwrap().unwrap();
        }
    };
    ping_all().await;
    for _ in 0..2 {
        server.restart().unwrap();
        ping_all().await;
        server.kill().unwrap();
        server.restart().unwrap();
        ping_all().await;
    }
    bed.end().await;
}

async fn all_over(night: &Night, tasks: &[TaskId]) {
    for task in tasks {
        while night.insist(async || night.store.task(task).await).await.status != Status::Completed {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn schedule(night: Night) {
    loop {
        let mut waiting = night.insist(async || night.store.tasks_with_stale_inputs(0, 50).await).await;
        waiting.extend(night.insist(async || night.store.queued_tasks(50).await).await);
        for task in waiting {
            night.insist(async || advance(&night.store, &task).await).await;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Claims whose answer was lost are nobody's: their leases run out.
async fn sweep(night: Night) {
    loop {
        night.clock.fetch_add(50, Ordering::SeqCst);
        for lease in night.insist(async || night.store.expired_leases(50).await).await {
            night.insist(async || night.store.sweep_lease(&lease).await).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn work(night: Night, mut dice: Dice) {
    let boot = fresh_boot_id();
    night.insist(async || night.store.announce(&process(&boot)).await).await;
    loop {
        let claimed = night.insist(async || night.store.claim(&model(), &boot, "w", SHORT_LEASE).await).await;
        match claimed {
            Some(claim) => execute(&night, &claim, &mut dice).await,
            None => tokio::time::sleep(Duration::from_millis(3)).await,
        }
    }
}

async fn execute(night: &Night, claim: &Claim, dice: &mut Dice) {
    let recorded = night.insist(async || night.store.journal(&claim.job).await).await.len() as u32;
    for ordinal in recorded..3 {
        let mut step = step(ordinal);
        step.output = serde_json::json!({ "fence": claim.fence });
        let write = async || night.store.record_step(&claim.job, claim.fence, &step, &[]).await;
        if night.insist(write).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(dice.throw(8))).await;
    }
    let result = signed(claim, dice);
    let _finished_or_lost =
        night.insist(async || night.store.finish(&claim.job, claim.fence, &result).await).await;
}

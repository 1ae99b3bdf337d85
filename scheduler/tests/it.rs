//! A scheduler on a real database: what it advances, what it rings for, what it puts right.

#![expect(clippy::unwrap_used, reason = "a test fails where its own support does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use nightforge_domain::{AgentModels, BootId, Kind, Limits, ModelName, NewTask, Priority, TaskId};
use nightforge_queue::Bells;
use nightforge_scheduler::{SchedulerConfig, advance_task};
use nightforge_store::presence::{BootLock, host_id};
use nightforge_store::{DbClock, Process, Role, Store, fresh_boot_id};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const LEASE_MS: i64 = 15_000;

struct Bed {
    data: TempDir,
    store: Store,
    bells: Bells,
    clock: Arc<AtomicI64>,
    stop: CancellationToken,
}

impl Bed {
    async fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let url = format!("sqlite:{}", data.path().join("nightforge.db").display());
        let store = Store::open(&url, DbClock::Manual(Arc::clone(&clock))).await.unwrap();
        let stop = CancellationToken::new();
        let bells = Bells::in_memory(stop.clone());
        Self { data, store, bells, clock, stop }
    }

    /// Accepts a task without ringing for it.
    async fn submit(&self) -> TaskId {
        self.submit_with(5).await
    }

    async fn submit_with(&self, priority: u8) -> TaskId {
        let new = NewTask {
            kind: Kind::Build,
            objective: "a clock".to_owned().try_into().unwrap(),
            owner: "local".to_owned(),
            priority: Priority::try_from(priority).unwrap(),
            models: AgentModels::same(&model()),
            limits: Limits::default(),
            approve: false,
            deadline: None,
            language: None,
            previous: None,
            idempotency_key: None,
        };
        self.store.submit(&new).await.unwrap().task
    }

    /// A worker's process on this data folder, with its lock.
    async fn process(&self) -> (BootId, BootLock) {
        let boot = fresh_boot_id();
        let lock = BootLock::take(self.data.path(), &boot).unwrap();
        let process = Process {
            boot: boot.clone(),
            host: host_id(self.data.path()).unwrap(),
            role: Role::Worker,
            version: "test".to_owned(),
            model: None,
            endpoint: None,
            gpu: None,
            slots: 1,
        };
        self.store.announce(&process).await.unwrap();
        (boot, lock)
    }

    fn schedule(&self) -> tokio::task::JoinHandle<anyhow::Result<()>> {
        let mut config = SchedulerConfig::new(fresh_boot_id(), self.data.path().to_owned());
        config.lease = Duration::from_millis(LEASE_MS as u64);
        config.sweep_every = Duration::from_millis(20);
        tokio::spawn(nightforge_scheduler::run(
            self.store.clone(),
            self.bells.clone(),
            config,
            self.stop.clone(),
        ))
    }

    async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        let waited = tokio::time::timeout(Duration::from_secs(20), async {
            while !condition().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(waited.await.is_ok(), "{what}");
    }

    async fn job_state(&self, task: &TaskId) -> String {
        self.store.jobs(task).await.unwrap().first().map(|job| job.state.to_string()).unwrap_or_default()
    }
}

fn model() -> ModelName {
    "coder".parse().unwrap()
}

#[tokio::test]
async fn every_waiting_input_is_one_transition_and_new_jobs_are_rung_for() {
    let bed = Bed::new().await;
    let task = bed.submit().await;
    let mut worker = bed.bells.model(&model());
    assert_eq!(advance_task(&bed.store, &bed.bells, &task).await.unwrap(), 1);
    tokio::time::timeout(Duration::from_secs(5), worker.next()).await.expect("rung").expect("not shut down");
    assert_eq!(bed.job_state(&task).await, "ready");
    assert_eq!(advance_task(&bed.store, &bed.bells, &task).await.unwrap(), 0, "nothing is left");

    // A cancel ends the ready job, whose end is an input of its own: two transitions at one bell.
    bed.store.ask_cancel(&task, "a test").await.unwrap();
    assert_eq!(advance_task(&bed.store, &bed.bells, &task).await.unwrap(), 2);
    assert_eq!(bed.store.task(&task).await.unwrap().status.as_str(), "cancelled");
}

#[tokio::test]
async fn a_bell_that_was_lost_is_rung_again() {
    let bed = Bed::new().await;
    let task = bed.submit().await;
    let scheduler = bed.schedule();
    bed.until("a queued task is rung for", async || bed.store.task(&task).await.unwrap().seq == 1).await;
    bed.store.ask_cancel(&task, "a test").await.unwrap();
    // Time stands still, so the input is too young to be swept.
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(bed.store.task(&task).await.unwrap().seq, 1, "nobody rang");
    bed.clock.fetch_add(2_000, Ordering::SeqCst);
    bed.until("the sweeper rings", async || bed.store.task(&task).await.unwrap().seq > 1).await;
    bed.stop.cancel();
    scheduler.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_process_that_ended_loses_its_leases_at_once_and_a_live_one_keeps_them() {
    let bed = Bed::new().await;
    let (dead, living) = (bed.submit().await, bed.submit().await);
    for task in [&dead, &living] {
        advance_task(&bed.store, &bed.bells, task).await.unwrap();
    }
    let (dead_boot, dead_lock) = bed.process().await;
    let (live_boot, _live_lock) = bed.process().await;
    let first = bed.store.claim(&model(), &dead_boot, "dead", LEASE_MS).await.unwrap().unwrap();
    let second = bed.store.claim(&model(), &live_boot, "live", LEASE_MS).await.unwrap().unwrap();
    let scheduler = bed.schedule();
    drop(dead_lock);
    bed.until("the dead one's job is ready", async || bed.job_state(&first.job.task).await == "ready").await;
    assert_eq!(bed.job_state(&second.job.task).await, "running", "no time has passed");
    let events = bed.store.events(&first.job.task, 0, 100).await.unwrap();
    assert_eq!(events.last().unwrap().data["worker_gone"], true);
    bed.stop.cancel();
    scheduler.await.unwrap().unwrap();
}

#[tokio::test]
async fn four_tasks_a_slot_are_active_and_the_rest_wait_their_turn() {
    let bed = Bed::new().await;
    let (_boot, _lock) = bed.process().await;
    let mut tasks = Vec::new();
    for _ in 0..6 {
        tasks.push(bed.submit().await);
    }
    for task in &tasks {
        advance_task(&bed.store, &bed.bells, task).await.unwrap();
    }
    let statuses = async || {
        let mut statuses = Vec::new();
        for task in &tasks {
            statuses.push(bed.store.task(task).await.unwrap().status.to_string());
        }
        statuses
    };
    assert_eq!(statuses().await, ["running", "running", "running", "running", "queued", "queued"]);
    let urgent = bed.submit_with(9).await;
    assert_eq!(advance_task(&bed.store, &bed.bells, &urgent).await.unwrap(), 1, "it exceeds the limit");

    // A queued task can be cancelled without being admitted.
    bed.store.ask_cancel(&tasks[5], "a test").await.unwrap();
    advance_task(&bed.store, &bed.bells, &tasks[5]).await.unwrap();
    assert_eq!(statuses().await[4..], ["queued", "cancelled"]);

    // One of lower priority waits longer; a task that ends makes room for the next, also when its bell was lost.
    let patient = bed.submit_with(1).await;
    let scheduler = bed.schedule();
    bed.clock.fetch_add(10_000, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(statuses().await[4], "queued");
    bed.store.ask_cancel(&tasks[0], "a test").await.unwrap();
    bed.store.ask_cancel(&urgent, "a test").await.unwrap();
    bed.clock.fetch_add(10_000, Ordering::SeqCst);
    bed.until("the next one starts", async || bed.store.task(&tasks[4]).await.unwrap().seq == 1).await;
    assert_eq!(
        bed.store.task(&patient).await.unwrap().seq,
        0,
        "five of higher priority are active or were first"
    );
    bed.stop.cancel();
    scheduler.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_scheduler_ends_when_it_is_told_to() {
    let bed = Bed::new().await;
    let scheduler = bed.schedule();
    bed.stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), scheduler).await.expect("it ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_process_that_has_been_gone_for_over_seven_days_is_forgotten() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    let bed = Bed::new().await;
    let (old, lock) = bed.process().await;
    drop(lock);
    bed.store.mark_gone(&old).await.unwrap();
    bed.clock.fetch_add(3 * DAY_MS, Ordering::SeqCst);
    let (younger, lock) = bed.process().await;
    drop(lock);
    bed.store.mark_gone(&younger).await.unwrap();
    bed.clock.fetch_add(4 * DAY_MS + 1, Ordering::SeqCst);
    bed.schedule();
    // The second answer that only a sweep brings about is after the first whole sweep.
    for _ in 0..2 {
        let task = bed.submit().await;
        bed.store.ask_cancel(&task, "a test").await.unwrap();
        bed.clock.fetch_add(3_000, Ordering::SeqCst);
        bed.until("a sweep rings", async || bed.store.task(&task).await.unwrap().status.is_final()).await;
    }
    let started_days_ago = async |boot: BootId| {
        let process = Process {
            boot: boot.clone(),
            host: "elsewhere".to_owned(),
            role: Role::Worker,
            version: "test".to_owned(),
            model: None,
            endpoint: None,
            gpu: None,
            slots: 1,
        };
        // One that is still known keeps the time of its start.
        bed.store.announce(&process).await.unwrap();
        let workers = bed.store.workers().await.unwrap();
        let started = workers.into_iter().find(|worker| worker.boot == boot).unwrap().started_at;
        bed.store.now().await.unwrap().since(started) / DAY_MS
    };
    assert_eq!(started_days_ago(old).await, 0, "forgotten");
    assert_eq!(started_days_ago(younger).await, 4, "kept");
    bed.stop.cancel();
}

//! A night in a crowd: schedulers, workers, a sweeper and restless people over the same tasks, with futures that are
//! dropped in the middle, processes that die and leases that run out. Afterwards the tables tell whether the
//! invariants held.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nightforge_domain::fault::FaultClass;
use nightforge_domain::{JobId, JobResult, JobSpec, Kind, SessionOutcome, Status, Step, TaskId};
use nightforge_store::{Claim, HandBack, Queue, Store, fresh_boot_id};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::bed::{Bed, on_every_database, process};
use crate::work::{advance, good_result, job, model, new_task, session_report, step};

const TASKS: usize = 40;
const SCHEDULERS: u64 = 4;
const WORKERS: u64 = 8;
const STEPS: u32 = 3;

/// In milliseconds of the bed's clock, which runs much faster than the wall's.
const SHORT_LEASE: i64 = 2_000;

/// What the members of the crowd share.
#[derive(Clone)]
struct Night {
    store: Store,
    clock: Arc<AtomicI64>,
    /// What each recorded step said, by the first worker that got to know of it.
    said: Arc<Mutex<HashMap<(JobId, u32), Value>>>,
    crashes: Arc<AtomicU64>,
}

/// Cheap reproducible chance.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.throw(sides) == 0
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_night_in_a_crowd_keeps_the_invariants() {
    on_every_database(async |bed| {
        let mut tasks = Vec::new();
        for place in 0..TASKS {
            let mut new = new_task();
            new.owner = ["ada", "bob", "cleo"][place % 3].to_owned();
            tasks.push(bed.store.submit(&new).await.unwrap().task);
        }
        let night = Night {
            store: bed.store.clone(),
            clock: bed.clock(),
            said: Arc::default(),
            crashes: Arc::default(),
        };
        let mut crowd = JoinSet::new();
        for seed in 0..SCHEDULERS {
            crowd.spawn(schedule(night.clone(), Dice(seed)));
        }
        for seed in 0..WORKERS {
            crowd.spawn(work(night.clone(), Dice(100 + seed)));
        }
        crowd.spawn(sweep(night.clone()));
        crowd.spawn(let_time_pass(night.clone()));
        crowd.spawn(change_minds(night.clone(), tasks.clone(), Dice(1_000)));
        tokio::select! {
            ended = crowd.join_next() => panic!("somebody left early: {ended:?}"),
            over = tokio::time::timeout(Duration::from_secs(240), all_over(&night.store, &tasks)) => {
                over.expect("every accepted task reaches its end");
            }
        }
        crowd.shutdown().await;
        assert!(night.crashes.load(Ordering::Relaxed) > 50, "a quiet night proves nothing");
        for task in &tasks {
            check(bed, task).await;
        }
        let said = night.said.lock().unwrap().clone();
        for ((job, ordinal), output) in said {
            let journal = bed.store.journal(&job).await.unwrap();
            assert_eq!(journal[ordinal as usize].output, output, "a recorded step of job {job} was changed");
        }
    })
    .await;
}

async fn all_over(store: &Store, tasks: &[TaskId]) {
    for task in tasks {
        loop {
            let row = store.task(task).await.unwrap();
            let over = matches!(row.status, Status::Completed | Status::Cancelled);
            if over && store.pending(task).await.unwrap().is_none() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn let_time_pass(night: Night) {
    loop {
        night.clock.fetch_add(50, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Drops a future at a random moment, now and then.
async fn unless_crashed<T>(night: &Night, dice: &mut Dice, future: impl Future<Output = T>) -> Option<T> {
    if !dice.one_in(6) {
        return Some(future.await);
    }
    let moment = Duration::from_micros(dice.throw(8_000));
    let survived = tokio::time::timeout(moment, future).await.ok();
    if survived.is_none() {
        night.crashes.fetch_add(1, Ordering::Relaxed);
    }
    survived
}

async fn schedule(night: Night, mut dice: Dice) {
    loop {
        let mut waiting = night.store.tasks_with_stale_inputs(0, 50).await.unwrap();
        waiting.extend(night.store.queued_tasks(50).await.unwrap());
        if waiting.is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        }
        let task = &waiting[dice.throw(waiting.len() as u64) as usize];
        if let Some(advanced) = unless_crashed(&night, &mut dice, advance(&night.store, task)).await {
            advanced.unwrap();
        }
    }
}

async fn sweep(night: Night) {
    loop {
        night.store.mark_silent_gone(SHORT_LEASE * 3).await.unwrap();
        for lease in night.store.expired_leases(50).await.unwrap() {
            night.store.sweep_lease(&lease).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

/// Cancels a few tasks, pauses and resumes others, and retries what ended early.
async fn change_minds(night: Night, tasks: Vec<TaskId>, mut dice: Dice) {
    let mut cancels = 5;
    loop {
        tokio::time::sleep(Duration::from_millis(15)).await;
        let task = &tasks[dice.throw(tasks.len() as u64) as usize];
        let status = night.store.task(task).await.unwrap().status;
        match (status, dice.throw(4)) {
            (Status::NeedsReview | Status::Failed, 0) => {
                let first = night.store.jobs(task).await.unwrap().iter().map(|job| job.no).next_back();
                // Only jobs that ended without a result.
                let _ = night.store.ask_retry(task, first, "ada").await;
            }
            (Status::NeedsReview | Status::Failed, _) => {
                night.store.ask_retry(task, None, "ada").await.unwrap();
            }
            (Status::Running, 0) if cancels > 0 => {
                // It may be over meanwhile.
                cancels -= u32::from(night.store.ask_cancel(task, "ada").await.is_ok());
            }
            (Status::Running, 1) => {
                // It may be over meanwhile.
                let _ = night.store.set_paused(task, true, "ada").await;
                tokio::time::sleep(Duration::from_millis(5)).await;
                let _ = night.store.set_paused(task, false, "ada").await;
            }
            (Status::Running, 2) => {
                let queue = match dice.throw(2) {
                    0 => Queue::Model(model()),
                    _ => Queue::Kind(Kind::Build),
                };
                night.store.pause_queue(&queue, "ada").await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
                night.store.resume_queue(&queue).await.unwrap();
            }
            _ => {}
        }
    }
}

/// A worker's life after life: a crash takes a new boot id, and is known to be one only sometimes.
async fn work(night: Night, mut dice: Dice) {
    loop {
        let boot = fresh_boot_id();
        night.store.announce(&process(&boot)).await.unwrap();
        loop {
            let model = model();
            let claiming = night.store.claim(&model, &boot, "worker", SHORT_LEASE);
            let Some(claimed) = unless_crashed(&night, &mut dice, claiming).await else { break };
            let Some(claim) = claimed.unwrap() else {
                night.store.heartbeat(&boot).await.unwrap();
                tokio::time::sleep(Duration::from_millis(3)).await;
                continue;
            };
            let mut fate = Dice(dice.throw(u64::MAX));
            if unless_crashed(&night, &mut dice, execute(&night, &claim, &mut fate)).await.is_none() {
                break;
            }
        }
        if dice.one_in(2) {
            night.store.mark_gone(&boot).await.unwrap();
        }
    }
}

/// Runs a job's steps from its journal on; ends as soon as a write is refused.
async fn execute(night: &Night, claim: &Claim, dice: &mut Dice) {
    let journal = night.store.journal(&claim.job).await.unwrap();
    for recorded in &journal {
        remember(night, claim, recorded);
    }
    for ordinal in journal.len() as u32..STEPS {
        let said = json!({ "fence": claim.fence, "chance": dice.throw(1 << 30) });
        let step = Step { output: said, ..step(ordinal) };
        if night.store.record_step(&claim.job, claim.fence, &step, &[]).await.unwrap().is_err() {
            return;
        }
        remember(night, claim, &step);
        // A slow worker; some lose their lease this way.
        tokio::time::sleep(Duration::from_micros(dice.throw(4_000))).await;
        let handed_back = match dice.throw(25) {
            0 => {
                let why =
                    HandBack { reason: "drain".to_owned(), delay_ms: 0, infrastructure: dice.one_in(2) };
                night.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().is_ok()
            }
            1 => night
                .store
                .fault(&claim.job, claim.fence, FaultClass::Truncated, "cut", 2)
                .await
                .unwrap()
                .is_ok(),
            _ => false,
        };
        if handed_back {
            return;
        }
    }
    let task = night.store.task(&claim.job.task).await.unwrap();
    if task.stopping && dice.one_in(2) {
        // Refused when somebody else holds the job by now; either way it ends once.
        let _ended_or_lost = night.store.end_cancelled(&claim.job, claim.fence).await.unwrap();
        return;
    }
    let result = signed(claim, dice);
    let _finished_or_lost = night.store.finish(&claim.job, claim.fence, &result).await.unwrap();
}

/// The journal never changes under anybody's eyes.
fn remember(night: &Night, claim: &Claim, step: &Step) {
    let mut said = night.said.lock().unwrap();
    let first = said.entry((claim.job.clone(), step.ordinal)).or_insert_with(|| step.output.clone());
    assert_eq!(*first, step.output, "step {} of job {} was run again", step.ordinal, claim.job);
}

/// A result that tells which claim gave it, where its form has room for that.
pub(crate) fn signed(claim: &Claim, dice: &mut Dice) -> JobResult {
    let mut result = match &claim.spec {
        JobSpec::Code { feature, session, .. } if dice.one_in(5) => {
            session_report(feature, *session, SessionOutcome::Failed { reason: "red".to_owned() })
        }
        spec => good_result(spec),
    };
    match &mut result {
        JobResult::Initialized(made) => made.project.name = claim.fence.to_string(),
        JobResult::Session(report) => report.note = claim.fence.to_string(),
        _ => {}
    }
    result
}

/// The fence that a signed result carries.
fn signature(result: &Value) -> Option<i64> {
    let text = result.get("note").or_else(|| result.get("project").and_then(|project| project.get("name")));
    text.and_then(Value::as_str).map(|fence| fence.parse().unwrap())
}

/// Reads a task's tables: invariants 2, 3 and 4, and one input for each end of a job.
pub(crate) async fn check(bed: &Bed, task: &TaskId) {
    let row = bed.store.task(task).await.unwrap();
    assert!(row.report.is_some() && row.state.awaited.is_empty(), "{task} is over");

    // Invariant 2: each transition consumed one input, the oldest one; numbers have no gap.
    let inputs = bed
        .rows(&format!(
            "SELECT number, consumed_seq, body FROM inputs WHERE task_id = '{task}' ORDER BY number"
        ))
        .await;
    assert_eq!(inputs.len() as i64, row.seq, "{task}: as many inputs as transitions");
    let mut ends_by_inputs = BTreeMap::new();
    let mut results = BTreeMap::new();
    for (place, line) in (1..).zip(&inputs) {
        let mut columns = line.splitn(3, " | ");
        assert_eq!(columns.next().unwrap(), place.to_string());
        assert_eq!(columns.next().unwrap(), place.to_string(), "{task}: consumed in order, once each");
        let body: Value = serde_json::from_str(columns.next().unwrap()).unwrap();
        if let Some(job) = body.get("job").and_then(Value::as_u64) {
            *ends_by_inputs.entry(job).or_insert(0) += 1;
            if let Some(result) = body.get("result") {
                assert_eq!(results.insert(job, result.clone()), None, "{task}: job {job} has one result");
            }
        }
    }
    let events = bed.store.events(task, 0, 100_000).await.unwrap();
    for (place, event) in (1..).zip(&events) {
        assert_eq!(event.seq, place);
        assert!(!event.type_name.starts_with("illegal"), "{task}: {event:?}");
    }

    // Invariant 3: fences grow, and an end belongs to the claim that was the last one.
    let mut ends_by_events = BTreeMap::new();
    let mut fences: BTreeMap<u64, i64> = BTreeMap::new();
    let (mut paused, mut stopping) = (false, false);
    for event in &events {
        match event.type_name.as_str() {
            "pause-changed" => paused = event.data["paused"] == true,
            "task-stopping" => stopping = true,
            "retry-accepted" => stopping = false,
            "job-claimed" => assert!(!paused && !stopping, "{task}: {event:?} came too late"),
            _ => {}
        }
        let Some(job) = event.data.get("job").and_then(Value::as_u64) else { continue };
        match event.type_name.as_str() {
            "job-claimed" => {
                let fence = event.data["fence"].as_i64().unwrap();
                let before = fences.insert(job, fence).unwrap_or(0);
                assert!(fence > before, "{task}: fence {fence} of job {job} follows {before}");
            }
            "job-done" => {
                *ends_by_events.entry(job).or_insert(0) += 1;
                if let Some(fence) = signature(&results[&job]) {
                    assert_eq!(fence, fences[&job], "{task}: job {job} was finished by an old claim");
                }
            }
            "job-failed" | "job-died" | "job-cancelled" => *ends_by_events.entry(job).or_insert(0) += 1,
            _ => {}
        }
    }
    assert_eq!(ends_by_inputs, ends_by_events, "{task}: each end of a job is one input");

    // Invariant 4: the journal is whole, and written by claims in their order.
    let jobs = bed.store.jobs(task).await.unwrap();
    assert_eq!(jobs.len() as u32, row.state.jobs_created);
    for (place, found) in (1..).zip(&jobs) {
        assert_eq!(found.no.0, place);
        assert!(found.finished_at.is_some() && found.boot.is_none(), "{task}: job {place} is over");
        let steps = bed
            .rows(&format!(
                "SELECT fence FROM steps WHERE task_id = '{task}' AND job = {place} ORDER BY ordinal"
            ))
            .await;
        let fences: Vec<i64> = steps.iter().map(|fence| fence.parse().unwrap()).collect();
        assert!(
            fences.is_sorted() && fences.iter().all(|fence| *fence <= found.fence.0),
            "{task}: {fences:?}"
        );
        let journal = bed.store.journal(&job(task, place)).await.unwrap();
        let ordinals: BTreeSet<u32> = journal.iter().map(|step| step.ordinal).collect();
        assert_eq!(ordinals, (0..found.steps).collect(), "{task}: the journal of job {place} has no gap");
        for (step, fence) in journal.iter().zip(&fences) {
            assert_eq!(step.output["fence"], json!(fence), "{task}: a step carries the fence of its claim");
        }
    }
}

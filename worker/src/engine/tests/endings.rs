//! How executions end, and what each way costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nightforge_domain::fault::FaultClass;
use nightforge_domain::{JobState, Limits};
use nightforge_store::{Claim, StoreError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::bed::{Bed, interruption, some_result};
use crate::engine::context::Progress;
use crate::engine::execution::{Execution, run_until_told};
use crate::engine::lease::Leases;
use crate::engine::{Failure, Interruption, JobContext, Workshop};

/// Books an end for a claim; with `progress`, the claim had journaled a step before.
async fn book(bed: &Bed, claim: &Claim, outcome: Failure, progress: bool) {
    book_in(bed, &bed.workshop(), claim, outcome, progress).await;
}

pub(super) async fn book_in(
    bed: &Bed,
    workshop: &Arc<Workshop>,
    claim: &Claim,
    outcome: Failure,
    progress: bool,
) {
    let stop = CancellationToken::new();
    let leases = Leases::start(&bed.store, bed.boot.clone(), Duration::from_secs(60), stop.clone()).unwrap();
    let lease = leases.hold(claim.job.clone(), claim.fence, Instant::now());
    let execution = Execution::new(Arc::clone(workshop), claim.clone(), lease);
    if progress {
        let (_signal, told) = watch::channel(None);
        let mut context = JobContext::new(claim.clone(), workshop, told, execution.progress()).await.unwrap();
        context.step("model", &"a", async |_| Ok(1)).await.unwrap();
    }
    execution.book(Err(outcome)).await.unwrap();
    stop.cancel();
}

fn machine() -> Failure {
    Failure::Machine(anyhow::anyhow!("no disk"))
}

#[tokio::test]
async fn a_panic_ends_the_job_and_not_the_worker() {
    let (_signal, told) = watch::channel(None);
    let ended = run_until_told(async { panic!("a defect") }, told).await;
    let Err(Failure::Machine(error)) = ended else { panic!("{ended:?}") };
    assert!(error.to_string().contains("the job's code panicked") && error.to_string().contains("a defect"));
}

#[tokio::test]
async fn only_strong_signals_end_a_step_in_flight() {
    for told in [Interruption::Stopping, Interruption::Lost, Interruption::Cut] {
        let (_signal, listening) = watch::channel(Some(told));
        assert_eq!(interruption(run_until_told(std::future::pending(), listening).await), told);
    }
    for told in [Interruption::Paused, Interruption::Draining] {
        let (_signal, listening) = watch::channel(Some(told));
        let job = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(some_result())
        };
        assert_eq!(run_until_told(job, listening).await.unwrap(), some_result());
    }
}

#[tokio::test]
async fn a_job_ends_with_its_execution() {
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let gone = Arc::new(AtomicBool::new(false));
    let (_signal, told) = watch::channel(None);
    let guard = OnDrop(Arc::clone(&gone));
    let job = async move {
        let _guard = guard;
        std::future::pending().await
    };
    let execution = tokio::spawn(run_until_told(job, told));
    tokio::task::yield_now().await;
    execution.abort();
    let ended = async {
        while !gone.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), ended).await.expect("the job goes on without its execution");
}

#[tokio::test]
async fn a_failing_machine_is_a_dead_letter_after_five_times_at_one_step() {
    let bed = Bed::new([]).await;
    let mut claim = bed.claimed().await;
    for failures in 1..=4 {
        book(&bed, &claim, machine(), false).await;
        let job = bed.job(&claim.job).await;
        assert_eq!((job.state, job.infra_failures), (JobState::Ready, failures));
        bed.execute("UPDATE jobs SET run_after = 0").await;
        claim = bed.claim().await;
    }
    book(&bed, &claim, machine(), false).await;
    let job = bed.job(&claim.job).await;
    assert_eq!(job.state, JobState::Dead);
    assert!(job.last_error.unwrap().contains("failed 5 times at the same step on this machine: no disk"));
    assert_eq!(job.faults, 0);
}

#[tokio::test]
async fn a_search_that_is_away_for_long_buries_nothing() {
    let bed = Bed::new([]).await;
    let mut claim = bed.claimed().await;
    for (asked_s, wait_ms) in [(None, 5_000), (None, 10_000), (Some(0), 5_000), (Some(120), 120_000)] {
        let retry_after = asked_s.map(Duration::from_secs);
        let away = Failure::Unavailable { reason: "no search".to_owned(), retry_after };
        book(&bed, &claim, away, false).await;
        let job = bed.job(&claim.job).await;
        assert_eq!((job.state, job.faults, job.infra_failures), (JobState::Ready, 0, 0));
        let waits_ms = job.run_after.0 - job.claimed_at.unwrap().0;
        assert!((wait_ms..wait_ms + 4_000).contains(&waits_ms), "{asked_s:?}: {waits_ms}");
        bed.execute("UPDATE jobs SET run_after = 0").await;
        claim = bed.claim().await;
    }
    book(&bed, &claim, machine(), false).await;
    let job = bed.job(&claim.job).await;
    assert_eq!((job.state, job.infra_failures), (JobState::Ready, 1), "the machine's first failure");
}

#[tokio::test]
async fn progress_starts_the_count_anew() {
    let bed = Bed::new([]).await;
    let mut claim = bed.claimed().await;
    for _ in 1..=4 {
        book(&bed, &claim, machine(), false).await;
        bed.execute("UPDATE jobs SET run_after = 0").await;
        claim = bed.claim().await;
    }
    assert_eq!(claim.infra_failures, 4);
    book(&bed, &claim, machine(), true).await;
    let job = bed.job(&claim.job).await;
    assert_eq!((job.state, job.infra_failures), (JobState::Ready, 1), "it failed at another step");
}

#[tokio::test]
async fn faults_are_counted_and_refused_requests_are_dead_letters() {
    let bed = Bed::new([]).await;
    let fault = |class| Failure::Fault { class, reason: "because".to_owned() };
    let claim = bed.claimed().await;
    book(&bed, &claim, fault(FaultClass::Truncated), false).await;
    let job = bed.job(&claim.job).await;
    assert_eq!((job.state, job.faults, job.infra_failures), (JobState::Ready, 1, 0));
    let claim = bed.claim().await;
    let workshop = bed.workshop();
    book_in(&bed, &workshop, &claim, fault(FaultClass::BadRequest), false).await;
    let job = bed.job(&claim.job).await;
    assert_eq!((job.state, job.faults, job.infra_failures), (JobState::Ready, 1, 1), "one more try");
    bed.execute("UPDATE jobs SET run_after = 0").await;
    let claim = bed.claim().await;
    book_in(&bed, &workshop, &claim, fault(FaultClass::BadRequest), false).await;
    assert_eq!(bed.job(&claim.job).await.state, JobState::Dead);
}

#[tokio::test]
async fn a_server_that_refuses_everybody_costs_nobody_anything() {
    for class in [FaultClass::BadRequest, FaultClass::SchemaRejected, FaultClass::ContextOverflow] {
        let bed = Bed::new([]).await;
        let workshop = bed.workshop();
        bed.task(Limits::default()).await;
        bed.task(Limits::default()).await;
        let refused = || Failure::Fault { class, reason: "because".to_owned() };
        for _ in 0..7 {
            let both = [bed.claim().await, bed.claim().await];
            for claim in &both {
                book_in(&bed, &workshop, claim, refused(), false).await;
                let job = bed.job(&claim.job).await;
                assert_eq!((job.state, job.faults), (JobState::Ready, 0), "{class}");
            }
            bed.execute("UPDATE jobs SET run_after = 0").await;
        }
        // It answers one of them again: from now on a refusal is the other's own.
        workshop.endpoint.served();
        let other = bed.claim().await;
        book_in(&bed, &workshop, &other, refused(), false).await;
        let job = bed.job(&other.job).await;
        let charged = job.state == JobState::Dead || job.faults == 1;
        assert!(charged, "{class}: {job:?}");
    }
}

#[tokio::test]
async fn a_database_that_fails_is_charged_to_nobody() {
    let bed = Bed::new([]).await;
    bed.task(Limits::default()).await;
    for _ in 0..7 {
        let claim = bed.claim().await;
        book(&bed, &claim, StoreError::Migrating { waited_s: 60 }.into(), false).await;
        let job = bed.job(&claim.job).await;
        assert_eq!((job.state, job.faults, job.infra_failures), (JobState::Ready, 0, 0));
        assert!(job.run_after > claim.claimed_at, "it waits a little");
        bed.execute("UPDATE jobs SET run_after = 0").await;
    }
}

#[tokio::test]
async fn interruptions_cost_nothing() {
    let bed = Bed::new([]).await;
    let mut claim = bed.claimed().await;
    for told in [Interruption::Paused, Interruption::Draining, Interruption::Cut] {
        book(&bed, &claim, Failure::Interrupted(told), false).await;
        let job = bed.job(&claim.job).await;
        assert_eq!((job.state, job.faults, job.infra_failures), (JobState::Ready, 0, 0));
        claim = bed.claim().await;
    }
    let events = bed.log(&claim.job.task).await.len();
    book(&bed, &claim, Failure::Interrupted(Interruption::Lost), false).await;
    assert_eq!(bed.job(&claim.job).await.state, JobState::Running, "a claim that is over writes nothing");
    assert_eq!(bed.log(&claim.job.task).await.len(), events);
    bed.store.ask_cancel(&claim.job.task, "a test").await.unwrap();
    bed.advance(&claim.job.task).await;
    book(&bed, &claim, Failure::Interrupted(Interruption::Stopping), false).await;
    assert_eq!(bed.job(&claim.job).await.state, JobState::Cancelled);
}

#[tokio::test]
async fn a_call_that_waits_for_its_slot_is_not_begun_when_the_worker_drains() {
    let bed = Bed::new([]).await;
    bed.task(Limits::default()).await;
    let claim = bed.claim().await;
    let workshop = bed.workshop();
    let other = workshop.slots.holder();
    let _slot = other.acquire().await;
    let (signal, told) = watch::channel(None);
    let mut context = JobContext::new(claim, &workshop, told, Progress::default()).await.unwrap();
    let asking = context.step("model", &"a", async |context| {
        context.ask::<nightforge_domain::contract::InitScript>(Vec::new()).await
    });
    let drain = async {
        tokio::task::yield_now().await;
        signal.send(Some(Interruption::Draining)).unwrap();
    };
    let (asked, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(5), asking), drain);
    assert_eq!(interruption(asked.expect("it waits on")), Interruption::Draining);
    assert_eq!(bed.model.asked().len(), 0);
}

//! Leases: what the thread tells the executions.

use std::time::{Duration, Instant};

use nightforge_store::ExpiredLease;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::bed::Bed;
use crate::engine::Interruption;
use crate::engine::lease::{Leases, raise};

const LEASE: Duration = Duration::from_secs(3);

async fn told(mut signal: watch::Receiver<Option<Interruption>>, limit: Duration) -> Option<Interruption> {
    let heard = tokio::time::timeout(limit, signal.wait_for(Option::is_some)).await;
    heard.ok().map(|told| told.unwrap().unwrap())
}

#[tokio::test]
async fn a_lease_is_renewed_as_long_as_it_is_held() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let stop = CancellationToken::new();
    let leases = Leases::start(&bed.store, bed.boot.clone(), LEASE, stop.clone()).unwrap();
    bed.execute("UPDATE jobs SET lease_until = 5").await;
    let lease = leases.hold(claim.job.clone(), claim.fence, Instant::now());
    bed.until(&claim.job, |job| job.lease_until.is_some_and(|until| until.0 > 5)).await;
    assert_eq!(told(lease.signal(), Duration::from_millis(10)).await, None);
    drop(lease);
    // A renewal may have been under way when it was dropped.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    bed.execute("UPDATE jobs SET lease_until = 5").await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(
        bed.job(&claim.job).await.lease_until.map(|until| until.0),
        Some(5),
        "dropped, and not renewed any more"
    );
    stop.cancel();
}

#[tokio::test]
async fn a_stopping_task_and_a_paused_one_are_told_within_two_seconds() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let stop = CancellationToken::new();
    let leases = Leases::start(&bed.store, bed.boot.clone(), Duration::from_secs(15), stop.clone()).unwrap();
    let lease = leases.hold(claim.job.clone(), claim.fence, Instant::now());
    bed.store.set_paused(&claim.job.task, true, "a test").await.unwrap();
    assert_eq!(told(lease.signal(), Duration::from_secs(5)).await, Some(Interruption::Paused));
    bed.store.ask_cancel(&claim.job.task, "a test").await.unwrap();
    bed.advance(&claim.job.task).await;
    let mut signal = lease.signal();
    let stopping = signal.wait_for(|told| *told == Some(Interruption::Stopping));
    tokio::time::timeout(Duration::from_secs(5), stopping).await.expect("cancelled").unwrap();
    stop.cancel();
}

#[tokio::test]
async fn a_claim_that_was_swept_is_told() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let stop = CancellationToken::new();
    let leases = Leases::start(&bed.store, bed.boot.clone(), LEASE, stop.clone()).unwrap();
    bed.execute("UPDATE jobs SET lease_until = 5").await;
    let swept = ExpiredLease { job: claim.job.clone(), fence: claim.fence };
    bed.store.sweep_lease(&swept).await.unwrap().expect("swept");
    let lease = leases.hold(claim.job.clone(), claim.fence, Instant::now());
    assert_eq!(told(lease.signal(), LEASE).await, Some(Interruption::Lost));
    stop.cancel();
}

#[tokio::test]
async fn a_lease_is_over_in_time_though_the_database_hangs() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let stop = CancellationToken::new();
    let leases = Leases::start(&bed.store, bed.boot.clone(), LEASE, stop.clone()).unwrap();
    let _locked = bed.lock_database().await;
    let held = Instant::now();
    let lease = leases.hold(claim.job.clone(), claim.fence, held);
    assert_eq!(told(lease.signal(), LEASE * 2).await, Some(Interruption::Lost));
    let after = held.elapsed();
    assert!(after >= LEASE && after < LEASE + Duration::from_millis(900), "{after:?}");
    stop.cancel();
}

#[test]
fn a_weaker_signal_does_not_hide_a_stronger_one() {
    use Interruption::{Cut, Draining, Lost, Paused, Stopping};
    let (signal, told) = watch::channel(None);
    let order = [Paused, Draining, Cut, Stopping, Lost];
    for (place, stronger) in order.into_iter().enumerate() {
        assert!(raise(&signal, stronger));
        for weaker in &order[..=place] {
            assert!(!raise(&signal, *weaker));
        }
        assert_eq!(*told.borrow(), Some(stronger));
    }
}

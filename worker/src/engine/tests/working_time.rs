//! Jobs of a research task are held to what is left of its working time.

use std::time::Duration;

use nightforge_domain::JobSpec;

use super::bed::Bed;
use crate::engine::{Failure, JobContext};

fn out_of_time<T: std::fmt::Debug>(ended: Result<T, Failure>) -> i64 {
    match ended {
        Err(Failure::OutOfTime { working_ms }) => working_ms,
        other => panic!("not out of time: {other:?}"),
    }
}

async fn works_for(context: &mut JobContext, name: &str, ms: u64) -> Result<u32, Failure> {
    context
        .step(name, &"a", async |_| {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(1)
        })
        .await
}

#[tokio::test]
async fn steps_of_earlier_claims_count_and_waiting_for_a_slot_does_not() {
    let bed = Bed::new([]).await;
    let mut claim = bed.claimed().await;
    claim.spec = JobSpec::Manage { iteration: 1, time_left_ms: 300 };
    let (mut context, _signal) = bed.context(claim.clone()).await;
    works_for(&mut context, "one", 100).await.unwrap();
    let waits = async |context: &mut JobContext| {
        context.time.without(tokio::time::sleep(Duration::from_millis(500))).await;
        Ok(2)
    };
    assert_eq!(context.step("two", &"a", waits).await.unwrap(), 2);

    let (mut context, _signal) = bed.context(claim.clone()).await;
    works_for(&mut context, "one", 0).await.unwrap();
    context.step("two", &"a", waits).await.unwrap();
    let spent = out_of_time(works_for(&mut context, "three", 60_000).await);
    assert!((300..1_000).contains(&spent), "{spent}");
    assert_eq!(bed.job(&claim.job).await.steps, 2, "what was cut short is not recorded");
}

#[tokio::test]
async fn no_step_begins_without_time_but_what_is_done_stands() {
    let bed = Bed::new([]).await;
    let mut claim = bed.claimed().await;
    claim.spec = JobSpec::Manage { iteration: 1, time_left_ms: 10_000 };
    let (mut context, _signal) = bed.context(claim.clone()).await;
    works_for(&mut context, "one", 20).await.unwrap();
    claim.spec = JobSpec::Manage { iteration: 1, time_left_ms: 5 };
    let (mut context, _signal) = bed.context(claim).await;
    assert_eq!(works_for(&mut context, "one", 0).await.unwrap(), 1, "it is in the journal");
    assert!(out_of_time(works_for(&mut context, "two", 0).await) >= 20);
}

//! What the leader puts right: leases, deadlines, inputs that nobody looked at; and how renewals keep it away.

use nightforge_domain::{BootId, JobState, Millis, Status};
use nightforge_store::{Claim, Ended, ExpiredLease, Renewal, Swept};

use crate::bed::{Bed, on_every_database};
use crate::work::{LEASE, good_result, model, new_task};

fn lease(claim: &Claim) -> ExpiredLease {
    ExpiredLease { job: claim.job.clone(), fence: claim.fence }
}

async fn sweep(bed: &Bed, claim: &Claim) -> Option<Ended> {
    let swept = bed.store.sweep_lease(&lease(claim)).await.unwrap();
    swept.map(|Swept { model: rung, ended }| {
        assert_eq!(rung, model());
        ended
    })
}

async fn renew(bed: &Bed, boot: &BootId, claim: &Claim) -> Renewal {
    bed.store.renew(boot, &[(claim.job.clone(), claim.fence)], LEASE).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_lease_is_over_one_millisecond_after_its_end() {
    on_every_database(async |bed| {
        let (_, claim, _) = bed.claimed().await;
        bed.pass(LEASE);
        assert!(bed.store.expired_leases(10).await.unwrap().is_empty());
        let before = bed.everything().await;
        assert_eq!(sweep(bed, &claim).await, None);
        assert_eq!(bed.everything().await, before, "a sweep that finds nothing leaves no trace");
        bed.pass(1);
        assert_eq!(bed.store.expired_leases(10).await.unwrap(), [lease(&claim)]);
        assert!(bed.store.expired_leases(0).await.unwrap().is_empty(), "batches are bounded");
    })
    .await;
}

#[tokio::test]
async fn a_slow_worker_that_lives_is_no_death() {
    on_every_database(async |bed| {
        let (task, mut claim, boot) = bed.claimed().await;
        for _ in 0..5 {
            bed.pass(LEASE + 1);
            assert_eq!(sweep(bed, &claim).await, Some(Ended::Ready));
            let row = bed.job(&claim.job).await;
            assert_eq!((row.state, row.deaths, row.faults, row.infra_failures), (JobState::Ready, 0, 0, 0));
            claim = bed.claim(&boot).await.unwrap();
        }
        let events = bed.store.events(&task, 0, 100).await.unwrap();
        let expired = events.iter().find(|event| event.type_name == "lease-expired").unwrap();
        assert_eq!(expired.data["worker_gone"], false);
    })
    .await;
}

#[tokio::test]
async fn the_leases_of_a_process_that_is_gone_end_at_once() {
    on_every_database(async |bed| {
        let (_, claim, boot) = bed.claimed().await;
        bed.store.mark_gone(&boot).await.unwrap();
        assert_eq!(bed.store.expired_leases(10).await.unwrap(), [lease(&claim)]);
        assert_eq!(sweep(bed, &claim).await, Some(Ended::Ready));
        assert_eq!(bed.job(&claim.job).await.deaths, 1);
        let successor = bed.process().await;
        assert!(bed.claim(&successor).await.is_some(), "it runs elsewhere");
    })
    .await;
}

#[tokio::test]
async fn three_deaths_without_a_new_step_are_a_dead_letter() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        for death in 1..=3 {
            let boot = bed.process().await;
            let claim = bed.claim(&boot).await.unwrap();
            bed.store.mark_gone(&boot).await.unwrap();
            let expected = if death < 3 { Ended::Ready } else { Ended::Dead };
            assert_eq!(sweep(bed, &claim).await, Some(expected), "death {death}");
        }
        let inputs = bed.inputs(&task).await;
        assert_eq!(inputs, ["1 submitted: 1", "2 job_died 1: -"]);
        bed.advance(&task).await;
        let row = bed.store.task(&task).await.unwrap();
        assert_eq!(row.status, Status::NeedsReview);
        assert!(row.report.unwrap().contains("died 3 times in a row"));
    })
    .await;
}

#[tokio::test]
async fn a_job_that_makes_progress_may_die_with_its_machine_as_often_as_it_likes() {
    on_every_database(async |bed| {
        bed.started(&new_task()).await;
        let mut ordinal = 0;
        for round in 0..6 {
            let boot = bed.process().await;
            let claim = bed.claim(&boot).await.unwrap();
            // Every third claim makes a step, which ends the row.
            if round % 3 == 2 {
                bed.step(&claim, ordinal).await;
                ordinal += 1;
            }
            bed.store.mark_gone(&boot).await.unwrap();
            assert_eq!(sweep(bed, &claim).await, Some(Ended::Ready), "round {round}");
            assert_eq!(bed.job(&claim.job).await.deaths, [1, 2, 0][round % 3]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_renewal_says_how_things_stand() {
    on_every_database(async |bed| {
        let (task, claim, boot) = bed.claimed().await;
        bed.pass(100);
        assert_eq!(renew(bed, &boot, &claim).await, Renewal::Held);
        assert_eq!(bed.job(&claim.job).await.lease_until, Some(Millis(bed.now() + LEASE)));
        bed.store.set_paused(&task, true, "ada").await.unwrap();
        assert_eq!(renew(bed, &boot, &claim).await, Renewal::Pause);
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.advance(&task).await;
        bed.pass(100);
        assert_eq!(renew(bed, &boot, &claim).await, Renewal::Stop);
        assert_eq!(bed.job(&claim.job).await.lease_until, Some(Millis(bed.now() + LEASE)));
        bed.store.end_cancelled(&claim.job, claim.fence).await.unwrap().unwrap();
        assert_eq!(renew(bed, &boot, &claim).await, Renewal::Lost);
    })
    .await;
}

#[tokio::test]
async fn each_claim_is_renewed_under_its_own_condition() {
    on_every_database(async |bed| {
        let (_, first, boot) = bed.claimed().await;
        bed.started(&new_task()).await;
        let second = bed.claim(&boot).await.unwrap();
        bed.store.finish(&first.job, first.fence, &good_result(&first.spec)).await.unwrap().unwrap();
        let claims = [(first.job, first.fence), (second.job, second.fence)];
        let renewed = bed.store.renew(&boot, &claims, LEASE).await.unwrap();
        assert_eq!(renewed, [Renewal::Lost, Renewal::Held]);
        assert!(bed.store.renew(&boot, &[], LEASE).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_renewal_after_the_end_but_before_the_sweep_keeps_the_job() {
    on_every_database(async |bed| {
        let (_, claim, boot) = bed.claimed().await;
        bed.pass(LEASE * 3);
        let found = bed.store.expired_leases(10).await.unwrap();
        assert_eq!(renew(bed, &boot, &claim).await, Renewal::Held);
        let before = bed.everything().await;
        assert_eq!(bed.store.sweep_lease(&found[0]).await.unwrap(), None, "the sweep lost");
        assert_eq!(bed.everything().await, before);
        bed.step(&claim, 0).await;
    })
    .await;
}

#[tokio::test]
async fn a_sweep_loses_against_a_result() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        bed.pass(LEASE * 3);
        let found = bed.store.expired_leases(10).await.unwrap();
        bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
        let before = bed.everything().await;
        assert_eq!(bed.store.sweep_lease(&found[0]).await.unwrap(), None);
        assert_eq!(bed.everything().await, before);
        assert_eq!(bed.inputs(&task).await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn of_two_leaders_one_sweeps_and_the_next_claim_is_safe_from_both() {
    on_every_database(async |bed| {
        let (_, claim, boot) = bed.claimed().await;
        bed.pass(LEASE + 1);
        let found = bed.store.expired_leases(10).await.unwrap().remove(0);
        assert!(bed.store.sweep_lease(&found).await.unwrap().is_some());
        assert_eq!(bed.store.sweep_lease(&found).await.unwrap(), None);
        let next = bed.claim(&boot).await.unwrap();
        bed.pass(LEASE + 1);
        let before = bed.everything().await;
        assert_eq!(bed.store.sweep_lease(&found).await.unwrap(), None, "it names the old fence");
        assert_eq!(bed.everything().await, before);
        assert_eq!((next.job, next.fence.0), (claim.job, claim.fence.0 + 1));
    })
    .await;
}

#[tokio::test]
async fn a_deadline_is_one_input() {
    on_every_database(async |bed| {
        let mut new = new_task();
        new.deadline = Some(Millis(bed.now() + 100));
        let task = bed.started(&new).await;
        bed.pass(99);
        assert!(bed.store.pass_deadlines(10).await.unwrap().is_empty());
        bed.pass(1);
        assert_eq!(bed.store.pass_deadlines(10).await.unwrap(), std::slice::from_ref(&task));
        assert!(bed.store.pass_deadlines(10).await.unwrap().is_empty());
        assert_eq!(bed.inputs(&task).await, ["1 submitted: 1", "2 deadline_passed: -"]);
        bed.advance(&task).await;
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::NeedsReview);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_is_one_input_also_with_two_leaders() {
    on_every_database(async |bed| {
        let other = bed.store.reopen().await.unwrap();
        for _ in 0..10 {
            let mut new = new_task();
            new.deadline = Some(Millis(bed.now()));
            let task = bed.started(&new).await;
            let (first, second) = tokio::join!(bed.store.pass_deadlines(10), other.pass_deadlines(10));
            assert_eq!(first.unwrap().len() + second.unwrap().len(), 1);
            assert_eq!(bed.inputs(&task).await.len(), 2);
        }
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_task_that_is_over_has_no_deadline() {
    on_every_database(async |bed| {
        let mut new = new_task();
        new.deadline = Some(Millis(bed.now() + 100));
        let task = bed.started(&new).await;
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.advance(&task).await;
        bed.pass(200);
        assert!(bed.store.pass_deadlines(10).await.unwrap().is_empty());
        assert_eq!(bed.rows("SELECT due_at FROM tasks").await, ["-"]);
        assert!(bed.store.pending(&task).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn inputs_that_nobody_looked_at_are_found() {
    on_every_database(async |bed| {
        let first = bed.store.submit(&new_task()).await.unwrap().task;
        bed.pass(1_000);
        let second = bed.store.submit(&new_task()).await.unwrap().task;
        let queued = bed.store.submit(&new_task()).await.unwrap().task;
        for task in [&first, &second] {
            bed.store.ask_cancel(task, "ada").await.unwrap();
        }
        bed.pass(999);
        assert!(bed.store.tasks_with_stale_inputs(2_000, 10).await.unwrap().is_empty());
        bed.pass(1);
        assert_eq!(bed.store.tasks_with_stale_inputs(2_000, 10).await.unwrap(), std::slice::from_ref(&first));
        bed.pass(1_000);
        let both = bed.store.tasks_with_stale_inputs(2_000, 10).await.unwrap();
        assert_eq!(both, [first.clone(), second.clone()]);
        assert_eq!(bed.store.tasks_with_stale_inputs(2_000, 1).await.unwrap(), std::slice::from_ref(&first));
        bed.advance(&first).await;
        assert_eq!(bed.store.tasks_with_stale_inputs(2_000, 10).await.unwrap(), [second]);
        let waiting = bed.store.queued_tasks(10).await.unwrap();
        assert!(waiting.contains(&queued), "a task that only waits for admission is not stale, but queued");
    })
    .await;
}

#[tokio::test]
async fn a_process_that_comes_back_is_judged_by_its_leases_again() {
    on_every_database(async |bed| {
        let (_, claim, boot) = bed.claimed().await;
        bed.pass(10);
        assert_eq!(renew(bed, &boot, &claim).await, Renewal::Held);
        bed.store.mark_gone(&boot).await.unwrap();
        assert!(bed.store.live_processes().await.unwrap().is_empty());
        bed.store.heartbeat(&boot).await.unwrap();
        let live = bed.store.live_processes().await.unwrap();
        assert_eq!((live[0].boot.clone(), live[0].heartbeat_at), (boot, Millis(bed.now())));
        assert_eq!(sweep(bed, &claim).await, None);
        bed.step(&claim, 0).await;
    })
    .await;
}

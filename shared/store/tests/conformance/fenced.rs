//! A claim that is over can write nothing, whichever write it tries and however it was lost.

use nightforge_domain::fault::FaultClass;
use nightforge_domain::research::SourceId;
use nightforge_domain::{BootId, Event, JobNo, TaskId};
use nightforge_store::{Claim, ExpiredLease, HandBack, Lost, Renewal, Store};

use crate::bed::{Bed, on_every_database};
use crate::sources::{hit, page};
use crate::work::{LEASE, good_result, step};

/// Tries every write of a claim; says which of them were not refused.
async fn writes_that_pass(store: &Store, claim: &Claim, boot: &BootId) -> Vec<&'static str> {
    let (job, fence) = (&claim.job, claim.fence);
    let why = HandBack { reason: "late".to_owned(), delay_ms: 0, infrastructure: true };
    let refused = [
        ("record_step", store.record_step(job, fence, &step(1), &[told()]).await.unwrap() == Err(Lost)),
        ("record_sources", store.record_sources(job, fence, &[hit("b")]).await.unwrap() == Err(Lost)),
        ("record_page", store.record_page(job, fence, SourceId(1), &page("b")).await.unwrap() == Err(Lost)),
        ("finish", store.finish(job, fence, &good_result(&claim.spec)).await.unwrap() == Err(Lost)),
        ("hand_back", store.hand_back(job, fence, &why).await.unwrap() == Err(Lost)),
        ("fault", store.fault(job, fence, FaultClass::Truncated, "late", 0).await.unwrap() == Err(Lost)),
        ("bury", store.bury(job, fence, "late").await.unwrap() == Err(Lost)),
        ("end_cancelled", store.end_cancelled(job, fence).await.unwrap() == Err(Lost)),
        ("cut_journal", store.cut_journal(job, fence, 0, "late").await.unwrap() == Err(Lost)),
        ("renew", store.renew(boot, &[(job.clone(), fence)], LEASE).await.unwrap() == [Renewal::Lost]),
    ];
    refused.into_iter().filter(|(_, refused)| !refused).map(|(name, _)| name).collect()
}

/// An event that belongs to a step.
pub(crate) fn told() -> Event {
    let (tool, subject, outcome) = ("search".to_owned(), "tides".to_owned(), "1 hit".to_owned());
    Event::ToolCalled { job: JobNo(1), tool, subject, outcome }
}

/// A claim with one journaled step and one source.
async fn at_work(bed: &Bed) -> (TaskId, Claim, BootId) {
    let (task, claim, boot) = bed.claimed().await;
    bed.step(&claim, 0).await;
    bed.store.record_sources(&claim.job, claim.fence, &[hit("a")]).await.unwrap().unwrap();
    (task, claim, boot)
}

/// A claim with one journaled step, and what is done to it before it tries to write.
async fn all_is_refused_after(lose: impl AsyncFn(&Bed, &TaskId, &Claim)) {
    on_every_database(async |bed| {
        let (task, claim, boot) = at_work(bed).await;
        lose(bed, &task, &claim).await;
        bed.pass(5);
        let before = bed.everything().await;
        let passed = writes_that_pass(&bed.store, &claim, &boot).await;
        assert_eq!(passed, Vec::<&str>::new(), "these were not refused");
        assert_eq!(bed.everything().await, before, "a refused write leaves no trace");
    })
    .await;
}

async fn sweep(bed: &Bed, claim: &Claim) {
    bed.pass(LEASE + 1);
    let lease = ExpiredLease { job: claim.job.clone(), fence: claim.fence };
    assert_eq!(bed.store.expired_leases(10).await.unwrap(), std::slice::from_ref(&lease));
    assert!(bed.store.sweep_lease(&lease).await.unwrap().is_some());
}

#[tokio::test]
async fn after_the_sweep() {
    all_is_refused_after(async |bed, _, claim| sweep(bed, claim).await).await;
}

#[tokio::test]
async fn after_another_worker_took_the_job() {
    all_is_refused_after(async |bed, _, claim| {
        sweep(bed, claim).await;
        let successor = bed.process().await;
        assert!(bed.claim(&successor).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn after_the_same_process_took_the_job_again() {
    all_is_refused_after(async |bed, _, claim| {
        sweep(bed, claim).await;
        let boot = bed.rows("SELECT boot_id FROM processes").await.remove(0).parse().unwrap();
        let again = bed.claim(&boot).await.unwrap();
        bed.step(&again, 1).await;
    })
    .await;
}

#[tokio::test]
async fn after_the_job_was_done() {
    all_is_refused_after(async |bed, task, claim| {
        let result = good_result(&claim.spec);
        bed.store.finish(&claim.job, claim.fence, &result).await.unwrap().unwrap();
        bed.advance(task).await;
    })
    .await;
}

#[tokio::test]
async fn after_the_task_was_cancelled_and_the_job_swept() {
    all_is_refused_after(async |bed, task, claim| {
        bed.store.ask_cancel(task, "ada").await.unwrap();
        bed.advance(task).await;
        sweep(bed, claim).await;
        bed.advance(task).await;
    })
    .await;
}

#[tokio::test]
async fn after_a_dead_letter_was_retried_while_its_old_worker_lived() {
    all_is_refused_after(async |bed, task, claim| {
        bed.store.bury(&claim.job, claim.fence, "poison").await.unwrap().unwrap();
        bed.advance(task).await;
        bed.store.ask_retry(task, None, "ada").await.unwrap();
        bed.advance(task).await;
        assert_eq!(bed.jobs(task).await, ["1 initialize ready"]);
        let successor = bed.process().await;
        assert!(bed.claim(&successor).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn a_live_claim_is_not_refused() {
    // Proof that the checks above can fail.
    on_every_database(async |bed| {
        let (_, claim, boot) = at_work(bed).await;
        let passed = writes_that_pass(&bed.store, &claim, &boot).await;
        assert_eq!(passed, ["record_step", "record_sources", "record_page", "finish"]);
    })
    .await;
}

#[tokio::test]
async fn another_process_cannot_renew_a_claim() {
    on_every_database(async |bed| {
        let (_, claim, _) = bed.claimed().await;
        let stranger = bed.process().await;
        bed.pass(5);
        let before = bed.everything().await;
        let renewed = bed.store.renew(&stranger, &[(claim.job.clone(), claim.fence)], LEASE).await.unwrap();
        assert_eq!(renewed, [Renewal::Lost]);
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn a_step_is_recorded_once_and_without_gap() {
    on_every_database(async |bed| {
        let (_, claim, _) = bed.claimed().await;
        bed.step(&claim, 0).await;
        let before = bed.everything().await;
        let gap = bed.store.record_step(&claim.job, claim.fence, &step(2), &[]).await.unwrap();
        assert_eq!(gap, Err(Lost));
        let another = nightforge_domain::Step { input_hash: "another".to_owned(), ..step(0) };
        assert_eq!(bed.store.record_step(&claim.job, claim.fence, &another, &[]).await.unwrap(), Err(Lost));
        let again = bed.store.record_step(&claim.job, claim.fence, &step(0), &[]).await.unwrap();
        assert_eq!(again, Ok(()), "the answer to the first commit may have been lost");
        assert_eq!(bed.everything().await, before);
        bed.step(&claim, 1).await;
        assert_eq!(bed.store.record_step(&claim.job, claim.fence, &step(0), &[]).await.unwrap(), Err(Lost));
    })
    .await;
}

#[tokio::test]
async fn the_events_of_a_step_are_written_with_it_and_once() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        let before = bed.events(&task).await;
        let record = async |ordinal, events: &[Event]| {
            bed.store.record_step(&claim.job, claim.fence, &step(ordinal), events).await.unwrap()
        };
        record(0, &[told(), told()]).await.unwrap();
        let after = bed.events(&task).await;
        assert_eq!(after, [before, vec!["tool-called".to_owned(); 2]].concat());
        // The answer to the commit was lost, so the step is recorded again.
        record(0, &[told(), told()]).await.unwrap();
        assert_eq!(record(2, &[told()]).await, Err(Lost), "a gap");
        assert_eq!(bed.events(&task).await, after);
        record(1, &[]).await.unwrap();
        assert_eq!(record(0, &[told()]).await, Err(Lost), "not the last one");
        assert_eq!(bed.events(&task).await, after);
    })
    .await;
}

#[tokio::test]
async fn without_its_event_there_is_no_step() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        // The number that the event would get is taken.
        let taken = format!("FROM events WHERE task_id = '{task}' AND type = 'in-the-way'");
        bed.execute(&format!(
            "INSERT INTO events (task_id, number, type, at, data)
             SELECT id, next_event, 'in-the-way', 0, 'null' FROM tasks WHERE id = '{task}'"
        ))
        .await;
        let before = bed.everything().await;
        bed.store.record_step(&claim.job, claim.fence, &step(0), &[told()]).await.unwrap_err();
        assert_eq!(bed.everything().await, before);
        bed.execute(&format!("DELETE {taken}")).await;
        bed.store.record_step(&claim.job, claim.fence, &step(0), &[told()]).await.unwrap().unwrap();
        assert_eq!(bed.events(&task).await.last().unwrap(), "tool-called");
    })
    .await;
}

#[tokio::test]
async fn a_journal_is_cut_from_a_step_on_and_goes_on_from_there() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        for ordinal in 0..4 {
            bed.step(&claim, ordinal).await;
        }
        let before = bed.everything().await;
        let beyond = bed.store.cut_journal(&claim.job, claim.fence, 5, "prompt changed").await.unwrap();
        assert_eq!(beyond, Err(Lost));
        assert_eq!(bed.everything().await, before);
        bed.store.cut_journal(&claim.job, claim.fence, 2, "prompt changed").await.unwrap().unwrap();
        let ordinals = async || -> Vec<u32> {
            bed.store.journal(&claim.job).await.unwrap().iter().map(|step| step.ordinal).collect()
        };
        assert_eq!((ordinals().await, bed.job(&claim.job).await.steps), (vec![0, 1], 2));
        assert_eq!(bed.events(&task).await.last().unwrap(), "journal-cut");
        bed.step(&claim, 2).await;
        assert_eq!(ordinals().await, [0, 1, 2]);
    })
    .await;
}

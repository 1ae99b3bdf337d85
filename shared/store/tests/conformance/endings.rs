//! How a job ends: by whatever hand, with exactly one input for its task.

use nightforge_domain::fault::FaultClass;
use nightforge_domain::{Event, Fence, JobState, Status, TaskId};
use nightforge_store::{Claim, Ended, ExpiredLease, HandBack, Lost};

use crate::bed::{Bed, on_every_database};
use crate::work::{LEASE, good_result, job};

fn drain() -> HandBack {
    HandBack { reason: "drain".to_owned(), delay_ms: 0, infrastructure: false }
}

fn server_down() -> HandBack {
    HandBack { reason: "server down".to_owned(), delay_ms: 0, infrastructure: true }
}

/// Ends a claimed job, and looks at what became of it, its inputs and the last event.
async fn ending(end: impl AsyncFn(&Bed, &Claim), state: JobState, inputs: &[&str], event: &str) {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        end(bed, &claim).await;
        let row = bed.job(&claim.job).await;
        assert_eq!(row.state, state);
        assert_eq!((row.boot, row.lease_until), (None, None), "nobody holds it");
        assert_eq!(row.finished_at.is_some(), state != JobState::Ready);
        assert_eq!(bed.inputs(&task).await, inputs);
        assert_eq!(bed.events(&task).await.last().unwrap(), event);
    })
    .await;
}

#[tokio::test]
async fn a_result_is_one_input() {
    let end = async |bed: &Bed, claim: &Claim| {
        bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
    };
    ending(end, JobState::Done, &["1 submitted: 1", "2 job_done 1: -"], "job-done").await;
}

#[tokio::test]
async fn a_job_that_is_handed_back_is_ready_and_no_input() {
    let end = async |bed: &Bed, claim: &Claim| {
        let ended = bed.store.hand_back(&claim.job, claim.fence, &drain()).await.unwrap();
        assert_eq!(ended, Ok(Ended::Ready));
    };
    ending(end, JobState::Ready, &["1 submitted: 1"], "job-handed-back").await;
}

#[tokio::test]
async fn a_fault_that_is_not_the_last_is_no_input() {
    let end = async |bed: &Bed, claim: &Claim| {
        let ended = bed.store.fault(&claim.job, claim.fence, FaultClass::Refusal, "no", 1).await.unwrap();
        assert_eq!(ended, Ok(Ended::Ready));
    };
    ending(end, JobState::Ready, &["1 submitted: 1"], "job-fault").await;
}

#[tokio::test]
async fn the_last_fault_is_one_input() {
    let end = async |bed: &Bed, claim: &Claim| {
        let ended = bed.store.fault(&claim.job, claim.fence, FaultClass::Refusal, "no", 0).await.unwrap();
        assert_eq!(ended, Ok(Ended::Failed));
    };
    ending(end, JobState::Failed, &["1 submitted: 1", "2 job_failed 1: -"], "job-failed").await;
}

#[tokio::test]
async fn a_dead_letter_is_one_input() {
    let end = async |bed: &Bed, claim: &Claim| {
        assert_eq!(bed.store.bury(&claim.job, claim.fence, "poison").await.unwrap(), Ok(Ended::Dead));
    };
    ending(end, JobState::Dead, &["1 submitted: 1", "2 job_died 1: -"], "job-died").await;
}

/// Ends a claimed job of a task that is stopping: it becomes cancelled, and its task is over.
async fn ending_while_stopping(end: impl AsyncFn(&Bed, &Claim)) {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.advance(&task).await;
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::Running, "the job is still awaited");
        end(bed, &claim).await;
        assert_eq!(bed.job(&claim.job).await.state, JobState::Cancelled);
        let inputs = bed.inputs(&task).await;
        assert_eq!(inputs[2..], ["3 job_cancelled 1: -"]);
        assert_eq!(bed.events(&task).await.last().unwrap(), "job-cancelled");
        bed.advance(&task).await;
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::Cancelled);
    })
    .await;
}

#[tokio::test]
async fn handed_back_while_stopping_is_cancelled() {
    ending_while_stopping(async |bed, claim| {
        let ended = bed.store.hand_back(&claim.job, claim.fence, &drain()).await.unwrap();
        assert_eq!(ended, Ok(Ended::Cancelled));
    })
    .await;
}

#[tokio::test]
async fn a_fault_while_stopping_is_cancelled() {
    for max_retries in [0, 5] {
        ending_while_stopping(async |bed, claim| {
            let class = FaultClass::Truncated;
            let ended = bed.store.fault(&claim.job, claim.fence, class, "cut", max_retries).await.unwrap();
            assert_eq!(ended, Ok(Ended::Cancelled));
        })
        .await;
    }
}

#[tokio::test]
async fn buried_while_stopping_is_cancelled() {
    ending_while_stopping(async |bed, claim| {
        assert_eq!(bed.store.bury(&claim.job, claim.fence, "poison").await.unwrap(), Ok(Ended::Cancelled));
    })
    .await;
}

#[tokio::test]
async fn ended_while_stopping_is_cancelled() {
    ending_while_stopping(async |bed, claim| {
        assert_eq!(bed.store.end_cancelled(&claim.job, claim.fence).await.unwrap(), Ok(()));
    })
    .await;
}

#[tokio::test]
async fn swept_while_stopping_is_cancelled_also_when_its_worker_died() {
    for gone in [false, true] {
        ending_while_stopping(async |bed, claim| {
            if gone {
                bed.execute("UPDATE processes SET gone = 1").await;
            }
            bed.pass(LEASE + 1);
            let lease = ExpiredLease { job: claim.job.clone(), fence: claim.fence };
            assert_eq!(bed.store.sweep_lease(&lease).await.unwrap().unwrap().ended, Ended::Cancelled);
        })
        .await;
    }
}

#[tokio::test]
async fn a_result_that_comes_while_stopping_is_recorded() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.advance(&task).await;
        bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
        bed.advance(&task).await;
        let row = bed.store.task(&task).await.unwrap();
        assert_eq!((row.status, bed.job(&claim.job).await.state), (Status::Cancelled, JobState::Done));
        assert_eq!(row.state.build().unwrap().features.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_result_that_came_before_the_cancel_counts_first() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let task = bed.started(&crate::work::new_task()).await;
        while let Some(claim) = bed.claim(&boot).await {
            bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
            if claim.spec.kind() == "verify" {
                bed.store.ask_cancel(&task, "ada").await.unwrap();
            }
            bed.advance(&task).await;
        }
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::Completed);
    })
    .await;
}

#[tokio::test]
async fn a_job_whose_task_is_not_stopping_cannot_be_ended_as_cancelled() {
    on_every_database(async |bed| {
        let (_, claim, _) = bed.claimed().await;
        let before = bed.everything().await;
        assert_eq!(bed.store.end_cancelled(&claim.job, claim.fence).await.unwrap(), Err(Lost));
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn a_job_fails_after_one_fault_more_than_its_retries() {
    on_every_database(async |bed| {
        let (task, mut claim, boot) = bed.claimed().await;
        for fault in 1..=2 {
            // Steps in between take nothing back.
            bed.step(&claim, fault - 1).await;
            let ended =
                bed.store.fault(&claim.job, claim.fence, FaultClass::Truncated, "cut", 2).await.unwrap();
            assert_eq!((ended, bed.job(&claim.job).await.faults), (Ok(Ended::Ready), fault));
            claim = bed.claim(&boot).await.unwrap();
        }
        let ended = bed.store.fault(&claim.job, claim.fence, FaultClass::Refusal, "no", 2).await.unwrap();
        assert_eq!(ended, Ok(Ended::Failed));
        let row = bed.job(&claim.job).await;
        assert_eq!((row.state, row.faults, row.last_error.as_deref()), (JobState::Failed, 3, Some("no")));
        let events = bed.store.events(&task, 0, 100).await.unwrap();
        let last =
            Event::JobFailed { job: claim.job.no, class: FaultClass::Refusal, reason: "no".to_owned() };
        assert_eq!(
            (events.last().unwrap().type_name.clone(), events.last().unwrap().data.clone()),
            last.parts()
        );
        bed.advance(&task).await;
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::Failed);
    })
    .await;
}

#[tokio::test]
async fn infrastructure_failures_in_a_row_end_with_a_step() {
    on_every_database(async |bed| {
        let (_, mut claim, boot) = bed.claimed().await;
        for failures in 1..=3 {
            bed.store.hand_back(&claim.job, claim.fence, &server_down()).await.unwrap().unwrap();
            claim = bed.claim(&boot).await.unwrap();
            assert_eq!(claim.infra_failures, failures);
        }
        bed.store.hand_back(&claim.job, claim.fence, &drain()).await.unwrap().unwrap();
        claim = bed.claim(&boot).await.unwrap();
        assert_eq!(claim.infra_failures, 3, "a drain is no failure, and no end of a row either");
        bed.step(&claim, 0).await;
        let row = bed.job(&claim.job).await;
        assert_eq!((row.infra_failures, row.faults), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn words_of_programs_may_hold_anything() {
    on_every_database(async |bed| {
        let (task, claim, boot) = bed.claimed().await;
        let rubbish = "a\0b \u{1b}[31m 'quoted' \"é\" \u{fffe}";
        let step = nightforge_domain::Step { output: serde_json::json!(rubbish), ..crate::work::step(0) };
        bed.store.record_step(&claim.job, claim.fence, &step, &[]).await.unwrap().unwrap();
        assert_eq!(
            bed.store.journal(&claim.job).await.unwrap()[0].output,
            rubbish,
            "a journal changes nothing"
        );
        let why = HandBack { reason: rubbish.to_owned(), delay_ms: 0, infrastructure: false };
        bed.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
        assert!(bed.job(&claim.job).await.last_error.unwrap().starts_with("a\u{fffd}b"));
        let claim = bed.claim(&boot).await.unwrap();
        bed.store.bury(&claim.job, claim.fence, rubbish).await.unwrap().unwrap();
        bed.advance(&task).await;
        let row = bed.store.task(&task).await.unwrap();
        assert!(row.status.is_final() && row.report.unwrap().contains("a\u{fffd}b"));
    })
    .await;
}

/// The task's one job is ready again as new, but for its journal and its fence.
async fn revived(bed: &Bed, task: &TaskId, fence: Fence) {
    bed.store.ask_retry(task, None, "ada").await.unwrap();
    bed.advance(task).await;
    let row = bed.job(&job(task, 1)).await;
    assert_eq!((row.state, row.fence), (JobState::Ready, Fence(fence.0 + 1)));
    assert_eq!((row.faults, row.deaths, row.infra_failures, row.finished_at), (0, 0, 0, None));
    assert_eq!(bed.store.journal(&job(task, 1)).await.unwrap().len(), 1);
    let boot = bed.process().await;
    let claim = bed.claim(&boot).await.unwrap();
    assert_eq!((claim.fence, claim.steps), (Fence(fence.0 + 2), 1));
    bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
    bed.advance(task).await;
    assert_eq!(bed.store.task(task).await.unwrap().phase, "CODING F001");
}

#[tokio::test]
async fn a_dead_letter_is_revived_with_its_journal() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        bed.step(&claim, 0).await;
        bed.store.bury(&claim.job, claim.fence, "poison").await.unwrap().unwrap();
        bed.advance(&task).await;
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::NeedsReview);
        revived(bed, &task, claim.fence).await;
    })
    .await;
}

#[tokio::test]
async fn a_failed_job_is_revived_with_its_journal() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        bed.step(&claim, 0).await;
        bed.store.fault(&claim.job, claim.fence, FaultClass::Refusal, "no", 0).await.unwrap().unwrap();
        bed.advance(&task).await;
        revived(bed, &task, claim.fence).await;
    })
    .await;
}

#[tokio::test]
async fn a_job_that_ended_with_its_task_is_revived_with_its_journal() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let mut new = crate::work::new_task();
        new.deadline = Some(nightforge_domain::Millis(bed.now() + 1));
        let task = bed.started(&new).await;
        let claim = bed.claim(&boot).await.unwrap();
        bed.step(&claim, 0).await;
        bed.pass(1);
        assert_eq!(bed.store.pass_deadlines(10).await.unwrap(), std::slice::from_ref(&task));
        bed.advance(&task).await;
        bed.store.end_cancelled(&claim.job, claim.fence).await.unwrap().unwrap();
        bed.advance(&task).await;
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::NeedsReview);
        revived(bed, &task, claim.fence).await;
    })
    .await;
}

#[tokio::test]
async fn a_ready_job_of_a_cancelled_task_ends_in_the_transition() {
    on_every_database(async |bed| {
        let (task, claim, boot) = bed.claimed().await;
        bed.store.hand_back(&claim.job, claim.fence, &drain()).await.unwrap().unwrap();
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.advance(&task).await;
        assert_eq!(bed.job(&claim.job).await.state, JobState::Cancelled);
        let inputs = ["1 submitted: 1", "2 cancel: 2", "3 job_cancelled 1: 3"];
        assert_eq!(bed.inputs(&task).await, inputs);
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::Cancelled);
        assert!(bed.claim(&boot).await.is_none());
    })
    .await;
}

//! Dead letters: listed, retried, dismissed.

use nightforge_domain::state::RetryRefusal;
use nightforge_domain::{JobNo, JobState, Kind, Millis, Status, TaskId};
use nightforge_store::{AskError, DeadFilter, DeadLetter, DropError, ExpiredLease};

use crate::bed::{Bed, on_every_database};
use crate::work::{good_result, job, new_task};

/// A task whose first job died of `reason`.
async fn dead(bed: &Bed, reason: &str) -> TaskId {
    let (task, claim, _) = bed.claimed().await;
    bed.store.bury(&claim.job, claim.fence, reason).await.unwrap().unwrap();
    bed.advance(&task).await;
    bed.pass(1);
    task
}

async fn listed(bed: &Bed, filter: DeadFilter) -> Vec<TaskId> {
    let letters = bed.store.dead_letters(&DeadFilter { limit: 10, ..filter }).await.unwrap();
    letters.into_iter().map(|letter| letter.job.task).collect()
}

#[tokio::test]
async fn dead_letters_are_listed_latest_first() {
    on_every_database(async |bed| {
        let at = Millis(bed.now());
        let first = dead(bed, "poison").await;
        let second = dead(bed, "other poison").await;
        assert_eq!(listed(bed, DeadFilter::default()).await, [second.clone(), first.clone()]);
        let of_first = DeadFilter { task: Some(first.clone()), limit: 10, ..DeadFilter::default() };
        let letter = DeadLetter {
            job: job(&first, 1),
            kind: "initialize".to_owned(),
            agent: Some("initializer".to_owned()),
            model: "m".to_owned(),
            reason: "poison".to_owned(),
            died_at: at,
            task_kind: Kind::Build,
            task_status: Status::NeedsReview,
            dropped_by: None,
        };
        assert_eq!(bed.store.dead_letters(&of_first).await.unwrap(), [letter]);
        let of_model = |model: &str| DeadFilter { model: Some(model.to_owned()), ..DeadFilter::default() };
        assert_eq!(listed(bed, of_model("m")).await.len(), 2);
        assert!(listed(bed, of_model("other")).await.is_empty());
        let one = DeadFilter { limit: 1, ..DeadFilter::default() };
        assert_eq!(bed.store.dead_letters(&one).await.unwrap()[0].job.task, second);
    })
    .await;
}

#[tokio::test]
async fn the_reason_is_there_however_the_job_died() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        for _ in 0..3 {
            let boot = bed.process().await;
            let claim = bed.claim(&boot).await.unwrap();
            bed.store.mark_gone(&boot).await.unwrap();
            let lease = ExpiredLease { job: claim.job, fence: claim.fence };
            bed.store.sweep_lease(&lease).await.unwrap().unwrap();
        }
        let boot = bed.process().await;
        let unreadable = bed.started(&new_task()).await;
        bed.execute(&format!(
            "UPDATE jobs SET spec = '{{\"kind\":\"dream\"}}' WHERE task_id = '{unreadable}'"
        ))
        .await;
        assert!(bed.claim(&boot).await.is_none());
        let all = DeadFilter { limit: 10, ..DeadFilter::default() };
        for letter in bed.store.dead_letters(&all).await.unwrap() {
            let (agent, reason) = if letter.job.task == task {
                (Some("initializer"), "its worker died 3 times in a row")
            } else {
                (None, "unknown variant `dream`")
            };
            assert_eq!(letter.agent.as_deref(), agent);
            assert!(letter.reason.contains(reason), "{letter:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_retried_dead_letter_is_none() {
    on_every_database(async |bed| {
        let task = dead(bed, "poison").await;
        let refused = bed.store.ask_retry(&task, Some(JobNo(2)), "ada").await.unwrap_err();
        let expected = RetryRefusal::NotThatJob { job: JobNo(2), can: vec![JobNo(1)] };
        assert!(matches!(&refused, AskError::Retry(refusal) if *refusal == expected), "{refused}");
        bed.store.ask_retry(&task, Some(JobNo(1)), "ada").await.unwrap();
        bed.advance(&task).await;
        assert!(listed(bed, DeadFilter::default()).await.is_empty());
        assert_eq!(bed.jobs(&task).await, ["1 initialize ready"]);
        let refused = bed.store.ask_retry(&task, None, "ada").await.unwrap_err();
        assert!(matches!(refused, AskError::Retry(RetryRefusal::AtWork(Status::Running))), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn a_task_that_is_cancelled_or_completed_is_not_retried_and_nothing_is_written() {
    on_every_database(async |bed| {
        let cancelled = dead(bed, "poison").await;
        bed.store.ask_retry(&cancelled, None, "ada").await.unwrap();
        bed.advance(&cancelled).await;
        bed.store.ask_cancel(&cancelled, "ada").await.unwrap();
        bed.advance(&cancelled).await;
        let (completed, claim, boot) = bed.claimed().await;
        let mut next = Some(claim);
        while let Some(claim) = next {
            bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
            bed.advance(&completed).await;
            next = bed.claim(&boot).await;
        }
        let before = bed.everything().await;
        for (task, expected) in [(cancelled, RetryRefusal::Cancelled), (completed, RetryRefusal::Completed)] {
            let refused = bed.store.ask_retry(&task, None, "ada").await.unwrap_err();
            assert!(matches!(&refused, AskError::Retry(refusal) if *refusal == expected), "{refused}");
        }
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn a_dismissed_dead_letter_stays_in_the_history_only() {
    on_every_database(async |bed| {
        let task = dead(bed, "poison").await;
        assert!(bed.store.drop_dead_letter(&job(&task, 1), "ada").await.unwrap());
        assert!(!bed.store.drop_dead_letter(&job(&task, 1), "bob").await.unwrap(), "nothing changed");
        assert!(listed(bed, DeadFilter::default()).await.is_empty());
        let all = DeadFilter { dropped: true, limit: 10, ..DeadFilter::default() };
        assert_eq!(bed.store.dead_letters(&all).await.unwrap()[0].dropped_by.as_deref(), Some("ada"));
        assert_eq!(bed.events(&task).await.last().unwrap(), "dead-letter-dropped");
        assert_eq!(bed.jobs(&task).await, ["1 initialize dead"]);
        // Whoever retries the task itself takes it up again, as new.
        bed.store.ask_retry(&task, None, "ada").await.unwrap();
        bed.advance(&task).await;
        assert_eq!(bed.rows("SELECT state, dropped_by, dropped_at FROM jobs").await, ["ready | - | -"]);
    })
    .await;
}

#[tokio::test]
async fn only_dead_letters_are_dismissed() {
    on_every_database(async |bed| {
        let (task, _, _) = bed.claimed().await;
        let before = bed.everything().await;
        let refused = bed.store.drop_dead_letter(&job(&task, 1), "ada").await.unwrap_err();
        assert!(matches!(refused, DropError::NotDead(_, JobState::Running)), "{refused}");
        let refused = bed.store.drop_dead_letter(&job(&task, 2), "ada").await.unwrap_err();
        assert!(matches!(refused, DropError::NoJob(_)), "{refused}");
        let stranger = job(&nightforge_store::fresh_id(), 1);
        let refused = bed.store.drop_dead_letter(&stranger, "ada").await.unwrap_err();
        assert!(matches!(refused, DropError::Store(_)), "{refused}");
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

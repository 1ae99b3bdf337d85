//! Transitions: committed once, whole or not at all.

use nightforge_domain::{Millis, Status};
use nightforge_store::{AskError, StoreError};

use crate::bed::on_every_database;
use crate::work::{answer, good_result, model, new_task};

#[tokio::test]
async fn a_transition_commits_state_events_and_jobs_and_consumes_its_input() {
    on_every_database(async |bed| {
        let task = bed.store.submit(&new_task()).await.unwrap().task;
        let pending = bed.store.pending(&task).await.unwrap().unwrap();
        let committed =
            bed.store.commit(&pending, &answer(&pending, Millis(bed.now()))).await.unwrap().unwrap();
        assert_eq!((committed.seq, committed.ring), (1, vec![model()]));
        let row = bed.store.task(&task).await.unwrap();
        assert_eq!((row.seq, row.status, row.phase.as_str()), (1, Status::Running, "INITIALIZING"));
        assert_eq!(bed.inputs(&task).await, ["1 submitted: 1"]);
        assert_eq!(bed.jobs(&task).await, ["1 initialize ready"]);
        let events = ["task-submitted", "job-created", "phase-changed", "status-changed"];
        assert_eq!(bed.events(&task).await, events);
        assert!(bed.store.pending(&task).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn inputs_are_answered_in_the_order_of_their_numbers() {
    on_every_database(async |bed| {
        let task = bed.store.submit(&new_task()).await.unwrap().task;
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.store.ask_cancel(&task, "bob").await.unwrap();
        bed.advance(&task).await;
        let inputs = ["1 submitted: 1", "2 cancel: 2", "3 cancel: 3", "4 job_cancelled 1: 4"];
        assert_eq!(bed.inputs(&task).await, inputs);
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::Cancelled);
        assert_eq!(bed.jobs(&task).await, ["1 initialize cancelled"]);
    })
    .await;
}

#[tokio::test]
async fn a_scheduler_that_was_slower_writes_nothing() {
    on_every_database(async |bed| {
        let task = bed.store.submit(&new_task()).await.unwrap().task;
        let slow = bed.store.pending(&task).await.unwrap().unwrap();
        bed.advance(&task).await;
        let before = bed.everything().await;
        let lost = bed.store.commit(&slow, &answer(&slow, Millis(bed.now()))).await.unwrap();
        assert_eq!(lost, None);
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn a_task_that_changed_after_it_was_read_is_read_again() {
    on_every_database(async |bed| {
        // Read the task, then, after another scheduler's transition, the input: it waits, but for a newer state.
        let task = bed.store.submit(&new_task()).await.unwrap().task;
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        let first = bed.store.pending(&task).await.unwrap().unwrap();
        bed.store.commit(&first, &answer(&first, Millis(bed.now()))).await.unwrap().unwrap();
        let mut slow = bed.store.pending(&task).await.unwrap().unwrap();
        assert_eq!(slow.number, 2);
        slow.task = first.task;
        let before = bed.everything().await;
        assert_eq!(bed.store.commit(&slow, &answer(&slow, Millis(bed.now()))).await.unwrap(), None);
        assert_eq!(bed.everything().await, before);
        // The state is right, but the input has been consumed.
        slow.task = bed.store.task(&task).await.unwrap();
        slow.number = 1;
        let before = bed.everything().await;
        assert_eq!(bed.store.commit(&slow, &answer(&slow, Millis(bed.now()))).await.unwrap(), None);
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_schedulers_at_the_same_time_one_commits() {
    on_every_database(async |bed| {
        let other = bed.store.reopen().await.unwrap();
        for _ in 0..10 {
            let task = bed.store.submit(&new_task()).await.unwrap().task;
            let pending = bed.store.pending(&task).await.unwrap().unwrap();
            let transition = answer(&pending, Millis(bed.now()));
            let (first, second) =
                tokio::join!(bed.store.commit(&pending, &transition), other.commit(&pending, &transition));
            let committed = [first.unwrap(), second.unwrap()].into_iter().flatten().count();
            assert_eq!(committed, 1);
            assert_eq!(bed.jobs(&task).await.len(), 1);
            bed.events(&task).await;
        }
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn an_illegal_input_is_consumed_and_does_not_block_the_next() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        bed.execute(&format!(
            "INSERT INTO inputs (task_id, number, body, created_at) VALUES ('{task}', 2, '{{\"input\":\"submitted\"}}', 0)"
        ))
        .await;
        bed.execute(&format!("UPDATE tasks SET next_input = 3 WHERE id = '{task}'")).await;
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.advance(&task).await;
        assert_eq!(bed.store.task(&task).await.unwrap().status, Status::Cancelled);
        assert!(bed.events(&task).await.contains(&"illegal-input".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn a_task_is_finished_once() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let task = bed.started(&new_task()).await;
        while let Some(claim) = bed.claim(&boot).await {
            bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
            bed.advance(&task).await;
            bed.pass(10);
        }
        let done = bed.store.task(&task).await.unwrap();
        assert_eq!(done.status, Status::Completed);
        assert!(done.report.is_some_and(|report| report.contains("2 of 2 features proven")));
        bed.pass(1_000);
        bed.late_retry(&task).await;
        bed.advance(&task).await;
        let later = bed.store.task(&task).await.unwrap();
        assert_eq!((later.seq, later.finished_at), (done.seq + 1, done.finished_at));
    })
    .await;
}

#[tokio::test]
async fn there_is_no_transition_of_a_task_that_does_not_exist() {
    on_every_database(async |bed| {
        let task = nightforge_store::fresh_id();
        assert!(matches!(bed.store.pending(&task).await, Err(StoreError::NoTask(id)) if id == task));
        assert!(matches!(
            bed.store.ask_retry(&task, None, "ada").await,
            Err(AskError::Store(StoreError::NoTask(_)))
        ));
    })
    .await;
}

#[tokio::test]
async fn a_job_without_a_model_is_refused_with_its_transition() {
    on_every_database(async |bed| {
        let task = bed.store.submit(&new_task()).await.unwrap().task;
        bed.execute("UPDATE tasks SET models = '{\"coder\":\"m\"}'").await;
        let pending = bed.store.pending(&task).await.unwrap().unwrap();
        let before = bed.everything().await;
        let error = bed.store.commit(&pending, &answer(&pending, Millis(bed.now()))).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { what: "models", .. }), "{error}");
        assert!(error.to_string().contains("initializer"), "{error}");
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

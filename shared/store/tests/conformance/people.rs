//! What people ask for.

use nightforge_domain::Status;
use nightforge_store::AskError;

use crate::bed::on_every_database;
use crate::work::new_task;

#[tokio::test]
async fn a_task_that_is_over_cannot_be_cancelled() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.store.ask_cancel(&task, "bob").await.unwrap();
        bed.advance(&task).await;
        let row = bed.store.task(&task).await.unwrap();
        assert_eq!((row.status, row.report.is_some()), (Status::Cancelled, true));
        let before = bed.everything().await;
        let error = bed.store.ask_cancel(&task, "ada").await.unwrap_err();
        assert!(matches!(&error, AskError::Over(status) if status == "cancelled"), "{error}");
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn a_request_is_only_an_input_until_the_next_transition() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        assert_eq!(bed.jobs(&task).await, ["1 initialize ready"]);
        assert_eq!(bed.inputs(&task).await.last().unwrap(), "2 cancel: -");
        let row = bed.store.task(&task).await.unwrap();
        assert_eq!((row.status, row.stopping), (Status::Running, false));
    })
    .await;
}

#[tokio::test]
async fn a_task_that_is_over_is_neither_paused_nor_resumed() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        assert!(bed.store.set_paused(&task, true, "ada").await.unwrap());
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.advance(&task).await;
        let before = bed.everything().await;
        for paused in [true, false] {
            let error = bed.store.set_paused(&task, paused, "ada").await.unwrap_err();
            assert!(matches!(&error, AskError::Over(status) if status == "cancelled"), "{error}");
        }
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

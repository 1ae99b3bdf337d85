//! What people ask for.

use nightforge_domain::Status;
use nightforge_store::AskError;

use crate::bed::on_every_database;
use crate::work::{model, new_task};

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

#[tokio::test]
async fn a_retry_of_a_task_that_ended_while_paused_lets_it_go_on() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        let boot = bed.process().await;
        let claim = bed.store.claim(&model(), &boot, "w", 1_000).await.unwrap().unwrap();
        assert!(bed.store.set_paused(&task, true, "ada").await.unwrap());
        bed.store.bury(&claim.job, claim.fence, "poison").await.unwrap().unwrap();
        bed.advance(&task).await;
        assert!(bed.store.task(&task).await.unwrap().status.is_final());
        bed.store.ask_retry(&task, None, "bob").await.unwrap();
        bed.advance(&task).await;
        let row = bed.store.task(&task).await.unwrap();
        assert_eq!((row.status, row.paused), (Status::Running, false));
        assert_eq!(bed.events(&task).await.iter().filter(|event| *event == "pause-changed").count(), 2);
        assert!(bed.store.claim(&model(), &boot, "w", 1_000).await.unwrap().is_some());
    })
    .await;
}

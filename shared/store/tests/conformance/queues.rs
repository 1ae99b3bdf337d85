//! How deep the queues are: every unfinished job is counted once.

use nightforge_domain::{Kind, Millis};
use nightforge_store::{HandBack, ModelQueue, Queue, QueueDepth};

use crate::bed::{Bed, on_every_database};
use crate::work::{good_result, model, new_task};

async fn depth(bed: &Bed) -> QueueDepth {
    let [ModelQueue { model: name, depth }] = bed.store.queues().await.unwrap().try_into().unwrap();
    assert_eq!(name, "m");
    depth
}

#[tokio::test]
async fn queues_count_what_waits_and_what_runs() {
    on_every_database(async |bed| {
        assert!(bed.store.queues().await.unwrap().is_empty());
        let begun = Millis(bed.now());
        let (_, claim, _) = bed.claimed().await;
        let running = QueueDepth { running: 1, ..QueueDepth::default() };
        assert_eq!(depth(bed).await, running);
        let waiting = bed.started(&new_task()).await;
        bed.pass(5);
        bed.started(&new_task()).await;
        let both = QueueDepth { ready: 2, oldest_ready_at: Some(begun), ..running };
        assert_eq!(depth(bed).await, both);
        bed.store.set_paused(&waiting, true, "ada").await.unwrap();
        let oldest_ready_at = Some(Millis(bed.now()));
        assert_eq!(depth(bed).await, QueueDepth { ready: 1, held: 1, oldest_ready_at, ..running });
        let why = HandBack { reason: "down".to_owned(), delay_ms: 100, infrastructure: true };
        bed.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
        let delayed = QueueDepth { ready: 1, held: 1, delayed: 1, running: 0, oldest_ready_at };
        assert_eq!(depth(bed).await, delayed);
        bed.pass(100);
        assert_eq!(depth(bed).await, QueueDepth { ready: 2, delayed: 0, ..delayed });
    })
    .await;
}

#[tokio::test]
async fn a_paused_kind_holds_its_jobs_and_a_paused_model_does_not_hide_them() {
    on_every_database(async |bed| {
        bed.started(&new_task()).await;
        let ready = depth(bed).await;
        assert_eq!(ready.ready, 1);
        bed.store.pause_queue(&Queue::Model(model()), "ada").await.unwrap();
        assert_eq!(depth(bed).await, ready);
        bed.store.pause_queue(&Queue::Kind(Kind::Build), "ada").await.unwrap();
        assert_eq!(depth(bed).await, QueueDepth { held: 1, ..QueueDepth::default() });
    })
    .await;
}

#[tokio::test]
async fn what_is_over_is_in_no_queue() {
    on_every_database(async |bed| {
        let (task, claim, boot) = bed.claimed().await;
        assert_eq!(bed.store.tasks_of_kind(Kind::Build).await.unwrap(), (0, 1));
        bed.store.submit(&new_task()).await.unwrap();
        assert_eq!(bed.store.tasks_of_kind(Kind::Build).await.unwrap(), (1, 1));
        let mut next = Some(claim);
        while let Some(claim) = next {
            bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
            bed.advance(&task).await;
            next = bed.claim(&boot).await;
        }
        assert!(bed.store.queues().await.unwrap().is_empty());
        assert_eq!(bed.store.tasks_of_kind(Kind::Build).await.unwrap(), (1, 0));
    })
    .await;
}

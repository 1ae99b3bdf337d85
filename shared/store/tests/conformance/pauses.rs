//! Paused models and kinds: nothing new is claimed of them.

use std::time::Duration;

use nightforge_domain::{Kind, Millis};
use nightforge_store::{AskError, HandBack, Pause, Queue, Renewal};

use crate::bed::{Bed, on_every_database};
use crate::work::{LEASE, model, new_task};

fn queues() -> [Queue; 2] {
    [Queue::Model(model()), Queue::Kind(Kind::Build)]
}

#[tokio::test]
async fn nothing_is_claimed_of_a_paused_model_or_kind() {
    for queue in queues() {
        on_every_database(async |bed| {
            let boot = bed.process().await;
            bed.started(&new_task()).await;
            assert!(bed.store.pause_queue(&queue, "ada").await.unwrap());
            assert!(!bed.store.pause_queue(&queue, "bob").await.unwrap(), "nothing changed");
            let pause = Pause { queue: queue.clone(), by: "ada".to_owned(), at: Millis(bed.now()) };
            assert_eq!(bed.store.pauses().await.unwrap(), [pause]);
            assert!(bed.claim(&boot).await.is_none());
            assert!(bed.store.models_with_ready_jobs().await.unwrap().is_empty());
            assert!(bed.store.resume_queue(&queue).await.unwrap());
            assert!(!bed.store.resume_queue(&queue).await.unwrap(), "nothing changed");
            assert_eq!(bed.store.models_with_ready_jobs().await.unwrap(), [model()]);
            assert!(bed.claim(&boot).await.is_some());
        })
        .await;
    }
}

#[tokio::test]
async fn other_models_go_on() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        bed.started(&new_task()).await;
        bed.store.pause_queue(&Queue::Model("other".parse().unwrap()), "ada").await.unwrap();
        // A kind's name is not taken for a model's, nor the other way round.
        bed.store.pause_queue(&Queue::Model("build".parse().unwrap()), "ada").await.unwrap();
        assert!(bed.claim(&boot).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn a_queue_that_is_paused_while_a_job_is_claimed_keeps_it() {
    for (scope, name) in [("model", "m"), ("kind", "build")] {
        on_every_database(async |bed| {
            let boot = bed.process().await;
            let task = bed.started(&new_task()).await;
            // The claim sees a queue that is not paused, and waits for the task's lock.
            let mut change = bed.begin(&format!("UPDATE tasks SET seq = seq WHERE id = '{task}'")).await;
            let pause = format!("INSERT INTO pauses VALUES ('{scope}', '{name}', 'ada', 0)");
            sqlx::query(sqlx::AssertSqlSafe(pause)).execute(&mut *change).await.unwrap();
            let commit = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                change.commit().await.unwrap();
            };
            let (claim, ()) = tokio::join!(bed.claim(&boot), commit);
            assert!(claim.is_none(), "{scope}");
            assert_eq!(bed.jobs(&task).await, ["1 initialize ready"]);
        })
        .await;
    }
}

async fn renewal(bed: &Bed, claim: &nightforge_store::Claim, boot: &nightforge_domain::BootId) -> Renewal {
    bed.store.renew(boot, &[(claim.job.clone(), claim.fence)], LEASE).await.unwrap()[0]
}

#[tokio::test]
async fn a_running_job_is_told_and_handed_back_uncounted() {
    for queue in queues() {
        on_every_database(async |bed| {
            let (task, claim, boot) = bed.claimed().await;
            bed.store.pause_queue(&queue, "ada").await.unwrap();
            assert_eq!(renewal(bed, &claim, &boot).await, Renewal::Pause);
            bed.step(&claim, 0).await;
            let why = HandBack { reason: "paused".to_owned(), delay_ms: 0, infrastructure: false };
            bed.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
            assert!(bed.claim(&boot).await.is_none());
            let row = bed.job(&claim.job).await;
            assert_eq!((row.steps, row.faults, row.deaths, row.infra_failures), (1, 0, 0, 0));
            bed.store.resume_queue(&queue).await.unwrap();
            let again = bed.claim(&boot).await.unwrap();
            assert_eq!(renewal(bed, &again, &boot).await, Renewal::Held);
            bed.store.pause_queue(&queue, "ada").await.unwrap();
            bed.store.ask_cancel(&task, "ada").await.unwrap();
            bed.advance(&task).await;
            assert_eq!(renewal(bed, &again, &boot).await, Renewal::Stop, "an end beats a pause");
        })
        .await;
    }
}

#[tokio::test]
async fn who_paused_a_task_is_known_while_it_is_paused() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        let by = async || bed.store.task(&task).await.unwrap().paused_by;
        bed.store.set_paused(&task, true, "ada").await.unwrap();
        assert!(!bed.store.set_paused(&task, true, "bob").await.unwrap());
        assert_eq!(by().await.as_deref(), Some("ada"));
        bed.store.set_paused(&task, false, "bob").await.unwrap();
        assert_eq!(by().await, None);
        bed.store.ask_cancel(&task, "ada").await.unwrap();
        bed.advance(&task).await;
        let before = bed.everything().await;
        let refused = bed.store.set_paused(&task, true, "ada").await.unwrap_err();
        assert!(matches!(&refused, AskError::Over(status) if status == "cancelled"), "{refused}");
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

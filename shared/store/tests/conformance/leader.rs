//! The leader's lease.

use nightforge_store::Leadership;

use crate::bed::on_every_database;

const TTL: i64 = 10_000;

#[tokio::test]
async fn one_leads_and_the_other_waits() {
    on_every_database(async |bed| {
        let (first, second) = (bed.process().await, bed.process().await);
        assert_eq!(bed.store.lead(&first, TTL).await.unwrap(), Some(Leadership { epoch: 1 }));
        assert_eq!(bed.store.lead(&second, TTL).await.unwrap(), None);
        bed.pass(TTL - 1);
        assert_eq!(bed.store.lead(&first, TTL).await.unwrap(), Some(Leadership { epoch: 1 }), "it goes on");
        bed.pass(TTL);
        assert_eq!(bed.store.lead(&second, TTL).await.unwrap(), None, "not before its end");
    })
    .await;
}

#[tokio::test]
async fn another_takes_over_when_the_lease_is_over() {
    on_every_database(async |bed| {
        let (first, second) = (bed.process().await, bed.process().await);
        bed.store.lead(&first, TTL).await.unwrap();
        bed.pass(TTL + 1);
        assert_eq!(bed.store.lead(&second, TTL).await.unwrap(), Some(Leadership { epoch: 2 }));
        assert_eq!(bed.store.lead(&first, TTL).await.unwrap(), None);
        bed.pass(TTL + 1);
        assert_eq!(bed.store.lead(&first, TTL).await.unwrap(), Some(Leadership { epoch: 3 }));
    })
    .await;
}

#[tokio::test]
async fn another_takes_over_at_once_when_the_leader_is_gone() {
    on_every_database(async |bed| {
        let (first, second) = (bed.process().await, bed.process().await);
        bed.store.lead(&first, TTL).await.unwrap();
        bed.store.mark_gone(&first).await.unwrap();
        assert_eq!(bed.store.lead(&second, TTL).await.unwrap(), Some(Leadership { epoch: 2 }));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_at_the_same_time_one_leads() {
    on_every_database(async |bed| {
        let other = bed.store.reopen().await.unwrap();
        let (first, second) = (bed.process().await, bed.process().await);
        for _ in 0..10 {
            let (left, right) = tokio::join!(bed.store.lead(&first, TTL), other.lead(&second, TTL));
            assert_eq!([left.unwrap(), right.unwrap()].into_iter().flatten().count(), 1);
            bed.pass(TTL + 1);
        }
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn silent_processes_are_marked_once() {
    on_every_database(async |bed| {
        let (silent, alive) = (bed.process().await, bed.process().await);
        bed.pass(1_000);
        bed.store.heartbeat(&alive).await.unwrap();
        assert_eq!(bed.store.mark_silent_gone(1_000).await.unwrap(), 0, "not before that time is over");
        bed.pass(1);
        assert_eq!(bed.store.mark_silent_gone(1_000).await.unwrap(), 1);
        assert_eq!(bed.store.mark_silent_gone(1_000).await.unwrap(), 0);
        let live: Vec<_> = bed.store.live_processes().await.unwrap().into_iter().map(|p| p.boot).collect();
        assert_eq!(live, [alive]);
        bed.store.announce(&crate::bed::process(&silent)).await.unwrap();
        assert_eq!(bed.store.live_processes().await.unwrap().len(), 2);
    })
    .await;
}

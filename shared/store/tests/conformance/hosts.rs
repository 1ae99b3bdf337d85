//! Turns at the hosts of pages.

use nightforge_domain::Millis;
use nightforge_store::{DbClock, Store};

use crate::bed::on_every_database;

const SECOND: i64 = 1_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;

#[tokio::test(flavor = "multi_thread")]
async fn turns_taken_at_once_over_several_connections_are_one_interval_apart() {
    on_every_database(async |bed| {
        let stores =
            [bed.store.clone(), bed.store.reopen().await.unwrap(), bed.store.reopen().await.unwrap()];
        let taking = (0..12).map(|turn| {
            let store = stores[turn % stores.len()].clone();
            tokio::spawn(async move { store.host_turn("example.com", SECOND).await.unwrap().0 })
        });
        let mut waits = Vec::new();
        for taken in taking.collect::<Vec<_>>() {
            waits.push(taken.await.unwrap());
        }
        waits.sort_unstable();
        assert_eq!(waits, (0..12).map(|turn| turn * SECOND).collect::<Vec<_>>());
        bed.pass(11_500);
        assert_eq!(stores[1].host_turn("example.com", SECOND).await.unwrap(), Millis(500));
        bed.pass(60 * SECOND);
        assert_eq!(stores[2].host_turn("example.com", SECOND).await.unwrap(), Millis(0), "nobody was there");
        stores[1].close().await;
        stores[2].close().await;
    })
    .await;
}

#[tokio::test]
async fn each_host_has_turns_of_its_own_and_each_caller_its_interval() {
    on_every_database(async |bed| {
        assert_eq!(bed.store.host_turn("a.example", 10 * SECOND).await.unwrap(), Millis(0));
        assert_eq!(bed.store.host_turn("b.example", SECOND).await.unwrap(), Millis(0));
        assert_eq!(bed.store.host_turn("b.example", SECOND).await.unwrap(), Millis(SECOND));
        assert_eq!(bed.store.host_turn("a.example", SECOND).await.unwrap(), Millis(10 * SECOND));
        assert_eq!(bed.store.host_turn("a.example", SECOND).await.unwrap(), Millis(11 * SECOND));
    })
    .await;
}

#[tokio::test]
async fn the_databases_own_clock_spaces_turns_as_well() {
    on_every_database(async |bed| {
        let store = Store::open(&bed.url, DbClock::Database).await.unwrap();
        assert_eq!(store.host_turn("example.com", DAY).await.unwrap(), Millis(0));
        let wait = store.host_turn("example.com", DAY).await.unwrap().0;
        assert!((DAY - 60 * SECOND..=DAY).contains(&wait), "{wait}");
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn hosts_of_earlier_days_are_forgotten_a_few_at_a_time() {
    on_every_database(async |bed| {
        for host in ["a", "b", "c"] {
            bed.store.host_turn(host, SECOND).await.unwrap();
            bed.pass(1);
        }
        bed.pass(DAY + SECOND - 1);
        let known = async || bed.rows("SELECT host FROM hosts ORDER BY host").await;
        bed.store.host_turn("d", SECOND).await.unwrap();
        assert_eq!(known().await, ["b", "c", "d"], "the oldest one");
        bed.store.host_turn("d", SECOND).await.unwrap();
        assert_eq!(known().await, ["c", "d"]);
        bed.store.host_turn("d", SECOND).await.unwrap();
        assert_eq!(known().await, ["c", "d"], "what is younger than a day stays");
        bed.pass(1);
        assert_eq!(bed.store.host_turn("c", SECOND).await.unwrap(), Millis(0), "forgotten and known again");
    })
    .await;
}

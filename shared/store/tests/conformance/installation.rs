//! A database belongs to one data folder.

use crate::bed::on_every_database;

#[tokio::test]
async fn the_first_folder_is_the_one_until_somebody_moves() {
    on_every_database(async |bed| {
        assert_eq!(bed.store.settle_in("first").await.unwrap(), "first");
        assert_eq!(bed.store.settle_in("second").await.unwrap(), "first");
        bed.store.move_to("second").await.unwrap();
        assert_eq!(bed.store.settle_in("first").await.unwrap(), "second");
    })
    .await;
}

#[tokio::test]
async fn folders_that_come_at_once_agree_on_one() {
    on_every_database(async |bed| {
        let settling = (0..8).map(|number| {
            let store = bed.store.clone();
            tokio::spawn(async move { store.settle_in(&format!("folder-{number}")).await.unwrap() })
        });
        let mut homes = Vec::new();
        for settled in settling.collect::<Vec<_>>() {
            homes.push(settled.await.unwrap());
        }
        homes.dedup();
        assert_eq!(homes.len(), 1, "{homes:?}");
    })
    .await;
}

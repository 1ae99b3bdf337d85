//! The server holds its connections and answers nothing (SIGSTOP): everybody gets an error in time, and goes on
//! when it answers again.

use std::time::{Duration, Instant};

use nightforge_domain::{Fence, JobId, JobNo};
use nightforge_services::Postgres;
use nightforge_store::StoreError;
use tokio::time::timeout;

use crate::bed::Bed;
use crate::work::new_task;

/// A connection may take 10 s, an answer 12 s.
const ERROR_WITHIN: Duration = Duration::from_secs(15);
const BACK_WITHIN: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_frozen_server_gives_errors_and_everybody_goes_on_after_it() {
    let mut server = Postgres::start().unwrap();
    let bed = Bed::postgres_at(&server.url()).await;
    let boot = bed.process().await;
    let task = bed.started(&new_task()).await;
    let of_a_thread = bed.store.reopen().await.unwrap();
    of_a_thread.heartbeat(&boot).await.unwrap();

    // One waits for a row when the server freezes: its statement is under way.
    let holder = bed.begin(&format!("UPDATE tasks SET updated_at = 0 WHERE id = '{task}'")).await;
    let under_way = tokio::spawn({
        let (store, job) = (bed.store.clone(), JobId { task: task.clone(), no: JobNo(1) });
        let boot = boot.clone();
        async move { store.renew(&boot, &[(job, Fence(1))], 1_000).await.map(drop) }
    });
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while bed.rows(waits).await != ["1"] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.freeze();
    let frozen = Instant::now();

    // As the thread that renews leases does: it does not wait so long, and lets go in the middle.
    for _ in 0..6 {
        assert!(timeout(Duration::from_millis(200), of_a_thread.heartbeat(&boot)).await.is_err());
    }
    let mut new = new_task();
    new.idempotency_key = Some("frozen".to_owned());
    let (read, submitted) = tokio::join!(bed.store.task(&task), bed.store.submit(&new));
    for error in [read.map(drop), submitted.map(drop), under_way.await.unwrap()] {
        let error = error.unwrap_err();
        assert!(matches!(error, StoreError::Database(_)), "{error}");
        assert!(error.to_string().contains("answer"), "{error}");
    }
    assert!(frozen.elapsed() < ERROR_WITHIN, "errors came after {:?}", frozen.elapsed());

    server.thaw();
    let thawed = Instant::now();
    of_a_thread.heartbeat(&boot).await.unwrap();
    let all = (0..20).map(|_| {
        let store = bed.store.clone();
        tokio::spawn(async move { store.ping().await })
    });
    for ping in all.collect::<Vec<_>>() {
        ping.await.unwrap().unwrap();
    }
    assert!(thawed.elapsed() < BACK_WITHIN, "back after {:?}", thawed.elapsed());
    holder.rollback().await.unwrap();
    bed.store.submit(&new).await.unwrap();
    let found = bed.rows("SELECT count(*) FROM tasks WHERE idempotency_key = 'frozen'").await;
    assert_eq!(found, ["1"]);
    of_a_thread.close().await;
    bed.end().await;
}

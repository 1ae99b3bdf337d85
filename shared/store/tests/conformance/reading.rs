//! Lists for people, and rows that can't be read.

use nightforge_domain::{Millis, Status};
use nightforge_store::{StoreError, TaskFilter};

use crate::bed::{Bed, on_every_database};
use crate::work::{good_result, new_task};

#[tokio::test]
async fn tasks_are_listed_newest_first_and_page_by_page() {
    on_every_database(async |bed| {
        let mut tasks = Vec::new();
        for _ in 0..3 {
            tasks.push(bed.store.submit(&new_task()).await.unwrap().task);
        }
        tasks.sort();
        tasks.reverse();
        bed.advance(&tasks[1]).await;
        let list = async |filter: TaskFilter| -> Vec<_> {
            bed.store.tasks(&filter).await.unwrap().into_iter().map(|task| task.id).collect()
        };
        assert_eq!(list(TaskFilter::default()).await, tasks);
        assert_eq!(list(TaskFilter { limit: 2, ..TaskFilter::default() }).await, tasks[..2]);
        assert_eq!(
            list(TaskFilter { before: Some(tasks[1].clone()), ..TaskFilter::default() }).await,
            tasks[2..]
        );
        assert_eq!(
            list(TaskFilter { status: Some(Status::Running), ..TaskFilter::default() }).await,
            tasks[1..2]
        );
        let prefix =
            |prefix: &str| TaskFilter { id_prefix: Some(prefix.to_owned()), ..TaskFilter::default() };
        assert_eq!(list(prefix(tasks[0].as_str())).await, tasks[..1]);
        assert_eq!(list(prefix(&tasks[0].as_str()[..4])).await, tasks);
        assert!(list(prefix("é%_")).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn events_are_read_from_a_number_on() {
    on_every_database(async |bed| {
        let task = bed.started(&new_task()).await;
        let numbers = async |after, limit| -> Vec<i64> {
            bed.store.events(&task, after, limit).await.unwrap().iter().map(|event| event.seq).collect()
        };
        assert_eq!(numbers(0, 100).await, [1, 2, 3, 4]);
        assert_eq!(numbers(2, 1).await, [3]);
        assert!(numbers(4, 100).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn heads_are_listed_by_their_last_change() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        assert!(bed.store.heads_since(Millis(0)).await.unwrap().is_empty());
        bed.store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
        bed.pass(10);
        bed.advance(&task).await;
        let now = Millis(bed.now());
        assert_eq!(
            bed.store.heads_since(now).await.unwrap(),
            [(task.clone(), crate::work::commit_id(1), now)]
        );
        assert_eq!(bed.store.task(&task).await.unwrap().head, Some(crate::work::commit_id(1)));
        assert!(bed.store.heads_since(Millis(now.0 + 1)).await.unwrap().is_empty());
    })
    .await;
}

/// Spoils a column and reads; the error names it.
async fn spoiled(table: &str, column: &'static str, value: &str, read: impl AsyncFn(&Bed) -> StoreError) {
    on_every_database(async |bed| {
        let (_, claim, _) = bed.claimed().await;
        bed.step(&claim, 0).await;
        bed.late_retry(&claim.job.task).await;
        bed.execute(&format!("UPDATE {table} SET {column} = {value}")).await;
        let error = read(bed).await;
        let found = matches!(&error, StoreError::Corrupt { what, .. } if *what == column);
        assert!(found && error.to_string().contains(column), "{table}.{column}: {error}");
    })
    .await;
}

#[tokio::test]
async fn an_error_names_the_column_that_cannot_be_read() {
    let tasks = async |bed: &Bed| bed.store.tasks(&TaskFilter::default()).await.unwrap_err();
    for (column, value) in [
        ("kind", "'dream'"),
        ("models", "'{\"dreamer\":\"m\"}'"),
        ("limits", "'{\"max_dreams\":1}'"),
        ("state", "'rubbish'"),
        ("status", "'asleep'"),
        ("priority", "10"),
        ("priority", "257"),
        ("head", "'main'"),
    ] {
        spoiled("tasks", column, value, tasks).await;
    }
    let id = async |bed: &Bed| bed.rows("SELECT id FROM tasks").await.remove(0).parse().unwrap();
    let jobs = async |bed: &Bed| bed.store.jobs(&id(bed).await).await.unwrap_err();
    spoiled("jobs", "spec", "'{\"kind\":\"dream\"}'", jobs).await;
    spoiled("jobs", "state", "'asleep'", jobs).await;
    spoiled("jobs", "faults", "-1", jobs).await;
    let events = async |bed: &Bed| bed.store.events(&id(bed).await, 0, 9).await.unwrap_err();
    spoiled("events", "data", "'{'", events).await;
    let pending = async |bed: &Bed| bed.store.pending(&id(bed).await).await.unwrap_err();
    spoiled("inputs", "body", "'{\"input\":\"dream\"}'", pending).await;
    let journal =
        async |bed: &Bed| bed.store.journal(&crate::work::job(&id(bed).await, 1)).await.unwrap_err();
    spoiled("steps", "output", "'{'", journal).await;
    spoiled("steps", "ordinal", "5000000000", journal).await;
    let processes = async |bed: &Bed| bed.store.live_processes().await.unwrap_err();
    spoiled("processes", "boot_id", "'x'", processes).await;
}

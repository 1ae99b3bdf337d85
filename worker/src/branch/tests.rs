//! Branches follow the database.

use std::path::PathBuf;
use std::time::Duration;

use nightforge_domain::{CommitId, Limits, Millis, TaskId};
use tokio_util::sync::CancellationToken;

use super::{keep, repair, repository_path};
use crate::engine::tests::bed::Bed;
use crate::project::Repository;

/// A repository at the path with two commits on a side branch.
fn repository(path: &std::path::Path) -> (Repository, CommitId, CommitId) {
    let repository = Repository::create(path).unwrap();
    let files = tempfile::tempdir().unwrap();
    let tree = repository.snapshot(files.path(), None).unwrap();
    let first = repository.commit(tree, &[], "first", Millis(0), "refs/side").unwrap();
    let second =
        repository.commit(tree, std::slice::from_ref(&first), "second", Millis(0), "refs/side").unwrap();
    (repository, first, second)
}

#[test]
fn a_branch_goes_where_the_database_says_also_back() {
    let data = tempfile::tempdir().unwrap();
    let task = nightforge_store::fresh_id();
    let elsewhere: CommitId = "0123456789012345678901234567890123456789".parse().unwrap();
    repair(data.path(), &task, &elsewhere).unwrap();
    let (repository, first, second) = repository(&repository_path(data.path(), &task));
    for head in [&first, &second, &second, &first] {
        repair(data.path(), &task, head).unwrap();
        assert_eq!(repository.branch().unwrap().as_ref(), Some(head));
    }
    repair(data.path(), &task, &elsewhere).unwrap();
    assert_eq!(repository.branch().unwrap(), Some(first), "a commit that another machine has");
}

#[tokio::test]
async fn one_that_can_not_be_repaired_is_tried_again_whatever_changes_meanwhile() {
    let bed = Bed::new([]).await;
    let path = |task: &TaskId| -> PathBuf { repository_path(bed.data.path(), task) };
    let (broken, healthy) = (bed.task(Limits::default()).await, bed.task(Limits::default()).await);
    let (mended, _, head) = repository(&bed.data.path().join("aside.git"));
    let (other, _, other_head) = repository(&path(&healthy));
    std::fs::write(path(&broken), "no repository").unwrap();
    for (task, head, age) in [(&broken, &head, 3_600_000), (&healthy, &other_head, 0)] {
        bed.execute(&format!(
            "UPDATE tasks SET head = '{head}', updated_at = updated_at - {age} WHERE id = '{task}'"
        ))
        .await;
    }
    let stop = CancellationToken::new();
    let keeping = tokio::spawn(keep(bed.store.clone(), bed.data.path().to_owned(), stop.clone()));
    let until_at = async |repository: &Repository, head: &CommitId| {
        while repository.branch().unwrap().as_ref() != Some(head) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, until_at(&other, &other_head)).await.expect("the healthy one");
    std::fs::remove_file(path(&broken)).unwrap();
    std::fs::rename(mended.path(), path(&broken)).unwrap();
    let mended = Repository::open(&path(&broken)).unwrap();
    tokio::time::timeout(limit, until_at(&mended, &head)).await.expect("the mended one");
    stop.cancel();
    keeping.await.unwrap();
}

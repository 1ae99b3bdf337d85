//! Workspaces from one claim to the next.

use super::bed::{Bed, SANDBOX, claim, put};
use crate::build::workspace::Workspace;

#[tokio::test]
async fn the_next_claim_takes_ignored_folders_over_and_clears_the_rest() {
    let bed = Bed::new().await;
    put(&bed.workspace.project(), &[("cache/module", "m"), ("left.txt", "l")]);
    let next = Workspace::open(&bed.data, &claim(1, 2), &SANDBOX).await.unwrap();
    next.materialise(&bed.base).await.unwrap();
    assert!(next.project().join("cache/module").exists());
    assert!(!next.project().join("left.txt").exists());
    assert!(!bed.workspace.project().exists(), "the older workspace is gone");
}

#[tokio::test]
async fn claims_that_came_to_nothing_leave_no_workspaces_behind() {
    let bed = Bed::new().await;
    for fence in 2..6 {
        Workspace::open(&bed.data, &claim(1, fence), &SANDBOX).await.unwrap();
    }
    let task = bed.workspace.project().parent().unwrap().parent().unwrap().to_owned();
    let mut left: Vec<_> = std::fs::read_dir(task)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["1-4", "1-5"], "the newest and the one that it may take over from");
}

#[tokio::test]
async fn a_link_in_the_way_of_an_ignored_folder_stays_a_link() {
    let mut bed = Bed::new().await;
    std::os::unix::fs::symlink("nowhere", bed.path("cache")).unwrap();
    bed.base = bed
        .workspace
        .commit(Some(&bed.base), "a link".to_owned(), nightforge_domain::Millis(0))
        .await
        .unwrap();
    std::fs::remove_file(bed.path("cache")).unwrap();
    put(&bed.workspace.project(), &[("cache/module", "m")]);
    let next = Workspace::open(&bed.data, &claim(2, 1), &SANDBOX).await.unwrap();
    next.materialise(&bed.base).await.unwrap();
    assert!(next.project().join("cache").symlink_metadata().unwrap().is_symlink());
}

#[tokio::test]
async fn a_newer_claims_workspace_is_left_alone() {
    let bed = Bed::new().await;
    let newer = Workspace::open(&bed.data, &claim(1, 2), &SANDBOX).await.unwrap();
    newer.materialise(&bed.base).await.unwrap();
    // The stale claim is still acting in the world.
    let stale = Workspace::open(&bed.data, &claim(1, 1), &SANDBOX).await.unwrap();
    stale.materialise(&bed.base).await.unwrap();
    assert!(newer.project().join("app.py").exists());
}

//! Verifying from a fresh clone.

use nightforge_domain::Verified;
use nightforge_domain::build::FeatureStatus;

use crate::build::tests::bed::{APP_WITH_TWO, Bed, put, test_of_two};
use crate::engine::tests::bed::Bed as Engine;

/// Verifies a project whose features F001 and F002 count as passed, after a change of its files.
async fn verify(files: &[(&str, &str)]) -> Verified {
    let engine = Engine::new([]).await;
    let mut claim = engine.claimed().await;
    let mut bed = Bed::at(engine.data.path(), &claim, &[]).await;
    put(&bed.workspace.project(), &[("tests/test_f002.py", &test_of_two())]);
    put(&bed.workspace.project(), files);
    let head =
        bed.workspace.commit(Some(&bed.base), "F002".to_owned(), nightforge_domain::Millis(0)).await.unwrap();
    bed.features.truncate(2);
    for feature in &mut bed.features {
        feature.status = FeatureStatus::Passed { commit: head.clone(), already: false };
    }
    claim.task.state.machine = nightforge_domain::state::Machine::Build(bed.build());
    let workshop = engine.workshop();
    // A later claim: the first one's folder is an older workspace.
    claim.fence.0 += 1;
    let (mut context, _signal) = engine.context_in(claim, &workshop).await;
    engine.execute("UPDATE jobs SET fence = fence + 1").await;
    super::run(&workshop, &mut context, &head).await.unwrap()
}

#[tokio::test]
async fn all_that_pass_are_verified() {
    assert_eq!(verify(&[("app.py", APP_WITH_TWO)]).await.failing, []);
}

#[tokio::test]
async fn only_the_broken_one_is_named_with_the_end_of_its_output() {
    let failing = verify(&[]).await.failing;
    assert_eq!(failing.len(), 1);
    assert_eq!(failing[0].feature.as_str(), "F002");
    assert!(failing[0].reason.contains("has no attribute 'two'") && failing[0].reason.len() < 3_000);
}

#[tokio::test]
async fn what_only_the_developers_folder_has_does_not_count() {
    let failing = verify(&[
        ("app.py", APP_WITH_TWO),
        (".gitignore", "*.db\ncache/\n"),
        ("cache/x", "x"),
        ("tests/test_f002.py", "import os\nos.stat('cache/x')\n"),
    ])
    .await
    .failing;
    assert_eq!(failing.len(), 1, "a fresh clone has no cache");
}

#[tokio::test]
async fn an_init_script_that_fails_is_the_projects_fault_not_the_machines() {
    let broken = ("init.sh", "echo lost; exit 5\n");
    assert_eq!(verify(&[("app.py", APP_WITH_TWO), broken]).await.failing, [], "the tests decide");
    let failing = verify(&[broken]).await.failing;
    assert!(
        failing[0].reason.starts_with("In a fresh clone init.sh fails: exit code 5 lost\n"),
        "{}",
        failing[0].reason
    );
}

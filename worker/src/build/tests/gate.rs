//! The gate, on what agents bring before it.

use nightforge_domain::Millis;
use nightforge_domain::contract::{Action, FinishOutcome};

use super::bed::{APP_WITH_TWO, Bed, OLDER, TEST, put, test_of_two, test_that};
use crate::build::toolbox::End;

#[tokio::test]
async fn red_then_green_is_proven() {
    let mut bed = Bed::green().await;
    let said = bed.finish().await;
    assert_eq!(bed.end, Some(End::Proven), "{said}");
}

#[tokio::test]
async fn support_files_of_the_session_are_laid_over_the_start() {
    let mut bed = Bed::new().await;
    bed.write("tests/helper.py", "EXPECTED = 2\n").await;
    bed.write(
        TEST,
        &test_that("import app; from tests.helper import EXPECTED; self.assertEqual(app.two(), EXPECTED)"),
    )
    .await;
    bed.write("app.py", APP_WITH_TWO).await;
    let said = bed.finish().await;
    assert_eq!(bed.end, Some(End::Proven), "{said}");

    // A test that needs nothing but its helper proves nothing, though the start has no helper.
    let mut bed = Bed::new().await;
    bed.before.red = true;
    bed.write("tests/helper.py", "EXPECTED = 2\n").await;
    bed.write(TEST, &test_that("from tests.helper import EXPECTED; self.assertEqual(2, EXPECTED)")).await;
    let said = bed.refusal().await;
    assert!(said.contains("also passes without the feature"), "{said}");
}

#[tokio::test]
async fn no_test_no_proof() {
    let mut bed = Bed::new().await;
    let said = bed.refusal().await;
    assert!(said.contains("tests/test_f002.py does not exist"), "{said}");
    assert!(bed.outcome(Action::Finish { outcome: FinishOutcome::Done, note: String::new() }).await.refused);
}

#[tokio::test]
async fn a_test_that_fails_or_does_not_parse_is_refused() {
    let mut bed = Bed::red().await;
    let said = bed.refusal().await;
    assert!(said.contains("tests/test_f002.py fails:") && said.contains("has no attribute 'two'"), "{said}");
    bed.write(TEST, "def broken(:\n").await;
    assert!(bed.refusal().await.contains("does not parse"));
}

#[tokio::test]
async fn a_test_that_passes_every_second_time_is_refused() {
    let mut bed = Bed::green().await;
    let flaky = "import os, app; app.two(); old = os.path.exists('n.db'); \
                 os.remove('n.db') if old else open('n.db', 'w').close(); self.assertFalse(old)";
    bed.write(TEST, &test_that(flaky)).await;
    let said = bed.refusal().await;
    assert!(said.contains("passed once and then failed; it must pass every time"), "{said}");
}

#[tokio::test]
async fn an_older_test_that_breaks_is_named() {
    let mut bed = Bed::red().await;
    bed.write("app.py", "def two():\n    return 2\n").await;
    let said = bed.refusal().await;
    assert!(
        said.contains("the older test tests/test_f001.py fails now; mend the code, not the test"),
        "{said}"
    );
}

#[tokio::test]
async fn a_build_that_fails_is_refused() {
    let mut bed = Bed::green().await;
    bed.project.build_command = Some("echo no such brick; exit 3".to_owned());
    let said = bed.refusal().await;
    assert!(said.contains("`echo no such brick; exit 3` fails:\nexit code 3\nno such brick"), "{said}");
}

#[tokio::test]
async fn secrets_large_files_and_nested_repositories_are_refused() {
    let mut bed = Bed::green().await;
    bed.command(&format!("echo AKIA{} > key.txt", "A1B2".repeat(4))).await;
    assert!(bed.refusal().await.contains("key.txt holds an AWS access key"));
    bed.command("rm key.txt; head -c 6000000 /dev/zero > big.bin").await;
    assert!(bed.refusal().await.contains("big.bin has 6000000 bytes, over 5 MB"));
    bed.command("rm big.bin; mkdir -p lib/.git; touch lib/.git/config").await;
    assert!(bed.refusal().await.contains("lib/.git is a repository inside the repository"));
    bed.command("rm -r lib").await;
    bed.finish().await;
    assert_eq!(bed.end, Some(End::Proven));
}

#[tokio::test]
async fn a_test_that_passes_over_the_start_and_the_first_commit_proves_nothing() {
    let mut bed = Bed::new().await;
    bed.write(TEST, &test_that("self.assertTrue(True)")).await;
    let said = bed.refusal().await;
    assert!(said.contains("also passes without the feature, so it proves nothing"), "{said}");
}

#[tokio::test]
async fn what_works_since_an_earlier_session_is_already_satisfied() {
    let mut bed = Bed::new().await;
    bed.write(TEST, &test_that("import app; self.assertEqual(app.one() + app.one(), 2)")).await;
    let said = bed.finish().await;
    assert_eq!(bed.end, Some(End::AlreadySatisfied), "{said}");
}

#[tokio::test]
async fn a_test_that_stands_since_the_start_is_judged_over_the_first_commit_as_well() {
    // Reopened, and healthy when looked at again; but its test proves nothing.
    let mut bed = Bed::new().await;
    put(&bed.workspace.project(), &[(TEST, &test_that("self.assertTrue(True)"))]);
    bed.base = bed.workspace.commit(Some(&bed.base), "F002".to_owned(), Millis(0)).await.unwrap();
    bed.before.checkpoint = bed.base.clone();
    bed.features[1].reopened = 1;
    bed.before.red = true;
    let said = bed.refusal().await;
    assert!(said.contains("also passes without the feature"), "{said}");
}

#[tokio::test]
async fn what_init_makes_is_there_over_the_start() {
    // Ignored files do not travel. Without init.sh the test would fail over the start for want of its database.
    let mut bed = Bed::with_first_files(&[("init.sh", "#!/bin/sh\necho 1 > board.db\n")]).await;
    bed.command("sh ./init.sh").await;
    bed.write(TEST, &test_that("self.assertEqual(open('board.db').read(), '1\\n')")).await;
    let said = bed.refusal().await;
    assert!(said.contains("also passes without the feature"), "{said}");
}

#[tokio::test]
async fn ignored_folders_are_lent_and_come_back() {
    let mut bed = Bed::green().await;
    bed.command("mkdir cache; echo module > cache/lib.py").await;
    bed.write(
        TEST,
        &test_that("import app, cache.lib; self.assertEqual(app.two(), 2)")
            .replace("cache.lib", "os; os.stat('cache/lib.py')"),
    )
    .await;
    let said = bed.finish().await;
    assert_eq!(bed.end, Some(End::Proven), "{said}");
    assert!(bed.path("cache/lib.py").exists());
}

#[tokio::test]
async fn a_test_that_removes_a_lent_folder_is_no_fault_of_the_machine() {
    let mut bed = Bed::green().await;
    bed.command("mkdir cache").await;
    // Only over the start, where the feature is missing.
    let body =
        "import shutil, app; hasattr(app, 'two') or shutil.rmtree('cache'); self.assertEqual(app.two(), 2)";
    bed.write(TEST, &test_that(body)).await;
    let said = bed.finish().await;
    assert_eq!(bed.end, Some(End::Proven), "{said}");
    assert!(!bed.path("cache").exists());
}

#[tokio::test]
async fn an_init_script_that_the_session_broke_is_refused() {
    let mut bed = Bed::green().await;
    bed.edit("init.sh", "true", "echo where is it; exit 7").await;
    let said = bed.refusal().await;
    assert!(said.contains("init.sh fails:\nexit code 7\nwhere is it"), "{said}");
}

#[tokio::test]
async fn a_test_that_is_ignored_or_behind_a_link_would_not_be_committed() {
    let mut bed = Bed::green().await;
    bed.command(
        "echo 'tests/test_f002.py' >> .gitignore; mv tests/test_f002.py t; cp t tests/test_f002.py; rm t",
    )
    .await;
    // It is tracked since it was written; a checkpoint without it forgets that.
    bed.command("rm tests/test_f002.py").await;
    bed.command(&format!("printf '%s' \"{}\" > tests/test_f002.py", test_of_two())).await;
    assert!(bed.path(TEST).exists());
    let said = bed.refusal().await;
    assert!(said.contains("would not be committed: .gitignore ignores it"), "{said}");

    let mut bed = Bed::green().await;
    bed.command(
        "mkdir other; mv tests/test_f002.py other/real.py; ln -s ../other/real.py tests/test_f002.py",
    )
    .await;
    let said = bed.refusal().await;
    assert!(said.contains("lies behind a symbolic link"), "{said}");
}

#[tokio::test]
async fn a_test_that_rewrites_an_older_one_while_it_runs_is_refused() {
    let mut bed = Bed::red().await;
    bed.write("app.py", "def two():\n    return 2\n").await;
    let older = bed.on_disk(OLDER).unwrap();
    let body =
        "import app, os; app.two(); os.path.exists('go.db') and open('tests/test_f001.py', 'w').close()";
    bed.write(TEST, &test_that(body)).await;
    put(&bed.workspace.project(), &[("go.db", "")]);
    let said = bed.refusal().await;
    assert!(
        said.contains("changes files that belong to the harness (they were put back): tests/test_f001.py"),
        "{said}"
    );
    assert_eq!(bed.on_disk(OLDER), Some(older));
}

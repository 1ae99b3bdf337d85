//! The test comes first, whatever way the agent takes.

use std::time::Duration;

use super::bed::{APP, APP_WITH_TWO, Bed, TEST, test_of_two, test_that};

#[tokio::test]
async fn nothing_but_tests_is_written_before_red_in_any_spelling() {
    let mut bed = Bed::new().await;
    for path in
        ["app.py", "./app.py", "/project/app.py", "tests/../app.py", "/project/tests/../app.py", "new.py"]
    {
        let said = bed.write(path, APP_WITH_TWO).await;
        assert!(said.starts_with("ERROR"), "{path}: {said}");
        let said = bed.edit(path, "return 1", "return 2").await;
        assert!(said.starts_with("ERROR"), "{path}: {said}");
    }
    assert!(bed.write("app.py", "").await.contains("the test comes first"));
    assert_eq!(bed.on_disk("app.py").as_deref(), Some(APP));
    assert_eq!(bed.on_disk("new.py"), None);
    assert_eq!(bed.before.checkpoint, bed.base);
}

#[tokio::test]
async fn what_a_command_changes_before_red_is_undone_and_told() {
    let mut bed = Bed::new().await;
    let said = bed
        .command("echo 'x = 1' >> app.py; mkdir -p lib tests; echo y > lib/y.py; echo z > tests/z.txt")
        .await;
    assert!(said.contains("These changes were undone, the test comes first: app.py, lib/y.py"), "{said}");
    assert_eq!(bed.on_disk("app.py").as_deref(), Some(APP));
    assert_eq!(bed.on_disk("lib/y.py"), None);
    assert_eq!(bed.on_disk("tests/z.txt").as_deref(), Some("z\n"), "helpers of tests may be made");
}

#[tokio::test]
async fn what_a_command_hides_by_new_ignore_rules_is_undone_as_well() {
    let mut bed = Bed::new().await;
    let said = bed.command("echo '*' > .gitignore; echo 'x = 1' > hidden.py").await;
    assert!(said.contains(".gitignore, hidden.py"), "{said}");
    assert_eq!(bed.on_disk("hidden.py"), None);
}

#[tokio::test]
async fn a_run_of_tests_changes_nothing_else_before_red_either() {
    let mut bed = Bed::new().await;
    let said = bed.write(TEST, &test_that("open('app.py', 'a').write('x = 1\\n'); self.fail()")).await;
    assert!(bed.before.red && said.contains("RED: "), "{said}");
    assert!(said.contains("undone, the test comes first: app.py"), "{said}");
    assert_eq!(bed.on_disk("app.py").as_deref(), Some(APP));
}

#[tokio::test]
async fn many_changes_are_named_in_few_words() {
    let mut bed = Bed::new().await;
    let said = bed.command("mkdir lib; for i in $(seq 1 300); do echo > lib/f$i; done").await;
    assert!(said.contains("and 290 more"), "{said}");
    assert!(said.len() < 1_000);
    assert!(!bed.path("lib/f1").exists() && !bed.path("lib/f300").exists());
}

#[tokio::test]
async fn a_test_that_fails_opens_the_way() {
    let mut bed = Bed::new().await;
    let said = bed.write(&format!("/project/./{TEST}"), &test_of_two()).await;
    assert!(said.contains("\nRED: the test fails, as it should"), "{said}");
    assert!(bed.before.red);
    assert_eq!(bed.recorded(TEST).await, Some(test_of_two()));
    bed.write("app.py", APP_WITH_TWO).await;
    assert_eq!(bed.recorded("app.py").await.as_deref(), Some(APP_WITH_TWO));
    assert!(bed.tests(Some(TEST)).await.starts_with("PASSED: tests/test_f002.py"));
}

#[tokio::test]
async fn unresolved_imports_are_red() {
    let mut bed = Bed::new().await;
    let said = bed.write(TEST, "from app import two\n").await;
    assert!(bed.before.red, "{said}");
}

#[tokio::test]
async fn a_test_that_passes_or_does_not_parse_is_not_red() {
    let mut bed = Bed::new().await;
    let said = bed.write(TEST, &test_that("self.assertTrue(True)")).await;
    assert!(said.contains("NOT RED: the test passes although nothing was built"), "{said}");
    let said = bed.write(TEST, "def broken(:\n").await;
    assert!(said.contains("NOT RED: tests/test_f002.py does not parse"), "{said}");
    assert!(!bed.before.red);
    let said = bed.edit(TEST, "def broken(:\n", &test_of_two()).await;
    assert!(said.contains("\nRED: "), "an edit counts like a write: {said}");
}

#[tokio::test]
async fn a_runner_that_is_missing_is_not_red() {
    let mut bed = Bed::new().await;
    bed.project.test_command = "no-such-runner {files}".to_owned();
    let said = bed.write(TEST, &test_of_two()).await;
    assert!(said.contains("NOT RED: the test could not be run to its end"), "{said}");
    assert!(!bed.before.red);
}

#[tokio::test]
async fn a_test_that_does_not_end_is_not_red() {
    let mut bed = Bed::new().await.with_test_timeout(Duration::from_secs(2));
    let said = bed.write(TEST, &test_that("import time; time.sleep(600)")).await;
    assert!(said.contains("NOT RED") && said.contains("not finished after 2 s, ended"), "{said}");
    assert!(!bed.before.red);
}

#[tokio::test]
async fn a_feature_that_was_reopened_has_its_test_and_keeps_it() {
    let mut bed = Bed::new().await;
    bed.features[1].reopened = 1;
    bed.before.red = true;
    assert!(bed.write(TEST, &test_of_two()).await.contains("belongs to the harness"));
    assert!(bed.write("app.py", APP_WITH_TWO).await.starts_with("wrote"));
}

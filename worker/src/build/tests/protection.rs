//! What the harness owns stays as it is; what an agent breaks comes back.

use nightforge_domain::contract::Action;

use super::bed::{APP, APP_WITH_TWO, Bed, OLDER, TEST, test_of_two};

#[tokio::test]
async fn tools_do_not_write_what_the_harness_owns() {
    let mut bed = Bed::red().await;
    for path in
        ["feature_list.json", "./progress.txt", "/project/feature_list.json", OLDER, "tests//test_f001.py"]
    {
        assert!(bed.write(path, "{}").await.contains("belongs to the harness"), "{path}");
        assert!(bed.edit(path, "e", "E").await.contains("belongs to the harness"), "{path}");
    }
    for path in [".git/config", "lib/.git/hooks/post-commit", "../outside", "/etc/passwd"] {
        assert!(bed.write(path, "x").await.starts_with("ERROR"), "{path}");
    }
}

#[tokio::test]
async fn commands_do_not_change_what_the_harness_owns() {
    let mut bed = Bed::red().await;
    let owned = ["feature_list.json", "progress.txt", OLDER];
    let originals: Vec<String> = owned.iter().map(|path| bed.on_disk(path).unwrap()).collect();
    let said = bed.command(&format!("for f in {}; do echo changed > $f; done", owned.join(" "))).await;
    assert!(said.contains("ERROR: these files belong to the harness and were put back: feature_list.json, progress.txt, tests/test_f001.py"), "{said}");
    for (path, original) in owned.iter().zip(&originals) {
        assert_eq!(bed.on_disk(path).as_ref(), Some(original), "{path}");
    }
    assert!(bed.command(&format!("rm -r tests {}", owned[..2].join(" "))).await.contains("put back"));
    for (path, original) in owned.iter().zip(&originals) {
        assert_eq!(bed.on_disk(path).as_ref(), Some(original), "{path}");
    }
}

#[tokio::test]
async fn an_edit_that_breaks_a_file_is_undone_with_the_reason() {
    let mut bed = Bed::red().await;
    let said = bed.edit("app.py", "def one():", "def one(:").await;
    assert!(
        said.contains("the edit was undone, because app.py would no longer parse")
            && said.contains("SyntaxError"),
        "{said}"
    );
    assert_eq!(bed.on_disk("app.py").as_deref(), Some(APP));
    // A file that is broken already may be mended in steps.
    bed.command("echo 'def broken(:' > other.py").await;
    assert!(!bed.edit("other.py", "broken", "still_broken").await.starts_with("ERROR"));
}

#[tokio::test]
async fn a_module_of_the_project_does_not_deceive_the_checker() {
    let mut bed = Bed::red().await;
    bed.write("ast.py", "raise SystemExit('not the library')\n").await;
    assert!(!bed.write("app.py", APP_WITH_TWO).await.contains("does not parse"));
    assert!(bed.write("/project/broken.py", "def x(:\n").await.contains("broken.py does not parse"));
}

#[tokio::test]
async fn commands_end_by_themselves() {
    let mut bed = Bed::red().await;
    for command in ["python3 -m http.server &", "sleep 100 & \n", "sleep 100 &&"] {
        assert!(bed.command(command).await.contains("commands must end by themselves"), "{command}");
    }
    let slow = Action::RunCommand { command: "echo begun; sleep 100".to_owned(), timeout_s: Some(1) };
    let said = bed.act(slow).await;
    assert!(said.starts_with("ERROR: not finished after 1 s, ended\nbegun\n"), "{said}");
    assert!(said.contains("Start the server inside the test file"), "{said}");
}

#[tokio::test]
async fn one_path_goes_back_to_the_start() {
    let mut bed = Bed::green().await;
    assert_eq!(bed.revert("/project/app.py").await, "app.py is as it was at the session's start.");
    assert_eq!(bed.on_disk("app.py").as_deref(), Some(APP));
    assert_eq!(bed.on_disk(TEST), Some(test_of_two()), "the rest stays");
    assert!(bed.revert("app.py").await.contains("has not changed since the session's start"));
    assert!(bed.revert("nowhere.py").await.contains("has not changed"));
    assert!(bed.revert("../../outside").await.starts_with("ERROR"));
    bed.revert("tests").await;
    assert_eq!(bed.on_disk(TEST), None);
}

#[tokio::test]
async fn everything_goes_back_to_the_start_and_is_prepared_again() {
    let mut bed = Bed::with_first_files(&[("init.sh", "#!/bin/sh\nmkdir -p uploads\n")]).await;
    bed.write(TEST, &test_of_two()).await;
    bed.write("lib/new.py", "x = 1\n").await;
    let said = bed.revert("session_start").await;
    assert_eq!(said, "Everything is as it was at the session's start.");
    assert_eq!((bed.on_disk(TEST), bed.on_disk("lib/new.py")), (None, None));
    assert!(bed.path("uploads").is_dir(), "git does not know empty folders; init.sh does");
    assert_eq!(bed.before.checkpoint, bed.before.checkpoint);
    assert_eq!(bed.recorded("lib/new.py").await, None);
}

#[tokio::test]
async fn a_run_of_all_tests_needs_one() {
    let mut bed = Bed::new().await;
    assert!(
        bed.tests(None).await.starts_with("PASSED: tests/test_f001.py. If the feature is done, finish.\n")
    );
    bed.features[0].status = nightforge_domain::build::FeatureStatus::Waiting;
    assert!(bed.tests(None).await.contains("there is no test yet; write tests/test_f002.py first"));
    bed.write(TEST, &test_of_two()).await;
    assert!(bed.tests(None).await.starts_with("FAILED: tests/test_f002.py.\nexit code 1"));
}

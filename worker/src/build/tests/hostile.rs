//! Agents that destroy, deceive and fill: only the workspace suffers, and the harness goes on.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::bed::{APP, Bed, OLDER, TEST, put};

#[tokio::test]
async fn who_deletes_everything_gets_back_what_the_harness_owns_and_may_revert_the_rest() {
    let mut bed = Bed::green().await;
    let said = bed.command("rm -rf /project/* /project/.gitignore; rm -rf / 2>/dev/null; true").await;
    assert!(said.contains("put back: feature_list.json, progress.txt, tests/test_f001.py"), "{said}");
    assert!(bed.on_disk(OLDER).is_some());
    assert_eq!(bed.on_disk("app.py"), None, "the agent's own doing");
    assert!(bed.refusal().await.contains("tests/test_f002.py does not exist"));
    bed.revert("session_start").await;
    assert_eq!(bed.on_disk("app.py").as_deref(), Some(APP));
}

#[tokio::test]
async fn before_red_it_all_comes_back_by_itself() {
    let mut bed = Bed::new().await;
    bed.command("rm -rf /project/* /project/.gitignore").await;
    assert_eq!(bed.on_disk("app.py").as_deref(), Some(APP));
    assert!(bed.on_disk(OLDER).is_some());
}

/// A folder of the host that must stay as it is, and how it looks.
fn outside(bed: &Bed) -> (std::path::PathBuf, impl Fn() -> String + use<>) {
    let folder = bed.data.join("outside");
    put(&folder, &[("test_f001.py", "outside"), ("victim", "outside")]);
    let seen = folder.clone();
    let look = move || {
        let mut names: Vec<String> = std::fs::read_dir(&seen)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let meta = entry.metadata().unwrap();
                let content = std::fs::read_to_string(entry.path()).unwrap();
                format!("{:?} {} {:o} {content}", entry.file_name(), meta.uid(), meta.mode())
            })
            .collect();
        names.sort();
        format!("{} {names:?}", std::fs::metadata(&seen).unwrap().uid())
    };
    (folder, look)
}

#[tokio::test]
async fn links_that_lead_out_are_not_followed_by_any_of_the_harnesss_writes() {
    let mut bed = Bed::green().await;
    let (folder, look) = outside(&bed);
    let before = look();
    let folder = folder.display();
    // In place of the tests, of owned files, of an ignored folder, of the red run's folder.
    bed.command(&format!("mv tests old; ln -s {folder} tests; rm feature_list.json; ln -s {folder}/victim feature_list.json; ln -s {folder} cache")).await;
    assert!(bed.path(OLDER).symlink_metadata().unwrap().is_file(), "the older test was put back as a file");
    assert!(bed.path("feature_list.json").symlink_metadata().unwrap().is_file());
    assert!(bed.write("cache/victim", "x").await.starts_with("ERROR"));
    bed.command(&format!("rm -rf tests; ln -s {folder} tests")).await;
    bed.refusal().await;
    bed.revert("session_start").await;
    bed.workspace.own(bed.workspace.project()).await.unwrap();
    assert_eq!(look(), before);
}

#[tokio::test]
async fn a_test_file_behind_a_link_to_the_host_is_none() {
    let mut bed = Bed::green().await;
    bed.command("rm -r tests; ln -s /etc tests").await;
    bed.command("rm -r tests; mkdir tests; ln -s /etc/passwd tests/test_f002.py").await;
    let said = bed.refusal().await;
    assert!(said.contains("tests/test_f002.py does not exist"), "{said}");
}

#[tokio::test]
async fn a_link_in_the_commit_takes_no_ignored_folder_out() {
    let mut bed = Bed::green().await;
    let (folder, look) = outside(&bed);
    let before = look();
    // The red run's folder gets the link from the commit, the workspace has a folder of that name.
    let target = folder.join("not-there");
    std::os::unix::fs::symlink(&target, bed.path("cache")).unwrap();
    bed.base = bed
        .workspace
        .commit(Some(&bed.base), "a link".to_owned(), nightforge_domain::Millis(0))
        .await
        .unwrap();
    bed.command("rm cache; mkdir cache; echo x > cache/x").await;
    let said = bed.finish().await;
    assert!(bed.end.is_some(), "{said}");
    assert_eq!(look(), before);
    assert!(!target.exists());
}

#[tokio::test]
async fn a_fifo_in_the_place_of_a_file_keeps_nobody_waiting() {
    let mut bed = Bed::new().await;
    bed.command("mkdir -p tests; rm -f tests/test_f002.py; mkfifo tests/test_f002.py").await;
    assert!(bed.path(TEST).exists());
    assert!(bed.refusal().await.contains("tests/test_f002.py does not exist"));
    assert!(bed.edit(TEST, "a", "b").await.starts_with("ERROR"));
    let mut bed = Bed::green().await;
    bed.command("rm .gitignore app.py; mkfifo .gitignore app.py").await;
    assert!(bed.tests(None).await.starts_with("FAILED") || bed.end.is_none());
    bed.command("rm app.py .gitignore").await;
}

#[tokio::test]
async fn a_command_that_fills_the_workspace_is_undone() {
    let mut bed = Bed::red().await;
    let checkpoint = bed.before.checkpoint.clone();
    let started = Instant::now();
    let said = bed.command("head -c 1500000000 /dev/zero > big; true").await;
    assert!(said.contains("all of it was undone: files of more than 200 MB in all"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(!bed.path("big").exists());
    assert_eq!(bed.before.checkpoint, checkpoint);
    let said = bed.command("mkdir many; cd many; seq 1 25000 | xargs touch").await;
    assert!(said.contains("more than 20000 files"), "{said}");
    assert!(!bed.path("many").exists());
}

#[tokio::test]
async fn names_and_depths_that_git_refuses_are_the_agents_doing() {
    let mut bed = Bed::red().await;
    let deep = bed.command("d=a; for i in $(seq 1 130); do mkdir $d && cd $d; done; touch x").await;
    assert!(deep.contains("all of it was undone") && deep.contains("nested deeper"), "{deep}");
    assert!(!bed.path("a").exists());
    for name in [".git ", ".git.", ".GIT", "git~1", "a\\b", "con", "new\nline", "\u{202e}x"] {
        bed.act(nightforge_domain::contract::Action::RunCommand {
            command: format!("mkdir -p lib; echo x > 'lib/{name}'; echo x > '{name}'"),
            timeout_s: None,
        })
        .await;
    }
    bed.command("printf x > \"$(printf 'not-utf8-\\377')\"").await;
    bed.finish().await;
}

#[tokio::test]
async fn output_without_end_is_cut() {
    let mut bed = Bed::red().await;
    let said = bed.command("yes | head -c 1000000000").await;
    assert!(said.len() < 10_000, "{}", said.len());
}

#[tokio::test]
async fn rights_that_were_taken_away_hinder_nobody() {
    let mut bed = Bed::green().await;
    bed.command("mkdir shut; echo x > shut/x; chmod 000 shut/x shut app.py tests/test_f002.py").await;
    bed.refusal().await;
    bed.revert("session_start").await;
    assert!(!bed.path("shut").exists());
}

//! The first message stays small, whatever lies in the project.

use nightforge_domain::Millis;
use nightforge_llm::estimate_tokens;

use super::bed::{Bed, put};
use crate::build::bearings::{Facts, message};

async fn said(bed: &Bed) -> String {
    let facts = Facts {
        directory: "/project".to_owned(),
        project: &bed.project,
        feature: &bed.features[1],
        attempt: 3,
        passed: 1,
        total: 3,
        base: &bed.base,
        init: "ok".to_owned(),
        turns: 60,
    };
    message(&bed.workspace, &facts).await.unwrap()
}

async fn commit(bed: &mut Bed, message: String) {
    bed.base = bed.workspace.commit(Some(&bed.base), message, Millis(0)).await.unwrap();
}

#[tokio::test]
async fn it_says_where_we_are() {
    let bed = Bed::new().await;
    let said = said(&bed).await;
    for part in [
        "You are in /project.",
        "PROGRESS: 1 of 3 features pass.",
        "Initializer: prepared.",
        "F001: one",
        "Prepare the project",
        "FEATURE: F002",
        "TEST FILE: tests/test_f002.py",
        "ATTEMPT: 3",
    ] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
}

#[tokio::test]
async fn it_never_has_over_3000_tokens() {
    let mut bed = Bed::new().await;
    let mut diary = "line after line of the diary\n".repeat(180_000);
    diary.push_str(&format!("{}\n", "x".repeat(100_000)).repeat(10));
    diary.push_str("Session 9, F001, attempt 1: the newest entry\n");
    put(&bed.workspace.project(), &[("progress.txt", &diary)]);
    for number in 0..20 {
        commit(&mut bed, format!("commit {number} {}", "with a long subject ".repeat(500))).await;
    }
    bed.features[1].last_failure = Some(format!("{} the last word", "failed again, é; ".repeat(3_000)));
    bed.features[1].draft.description = "A very long description. ".repeat(400);
    bed.features[1].draft.steps = vec!["とても長いステップ".repeat(500); 40];
    bed.project.test_command = format!("python3 -m unittest {{files}} {}", "--long ".repeat(2_000));
    bed.project.build_command = Some("make ".repeat(5_000));
    bed.project.name = "name".repeat(5_000);
    let said = said(&bed).await;
    assert!(estimate_tokens(&said) <= 3_000, "{}", estimate_tokens(&said));
    for part in ["F002", "A very long description.", "tests/test_f002.py", "the last word"] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
}

#[tokio::test]
async fn a_long_diary_alone_costs_only_the_diary() {
    let mut bed = Bed::new().await;
    let diary = format!(
        "{}the newest entry\n",
        "an entry of an ordinary length, as sessions write them\n".repeat(90_000)
    );
    assert!(diary.len() > 4_900_000);
    put(&bed.workspace.project(), &[("progress.txt", &diary)]);
    commit(&mut bed, "longer".to_owned()).await;
    let said = said(&bed).await;
    assert!(said.contains("the newest entry") && said.contains("look at what comes back"));
    assert!(estimate_tokens(&said) <= 3_000);
    assert!(said.matches("an entry of an ordinary length").count() >= 10);
}

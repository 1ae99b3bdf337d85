//! Whole sessions: a scripted model, a real workspace, the journal in between.

use std::sync::Arc;

use nightforge_domain::contract::{Action, CodingAction, FinishOutcome};
use nightforge_domain::{CommitId, FeatureId, Limits, SessionOutcome, SessionReport};
use nightforge_store::Claim;
use serde_json::{Value, json};

use super::bed::{APP, APP_WITH_TWO, Bed, TEST, put, test_of_two, test_that};
use crate::build::runner::Runner;
use crate::build::session::Session;
use crate::build::workspace::Workspace;
use crate::engine::tests::bed::Bed as Engine;
use crate::engine::tests::model::{Reply, last_message};
use crate::engine::{Failure, Workshop};
use crate::project::Repository;

/// A claimed job, and the project that its session works on.
pub(super) struct Desk {
    pub(super) engine: Engine,
    pub(super) bed: Bed,
    pub(super) claim: Claim,
    pub(super) workshop: Arc<Workshop>,
}

impl Desk {
    pub(super) async fn new(limits: Limits, answers: Vec<Action>) -> Self {
        Self::with_first_files(limits, answers, &[]).await
    }

    pub(super) async fn with_first_files(
        limits: Limits,
        answers: Vec<Action>,
        files: &[(&str, &str)],
    ) -> Self {
        let engine = Engine::new(answers.into_iter().map(|action| Reply::Say(turn(action)))).await;
        engine.task(limits).await;
        let claim = engine.claim().await;
        let bed = Bed::at(engine.data.path(), &claim, files).await;
        let workshop = engine.workshop();
        Self { engine, bed, claim, workshop }
    }

    /// Runs the session under the current claim.
    pub(super) async fn run(&self) -> Result<SessionReport, Failure> {
        let (mut context, _signal) = self.engine.context_in(self.claim.clone(), &self.workshop).await;
        let workspace = Workspace::open(self.engine.data.path(), &self.claim, &self.workshop.sandbox).await?;
        let runner = Runner::new(&self.workshop.sandbox, &workspace);
        let build = self.bed.build();
        let feature = FeatureId::numbered(2);
        Session::new(&workspace, &runner, &build, &feature, &self.bed.base, 4, 1)?.run(&mut context).await
    }

    /// Runs the session until the model was asked so often; then its claim is dropped, as by a worker that is killed.
    async fn run_until_asked(&self, times: usize) {
        tokio::select! {
            ended = self.run() => panic!("the session ended: {ended:?}"),
            _ = self.engine.model.until_asked(times) => {}
        }
    }

    /// The job is claimed anew.
    async fn claim_again(&mut self) {
        self.engine.execute("UPDATE jobs SET state = 'ready', run_after = 0").await;
        let before = self.claim.fence;
        self.claim = self.engine.claim().await;
        assert!(self.claim.fence > before);
    }

    fn file_at(&self, commit: &CommitId, path: &str) -> Option<String> {
        let content =
            Repository::open(self.bed.workspace.repository()).unwrap().file_at(commit, path).unwrap();
        content.map(|content| String::from_utf8(content).unwrap())
    }

    fn subjects(&self, commit: &CommitId) -> Vec<String> {
        let log = Repository::open(self.bed.workspace.repository()).unwrap().log(commit, 10).unwrap();
        log.into_iter().map(|entry| entry.subject).collect()
    }
}

fn turn(action: Action) -> Value {
    json!(CodingAction { thought: "t".to_owned(), action })
}

pub(super) fn write(path: &str, content: &str) -> Action {
    Action::WriteFile { path: path.to_owned(), content: content.to_owned() }
}

pub(super) fn command(command: &str) -> Action {
    Action::RunCommand { command: command.to_owned(), timeout_s: None }
}

pub(super) fn finish(outcome: FinishOutcome) -> Action {
    Action::Finish { outcome, note: "The note for the next session.".to_owned() }
}

#[tokio::test]
async fn a_proven_feature_is_one_commit_of_what_was_judged() {
    // The test leaves something behind whenever it runs; that is no part of the proof.
    let body = "import app; open('left-by-the-test', 'w').close(); self.assertEqual(app.two(), 2)";
    let answers =
        vec![write(TEST, &test_that(body)), write("app.py", APP_WITH_TWO), finish(FinishOutcome::Done)];
    let desk = Desk::new(Limits::default(), answers).await;
    let report = desk.run().await.unwrap();
    assert_eq!(report.outcome, SessionOutcome::Passed);
    assert!(report.changed);
    assert_eq!(desk.subjects(&report.head)[..2], ["F002: The program gives the number 2", "F001: one"]);
    assert_eq!(desk.file_at(&report.head, "app.py").as_deref(), Some(APP_WITH_TWO));
    assert_eq!(desk.file_at(&report.head, "left-by-the-test"), None);
    let list: Value =
        serde_json::from_str(&desk.file_at(&report.head, "feature_list.json").unwrap()).unwrap();
    assert_eq!(list["features"][1]["passes"], true);
    let diary = desk.file_at(&report.head, "progress.txt").unwrap();
    assert!(
        diary.ends_with("Session 4, F002, attempt 1: passed\n  The note for the next session.\n"),
        "{diary}"
    );
    let message = {
        let git = git2::Repository::open_bare(desk.bed.workspace.repository()).unwrap();
        let commit = git.find_commit(git2::Oid::from_str(report.head.as_str()).unwrap()).unwrap();
        commit.message().unwrap().to_owned()
    };
    let task = &desk.claim.job.task;
    assert!(message.ends_with(&format!("\n\nTask: {task}\nFeature: F002\nAttempt: 1\n")), "{message}");
}

#[tokio::test]
async fn a_conversation_that_the_server_finds_too_long_is_shrunk_once() {
    let desk = Desk::new(Limits::default(), vec![command("seq 100"), command("seq 200 300")]).await;
    let too_long = "{\"error\":{\"message\":\"request (9000 tokens) exceeds the available context size (4096 tokens)\"}}";
    desk.engine.model.then(Reply::Fail(400, too_long));
    desk.engine.model.then(Reply::Say(turn(finish(FinishOutcome::Blocked))));
    desk.run().await.unwrap();
    let asked = desk.engine.model.asked();
    assert_eq!(asked.len(), 4);
    let result_of_the_first =
        |request: &Value| request["messages"][3]["content"].as_str().unwrap().to_owned();
    assert!(result_of_the_first(&asked[2]).contains("\n99\n"), "whole at first");
    assert!(result_of_the_first(&asked[3]).ends_with("[shortened]"), "{}", result_of_the_first(&asked[3]));
    assert!(last_message(&asked[3]).contains("\n299\n"), "the newest result stays whole");
}

#[tokio::test]
async fn a_session_that_gives_up_leaves_only_its_note() {
    let answers = vec![
        write(TEST, &test_of_two()),
        write("app.py", "broken = True\n"),
        command("rm -rf tests progress.txt; echo x > y"),
        finish(FinishOutcome::Blocked),
    ];
    let desk = Desk::new(Limits::default(), answers).await;
    let report = desk.run().await.unwrap();
    let reason = "the agent gave up: The note for the next session.".to_owned();
    assert_eq!(report.outcome, SessionOutcome::Failed { reason });
    assert!(report.changed);
    assert_eq!(desk.file_at(&report.head, "app.py").as_deref(), Some(APP));
    assert_eq!((desk.file_at(&report.head, TEST), desk.file_at(&report.head, "y")), (None, None));
    assert!(
        desk.file_at(&report.head, "progress.txt").unwrap().contains("attempt 1: failed: the agent gave up")
    );
    let kept =
        Repository::open(desk.bed.workspace.repository()).unwrap().refs("refs/nightforge/attempts/").unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        desk.file_at(&kept[0].1, "app.py").as_deref(),
        Some("broken = True\n"),
        "the attempt is kept aside"
    );
}

#[tokio::test]
async fn what_init_makes_is_spared_before_red() {
    let answers = vec![command("cat schema.sql"), finish(FinishOutcome::Blocked)];
    let init = [("init.sh", "#!/bin/sh\necho 'create table' > schema.sql\n")];
    let desk = Desk::with_first_files(Limits::default(), answers, &init).await;
    let report = desk.run().await.unwrap();
    let said = last_message(&desk.engine.model.asked()[1]);
    assert!(said.contains("create table") && !said.contains("undone"), "{said}");
    assert!(!report.changed, "it is not the agent's doing");
}

#[tokio::test]
async fn a_session_goes_on_from_its_journal_in_the_files_of_its_last_checkpoint() {
    let mut desk =
        Desk::new(Limits::default(), vec![write(TEST, &test_of_two()), write("app.py", APP_WITH_TWO)]).await;
    desk.run_until_asked(3).await;
    let steps = desk.engine.store.journal(&desk.claim.job).await.unwrap();
    put(&desk.bed.workspace.project(), &[("app.py", "the killed worker wrote on\n")]);
    desk.claim_again().await;
    desk.engine.model.then(Reply::Say(turn(finish(FinishOutcome::Done))));
    let report = desk.run().await.unwrap();
    assert_eq!(report.outcome, SessionOutcome::Passed);
    let after = desk.engine.store.journal(&desk.claim.job).await.unwrap();
    assert_eq!(after[..steps.len()], steps[..], "nothing was done again");
    let asked = desk.engine.model.asked();
    assert_eq!(asked[2]["messages"], asked[3]["messages"], "the conversation is the same");
    assert_eq!(desk.file_at(&report.head, "app.py").as_deref(), Some(APP_WITH_TWO));
}

#[tokio::test]
async fn a_cut_in_the_middle_goes_on_from_the_last_kept_checkpoint() {
    let answers = vec![
        write(TEST, &test_of_two()),
        write("kept.py", "x = 1\n"),
        write("cut.py", "x = 2\n"),
        write("app.py", APP_WITH_TWO),
    ];
    for cut_step in ["model", "tool"] {
        let mut desk = Desk::new(Limits::default(), answers.clone()).await;
        desk.run_until_asked(5).await;
        // Bearings, then model and tool of each turn: the third turn no longer fits.
        let from = if cut_step == "model" { 5 } else { 6 };
        let steps = desk.engine.store.journal(&desk.claim.job).await.unwrap();
        assert_eq!((steps.len(), steps[from].name.as_str()), (9, cut_step));
        desk.engine
            .execute(&format!("UPDATE steps SET input_hash = 'of another program' WHERE ordinal = {from}"))
            .await;
        desk.claim_again().await;
        if cut_step == "model" {
            desk.engine.model.then(Reply::Say(turn(command("ls"))));
        }
        desk.engine.model.then(Reply::Say(turn(command("ls; cat app.py"))));
        desk.engine.model.then(Reply::Say(turn(write("app.py", APP_WITH_TWO))));
        desk.engine.model.then(Reply::Say(turn(finish(FinishOutcome::Done))));
        let report = desk.run().await.unwrap();
        let seen = last_message(&desk.engine.model.asked()[6]);
        assert!(seen.contains("kept.py"), "{seen}");
        assert!(!seen.contains("return 2"), "app.py was written after the cut: {seen}");
        assert_eq!(
            seen.contains("cut.py"),
            cut_step == "tool",
            "the answer is kept, so its tool runs again: {seen}"
        );
        assert_eq!(report.outcome, SessionOutcome::Passed);
        assert_eq!(desk.file_at(&report.head, "kept.py").as_deref(), Some("x = 1\n"));
        assert_eq!(desk.file_at(&report.head, "cut.py").is_some(), cut_step == "tool");
        let log = desk.engine.log(&desk.claim.job.task).await;
        assert_eq!(log.iter().filter(|entry| *entry == "journal-cut").count(), 1);
    }
}

#[tokio::test]
async fn a_reopened_feature_is_repaired_under_its_own_test() {
    let answers =
        vec![write(TEST, &test_that("pass")), write("app.py", APP_WITH_TWO), finish(FinishOutcome::Done)];
    let mut desk = Desk::with_first_files(Limits::default(), answers, &[(TEST, &test_of_two())]).await;
    desk.bed.features[1].reopened = 1;
    let report = desk.run().await.unwrap();
    assert_eq!(report.outcome, SessionOutcome::Passed);
    assert_eq!(desk.file_at(&report.head, TEST), Some(test_of_two()));
}

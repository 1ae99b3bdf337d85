//! A session's tools on a small project: `app.py`, and the feature F001 that passes. The session is about F002.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use nightforge_domain::build::{Build, Feature, FeatureDraft, FeatureStatus, Project, feature_list};
use nightforge_domain::contract::{Action, Category, FinishOutcome};
use nightforge_domain::state::TaskState;
use nightforge_domain::{
    AgentModels, CommitId, FeatureId, Fence, JobId, JobNo, JobSpec, Kind, Limits, Millis, ModelName, Priority,
};
use nightforge_store::{Claim, TaskRow, fresh_id};
use tempfile::TempDir;

use crate::build::progress::{FEATURE_LIST, INIT_SCRIPT, PROGRESS};
use crate::build::runner::Runner;
use crate::build::toolbox::{Before, End, ToolOutcome, Toolbox};
use crate::build::workspace::Workspace;
use crate::sandbox::Sandbox;

pub(crate) static SANDBOX: LazyLock<Sandbox> =
    LazyLock::new(|| Sandbox::detect().expect("bubblewrap works here"));

/// The test file of the session's feature.
pub(crate) const TEST: &str = "tests/test_f002.py";
/// The test file of the feature that passes.
pub(crate) const OLDER: &str = "tests/test_f001.py";

/// The program before the session.
pub(crate) const APP: &str = "def one():\n    return 1\n";
/// The program with the session's feature.
pub(crate) const APP_WITH_TWO: &str = "def one():\n    return 1\n\n\ndef two():\n    return 2\n";

pub(crate) struct Bed {
    pub(crate) data: PathBuf,
    _folder: Option<TempDir>,
    pub(crate) workspace: Workspace,
    pub(crate) runner: Runner,
    pub(crate) project: Project,
    pub(crate) features: Vec<Feature>,
    pub(crate) first_commit: CommitId,
    pub(crate) base: CommitId,
    pub(crate) before: Before,
    /// How the last action ended the session.
    pub(crate) end: Option<End>,
}

/// A unittest file with one test.
pub(crate) fn test_that(body: &str) -> String {
    format!("import unittest\n\n\nclass Test(unittest.TestCase):\n    def test(self):\n        {body}\n")
}

/// Fails before the feature, and passes with [`APP_WITH_TWO`].
pub(crate) fn test_of_two() -> String {
    test_that("import app; self.assertEqual(app.two(), 2)")
}

pub(crate) fn claim(job: u32, fence: i64) -> Claim {
    let model: ModelName = "m".parse().unwrap();
    let state = TaskState::new(Kind::Build, false);
    let id = "01jd0000000000000000000000".parse().unwrap_or_else(|_| fresh_id());
    let task = TaskRow {
        id,
        kind: Kind::Build,
        objective: "o".to_owned(),
        owner: "local".to_owned(),
        priority: Priority::default(),
        models: AgentModels::same(&model),
        limits: Limits::default(),
        status: state.status(),
        phase: state.phase(),
        state,
        seq: 0,
        stopping: false,
        paused: false,
        paused_by: None,
        deadline: None,
        head: None,
        report: None,
        language: None,
        previous: None,
        secret: None,
        created_at: Millis(0),
        updated_at: Millis(0),
        finished_at: None,
    };
    Claim {
        job: JobId { task: task.id.clone(), no: JobNo(job) },
        fence: Fence(fence),
        spec: JobSpec::Initialize { revision: None },
        model,
        task,
        steps: 0,
        infra_failures: 0,
        claimed_at: Millis(0),
    }
}

pub(crate) fn project() -> Project {
    Project {
        name: "sums".to_owned(),
        test_command: "python3 -m unittest {files}".to_owned(),
        test_file_pattern: "tests/test_{id}.py".to_owned(),
        build_command: None,
        serve_command: None,
    }
}

pub(crate) fn feature(number: usize) -> Feature {
    let draft = FeatureDraft {
        category: Category::Functional,
        description: format!("The program gives the number {number}"),
        steps: vec!["call it".to_owned(), "look at what comes back".to_owned()],
    };
    Feature::new(FeatureId::numbered(number), draft)
}

impl Bed {
    pub(crate) async fn new() -> Self {
        Self::with_first_files(&[]).await
    }

    /// With more files in the first commit.
    pub(crate) async fn with_first_files(more: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bed = Self::at(folder.path(), &claim(1, 1), more).await;
        Self { _folder: Some(folder), ..bed }
    }

    /// In a data folder that the caller keeps, in the workspace of this claim.
    pub(crate) async fn at(data: &Path, claim: &Claim, more: &[(&str, &str)]) -> Self {
        let data = data.to_owned();
        let workspace = Workspace::open(&data, claim, &SANDBOX).await.unwrap();
        let project = project();
        let mut features: Vec<Feature> = (1..=3).map(feature).collect();
        let list = feature_list(&features, &project, None).text();
        let first_files = [
            ("app.py", ""),
            (".gitignore", "*.db\ncache/\n"),
            (INIT_SCRIPT, "#!/bin/sh\ntrue\n"),
            (FEATURE_LIST, list.as_str()),
            (PROGRESS, "Initializer: prepared.\n"),
        ];
        let folder = workspace.project();
        put(&folder, &first_files);
        put(&folder, more);
        workspace.own(folder.clone()).await.unwrap();
        let first_commit = workspace.commit(None, "Prepare the project".to_owned(), Millis(0)).await.unwrap();
        let older = test_that("import app; self.assertEqual(app.one(), 1)");
        put(&folder, &[("app.py", APP), (OLDER, &older)]);
        workspace.own(folder.clone()).await.unwrap();
        let base = workspace.commit(Some(&first_commit), "F001: one".to_owned(), Millis(0)).await.unwrap();
        features[0].status = FeatureStatus::Passed { commit: base.clone(), already: false };
        let runner = Runner::new(&SANDBOX, &workspace);
        let before = Before { checkpoint: base.clone(), red: false, now: Millis(0) };
        Self {
            data,
            _folder: None,
            workspace,
            runner,
            project,
            features,
            first_commit,
            base,
            before,
            end: None,
        }
    }

    /// With the session's test written and seen to fail.
    pub(crate) async fn red() -> Self {
        let mut bed = Self::new().await;
        let said = bed.write(TEST, &test_of_two()).await;
        assert!(bed.before.red, "{said}");
        bed
    }

    /// With the session's feature built as well.
    pub(crate) async fn green() -> Self {
        let mut bed = Self::red().await;
        bed.write("app.py", APP_WITH_TWO).await;
        bed
    }

    /// The state of the task that the session belongs to.
    pub(crate) fn build(&self) -> Build {
        Build {
            project: Some(self.project.clone()),
            features: self.features.clone(),
            head: Some(self.base.clone()),
            first_commit: Some(self.first_commit.clone()),
            ..Build::new(false)
        }
    }

    pub(crate) fn toolbox(&self) -> Toolbox<'_> {
        Toolbox {
            workspace: &self.workspace,
            runner: &self.runner,
            project: &self.project,
            features: &self.features,
            feature: &self.features[1],
            base: &self.base,
            start: &self.base,
            first_commit: &self.first_commit,
        }
    }

    pub(crate) async fn outcome(&mut self, action: Action) -> ToolOutcome {
        let outcome = self.toolbox().run(&action, &self.before).await.unwrap();
        self.before.checkpoint = outcome.checkpoint.clone();
        self.before.red = outcome.red;
        self.end = outcome.end;
        outcome
    }

    pub(crate) async fn act(&mut self, action: Action) -> String {
        self.outcome(action).await.text
    }

    pub(crate) async fn write(&mut self, path: &str, content: &str) -> String {
        self.act(Action::WriteFile { path: path.to_owned(), content: content.to_owned() }).await
    }

    pub(crate) async fn edit(&mut self, path: &str, old_text: &str, new_text: &str) -> String {
        let (old_text, new_text) = (old_text.to_owned(), new_text.to_owned());
        self.act(Action::EditFile { path: path.to_owned(), old_text, new_text }).await
    }

    pub(crate) async fn command(&mut self, command: &str) -> String {
        self.act(Action::RunCommand { command: command.to_owned(), timeout_s: Some(20) }).await
    }

    pub(crate) async fn tests(&mut self, file: Option<&str>) -> String {
        self.act(Action::RunTests { file: file.map(str::to_owned) }).await
    }

    pub(crate) async fn revert(&mut self, target: &str) -> String {
        self.act(Action::RevertTo { target: target.to_owned() }).await
    }

    /// Asks the gate.
    pub(crate) async fn finish(&mut self) -> String {
        self.act(Action::Finish { outcome: FinishOutcome::Done, note: String::new() }).await
    }

    /// Asks the gate, which must refuse.
    pub(crate) async fn refusal(&mut self) -> String {
        let said = self.finish().await;
        assert_eq!(self.end, None, "the gate accepted: {said}");
        said
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.workspace.project().join(path)
    }

    pub(crate) fn on_disk(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok()
    }

    /// A file as the last checkpoint has it.
    pub(crate) async fn recorded(&self, path: &str) -> Option<String> {
        let (checkpoint, path) = (self.before.checkpoint.clone(), path.to_owned());
        let content =
            self.workspace.git(move |repository| Ok(repository.file_at(&checkpoint, &path)?)).await.unwrap();
        content.map(|content| String::from_utf8(content).unwrap())
    }

    pub(crate) fn with_test_timeout(mut self, limit: Duration) -> Self {
        self.runner = self.runner.with_test_timeout(limit);
        self
    }
}

pub(crate) fn put(folder: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let file = folder.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
}

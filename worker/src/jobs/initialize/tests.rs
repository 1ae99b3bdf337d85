//! The Initializer with a scripted model: what is accepted, what is asked again, what is a fault.

use nightforge_domain::fault::FaultClass;
use nightforge_domain::{Initialized, Limits};
use serde_json::{Value, json};

use super::checks::{normalised, pattern_problem};
use crate::engine::Failure;
use crate::engine::tests::bed::Bed;
use crate::engine::tests::model::{Reply, last_message};
use crate::project::Repository;

const MINIMUM: u32 = 3;

fn plan(change: &Value) -> Value {
    let mut plan = json!({
        "thought": "Python with its standard library.",
        "name": "board",
        "test_command": "python3 -m unittest {files}",
        "test_file_pattern": "tests/test_{id}.py",
        "build_command": null,
        "serve_command": null,
        "init_script": "mkdir -p data\n",
    });
    for (name, value) in change.as_object().unwrap() {
        plan[name] = value.clone();
    }
    plan
}

fn batch(descriptions: &[&str]) -> Value {
    let features: Vec<Value> = descriptions
        .iter()
        .map(|text| json!({"category": "functional", "description": text, "steps": ["look", "check"]}))
        .collect();
    json!({"thought": "t", "features": features})
}

fn three() -> Value {
    batch(&["A card can be added", "A card can be moved", "A card can be deleted"])
}

fn file(path: &str, content: &str, more: bool) -> Value {
    json!({"thought": "t", "path": path, "content": content, "more": more})
}

fn script(text: &str) -> Value {
    json!({"thought": "t", "init_script": text})
}

/// How it ended, what the model was asked, and the first commit's files by path.
struct Ran {
    ended: Result<Initialized, Failure>,
    asked: Vec<String>,
    bed: Bed,
    repository: std::path::PathBuf,
}

impl Ran {
    fn made(&self) -> &Initialized {
        self.ended.as_ref().unwrap_or_else(|error| panic!("{error:?}\n{}", self.asked.join("\n---\n")))
    }

    fn fault(&self) -> &str {
        match &self.ended {
            Err(Failure::Fault { class: FaultClass::ModelOutputInvalid, reason }) => reason,
            other => panic!("no fault: {other:?}"),
        }
    }

    fn file(&self, path: &str) -> Option<String> {
        let repository = Repository::open(&self.repository).unwrap();
        repository
            .file_at(&self.made().head, path)
            .unwrap()
            .map(|content| String::from_utf8(content).unwrap())
    }
}

async fn initialize(answers: Vec<Value>) -> Ran {
    let bed = Bed::new(answers.into_iter().map(Reply::Say)).await;
    bed.task(Limits { min_features: MINIMUM, ..Limits::default() }).await;
    let claim = bed.claim().await;
    let repository = crate::branch::repository_path(bed.data.path(), &claim.job.task);
    let workshop = bed.workshop();
    let (mut context, _signal) = bed.context_in(claim, &workshop).await;
    let running = super::run(&workshop, &mut context, None);
    let ended =
        tokio::time::timeout(std::time::Duration::from_secs(120), running).await.expect("it asked for more");
    let asked = bed.model.asked().iter().map(last_message).collect();
    Ran { ended, asked, bed, repository }
}

#[tokio::test]
async fn plan_features_files_and_script_become_the_first_commit() {
    let answers = vec![
        plan(&json!({"build_command": "  ", "serve_command": "null"})),
        three(),
        file("./app.py", "", true),
        file("README.md", "# Board\n", false),
    ];
    let ran = initialize(answers).await;
    let made = ran.made();
    assert_eq!((made.features.len(), made.project.test_file_pattern.as_str()), (3, "tests/test_{id}.py"));
    assert_eq!(
        (&made.project.build_command, &made.project.serve_command),
        (&None, &None),
        "nothing, said in words"
    );
    assert_eq!(ran.file("app.py").as_deref(), Some(""));
    assert_eq!(ran.file("init.sh").as_deref(), Some("mkdir -p data\n"));
    assert!(ran.file("progress.txt").unwrap().contains("3 features listed, none of them built"));
    let list: Value = serde_json::from_str(&ran.file("feature_list.json").unwrap()).unwrap();
    let features = list["features"].as_array().unwrap();
    assert!(features.len() == 3 && features.iter().all(|feature| feature["passes"] == false));
    assert_eq!(features[2]["test_file"], "tests/test_f003.py");
    assert_eq!(ran.bed.model.asked().len(), 4);
}

#[tokio::test]
async fn a_feature_that_is_listed_already_does_not_count() {
    let again = batch(&["a card  can be ADDED.", "A card can be moved", "A card can be deleted"]);
    let answers = vec![plan(&json!({})), batch(&["A card can be added"]), again, file("app.py", "", false)];
    let ran = initialize(answers).await;
    let descriptions: Vec<&str> =
        ran.made().features.iter().map(|feature| feature.description.as_str()).collect();
    assert_eq!(descriptions, ["A card can be added", "A card can be moved", "A card can be deleted"]);
    assert!(ran.asked[2].contains("1. A card can be added\n") && ran.asked[2].contains("at most 2 more"));
}

#[tokio::test]
async fn too_few_features_are_a_fault() {
    let mut answers = vec![plan(&json!({}))];
    answers.extend(vec![batch(&["A card can be added"]); 4]);
    assert_eq!(initialize(answers).await.fault(), "only 1 different features, 3 are wanted");
}

#[tokio::test]
async fn files_that_may_not_be_are_refused_with_the_reason_and_asked_again() {
    let long = "x\n".repeat(401);
    for (path, content, reason) in [
        ("../x", "", "contains `..`"),
        (".git/config", "", "belongs to git"),
        ("sub/.git/hooks/pre-commit", "", "belongs to git"),
        ("/etc/passwd", "", "is outside the project"),
        ("long.py", long.as_str(), "at most 400 lines"),
        ("/project/init.sh", "", "init.sh is written by the harness"),
        ("./feature_list.json", "", "feature_list.json is written by the harness"),
        ("progress.txt/x", "", "progress.txt/x and progress.txt can't both be files"),
        ("app.py", "", "app.py is there already"),
        (".//app.py", "", "app.py is there already"),
        ("app.py/x", "", "app.py/x and app.py can't both be files"),
    ] {
        let answers = vec![
            plan(&json!({})),
            three(),
            file("app.py", "x = 1\n", true),
            file(path, content, true),
            file("ok.py", "", false),
        ];
        let ran = initialize(answers).await;
        assert!(
            ran.asked[4].contains("Your last file was refused: ") && ran.asked[4].contains(reason),
            "{path}: {}",
            ran.asked[4]
        );
        assert_eq!(ran.file("app.py").as_deref(), Some("x = 1\n"), "{path}");
        assert!(ran.file("ok.py").is_some());
    }
}

#[tokio::test]
async fn four_refused_files_are_a_fault() {
    let mut answers = vec![plan(&json!({})), three()];
    answers.extend(vec![file("../x", "", true); 4]);
    assert!(
        initialize(answers).await.fault().starts_with("the first files were refused: `../x` contains `..`")
    );
}

#[tokio::test]
async fn an_init_script_that_fails_is_mended() {
    let answers = vec![
        plan(&json!({"init_script": "mkdir data\n"})),
        three(),
        file("app.py", "", false),
        script("mkdir -p data\n"),
    ];
    let ran = initialize(answers).await;
    assert_eq!(ran.file("init.sh").as_deref(), Some("mkdir -p data\n"));
    let question = &ran.asked[3];
    assert!(question.contains("This init.sh failed:\nmkdir data\n"), "{question}");
    assert!(question.contains("the first run worked, the second did not"), "{question}");
}

#[tokio::test]
async fn an_init_script_that_never_works_is_a_fault_and_none_is_asked_for_in_vain() {
    let mut answers =
        vec![plan(&json!({"init_script": "echo no; exit 3\n"})), three(), file("app.py", "", false)];
    answers.extend(vec![script("echo still no; exit 4\n"); 5]);
    let ran = initialize(answers).await;
    assert!(ran.fault().starts_with("init.sh fails: exit code 4\nstill no"), "{}", ran.fault());
    assert_eq!(ran.asked.len(), 6, "four scripts were tried, one of them the plan's");
}

#[tokio::test]
async fn commands_that_cannot_work_are_asked_again() {
    for (change, reason) in [
        (
            json!({"test_command": "no-such-runner {files}"}),
            "`no-such-runner {files}` can't be started: exit code 127",
        ),
        (json!({"test_command": "python3 -m no_such_module {files}"}), "can't be started: exit code 1"),
        (json!({"test_command": "echo {files}"}), "succeeds although its test file does not exist"),
        (
            json!({"build_command": "no-such-builder --all"}),
            "build_command `no-such-builder --all` can't be started",
        ),
        (json!({"test_file_pattern": "../test_{id}.py"}), "must be a path inside the project"),
        (
            json!({"test_file_pattern": "tests/my {id}.py"}),
            "holds ` `; use letters, digits, _ - . and / only",
        ),
    ] {
        let answers = vec![plan(&change), plan(&json!({})), three(), file("app.py", "", false)];
        let ran = initialize(answers).await;
        assert!(ran.asked[1].contains(reason), "{reason}\n{}", ran.asked[1]);
        assert_eq!(ran.made().project.test_command, "python3 -m unittest {files}");
    }
}

#[tokio::test]
async fn three_plans_that_cannot_work_are_a_fault() {
    let broken = plan(&json!({"test_command": "no-such-runner {files}"}));
    let ran = initialize(vec![broken; 3]).await;
    assert!(ran.fault().starts_with("no plan that works here: `no-such-runner {files}` can't be started"));
}

#[tokio::test]
async fn a_pattern_is_taken_as_paths_are_written_everywhere() {
    let answers = vec![
        plan(&json!({"test_file_pattern": "./tests//test_{id}.py"})),
        three(),
        file("app.py", "", false),
    ];
    assert_eq!(initialize(answers).await.made().project.test_file_pattern, "tests/test_{id}.py");
}

#[test]
fn odd_patterns_are_refused_in_clear_words() {
    let refused = [
        ("-{id}.py", "starts with `-`"),
        ("tests/-{id}.py", "starts with `-`"),
        (".git/{id}.py", "belongs to git"),
        ("a/.GIT/{id}.py", "belongs to git"),
        ("tests/te st_{id}.py", "holds ` `"),
        ("tests/$(id)_{id}.py", "holds `$`"),
        ("tests/{id}'.py", "holds `\\'`"),
        ("tests/{id}/", "is a folder"),
        ("tests/../{id}.py", "contains `..`"),
        ("tests/{id}\n.py", "holds `\\n`"),
        ("tésts/{id}.py", "holds `\\u{e9}`"),
    ];
    for (pattern, reason) in refused {
        let said = pattern_problem(pattern).unwrap_or_default();
        assert!(
            said.contains(reason) && said.contains("for example: tests/test_{id}.py"),
            "{pattern}: {said}"
        );
    }
    assert!(
        pattern_problem(&format!("{}/{{id}}.py", "a".repeat(200))).unwrap().contains("over 100 characters")
    );
    for fine in
        ["{id}_test.go", "tests/{id}", "tests/{id}/check.sh", "./tests//test_{id}.py", "spec/{id}.spec.js"]
    {
        assert_eq!(pattern_problem(fine), None, "{fine}");
    }
    assert_eq!(normalised("./tests//a/./test_{id}.py"), "tests/a/test_{id}.py");
}

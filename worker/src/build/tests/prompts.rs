//! Every rendered prompt, so that a change of wording is visible in review.

use insta::assert_snapshot;
use nightforge_llm::estimate_tokens;
use serde_json::json;

use crate::prompts::{Prompt, version};

fn shown(prompt: Prompt, variables: serde_json::Value) -> String {
    prompt.render(variables).unwrap()
}

#[test]
fn system_prompts() {
    assert_snapshot!("initializer_system", shown(Prompt::InitializerSystem, json!({})));
    assert_snapshot!("coder_system", shown(Prompt::CoderSystem, json!({})));
}

#[test]
fn system_prompts_are_short_and_always_the_same() {
    for prompt in [Prompt::CoderSystem, Prompt::InitializerSystem] {
        let text = shown(prompt, json!({}));
        assert_eq!(text.trim_end(), prompt.text().trim_end(), "nothing volatile in the prefix");
        assert!(!text.contains("{{") && !text.contains("{%"));
        // Four bytes of English are a token; the estimate counts two and a half.
        assert!(text.len() < 4 * 1_000, "{prompt:?} has {} bytes", text.len());
        assert!(estimate_tokens(&text) < 1_600);
    }
}

#[test]
fn the_initializers_questions() {
    let plan = json!({
        "objective": "Build a small board.",
        "programs": "sh, git, python3",
        "revision": null,
        "problem": null,
    });
    assert_snapshot!("initializer_plan", shown(Prompt::InitializerPlan, plan.clone()));
    let mut again = plan;
    again["revision"] = json!("Use no database.");
    again["problem"] = json!("`pytest {files}` can't be started: exit code 127");
    assert_snapshot!("initializer_plan_again", shown(Prompt::InitializerPlan, again));
    let features = json!({
        "objective": "Build a small board.",
        "revision": null,
        "plan": "Python with its standard library.",
        "features": ["The board has three columns", "A card can be added"],
        "wanted": 10,
        "minimum": 50,
    });
    assert_snapshot!("initializer_features", shown(Prompt::InitializerFeatures, features.clone()));
    let mut first = features;
    first["features"] = json!([]);
    first["revision"] = json!("Fewer pages.");
    assert_snapshot!("initializer_features_first", shown(Prompt::InitializerFeatures, first));
    let file = json!({
        "objective": "Build a small board.",
        "plan": "Python with its standard library.",
        "test_file_pattern": "tests/test_{id}.py",
        "test_command": "python3 -m unittest {files}",
        "features": ["The board has three columns", "A card can be added"],
        "more_features": 48,
        "init_script": "#!/bin/sh\nmkdir -p data\n",
        "files": ["app.py"],
        "problem": "`../x` contains `..`; give the path from the project's folder on",
    });
    assert_snapshot!("initializer_file", shown(Prompt::InitializerFile, file));
    let script = json!({
        "objective": "Build a small board.",
        "plan": "Python with its standard library.",
        "files": ["app.py", "README.md"],
        "programs": "sh, git, python3",
        "script": "#!/bin/sh\nmkdir data\n",
        "output": "the first run worked, the second did not: exit code 1\nmkdir: data: File exists",
    });
    assert_snapshot!("initializer_init_script", shown(Prompt::InitializerInitScript, script));
}

fn bearings() -> serde_json::Value {
    json!({
        "directory": "/project",
        "files": "app.py, tests/test_f001.py",
        "turns": 60,
        "project": "board",
        "test_command": "python3 -m unittest <test files>",
        "build_command": null,
        "passed": 1,
        "total": 50,
        "progress": "Initializer: project board prepared.\nSession 1, F001, attempt 1: passed",
        "log": "1234567 F001: The board has three columns\n89abcde Prepare the project",
        "init": "ok",
        "feature": "F002",
        "description": "A card can be added",
        "steps": ["open the board", "type a title", "press Add"],
        "test_file": "tests/test_f002.py",
        "attempt": 1,
        "reopened": false,
        "last_failure": null,
    })
}

#[test]
fn the_coders_first_message() {
    assert_snapshot!("coder_bearings", shown(Prompt::CoderBearings, bearings()));
    let mut again = bearings();
    again["attempt"] = json!(2);
    again["build_command"] = json!("python3 -m compileall -q .");
    again["last_failure"] = json!("tests/test_f002.py fails:\nAssertionError: 404 != 200");
    again["reopened"] = json!(true);
    assert_snapshot!("coder_bearings_reopened", shown(Prompt::CoderBearings, again));
}

/// Each variable of each prompt is needed, so a name that was mistyped on either side is found.
#[test]
fn a_missing_variable_is_an_error() {
    for name in bearings().as_object().unwrap().keys() {
        let mut variables = bearings();
        variables.as_object_mut().unwrap().remove(name);
        assert!(Prompt::CoderBearings.render(variables).is_err(), "{name}");
    }
    for prompt in Prompt::ALL {
        let rendered = prompt.render(json!({}));
        assert_eq!(rendered.is_err(), !prompt.variables().is_empty(), "{prompt:?}");
    }
}

#[test]
fn an_unknown_variable_is_an_error() {
    let mut variables = bearings();
    variables["directry"] = json!("/project");
    let error = Prompt::CoderBearings.render(variables).unwrap_err().to_string();
    assert!(error.contains("directry"), "{error}");
}

#[test]
fn another_wording_is_another_version() {
    let one = version(&[Prompt::CoderSystem, Prompt::CoderBearings]);
    assert_eq!(one, version(&[Prompt::CoderSystem, Prompt::CoderBearings]));
    assert_ne!(one, version(&[Prompt::CoderBearings, Prompt::CoderSystem]));
    assert_ne!(version(&[Prompt::CoderSystem]), version(&[Prompt::InitializerSystem]));
}

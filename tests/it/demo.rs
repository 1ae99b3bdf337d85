//! The demo build, from one command to a cloned repository.

use std::collections::BTreeSet;

use nightforge_tests::{clone, demo_command, json, look, run, trailers};
use serde_json::Value;

#[test]
fn a_demo_build_ends_in_a_repository_with_one_commit_per_feature() {
    let data = tempfile::tempdir().unwrap();
    let report = json(&demo_command(data.path()).output().unwrap());
    let task = &report["tasks"][0];
    assert_eq!(
        (&task["kind"], &task["state"]),
        (&Value::from("build"), &Value::from("completed")),
        "{report}"
    );
    let total = task["features"]["total"].as_u64().unwrap();
    assert!(total >= 8, "{report}");
    assert_eq!(task["features"]["passed"].as_u64(), Some(total));
    assert!(std::fs::read_to_string(task["report"].as_str().unwrap()).unwrap().contains("completed"));

    let folder = clone(task["repository"].as_str().unwrap(), data.path());
    let proven = trailers(&folder, "Feature");
    assert_eq!(proven.len() as u64, total, "{proven:?}");
    assert_eq!(proven.iter().collect::<BTreeSet<_>>().len(), proven.len(), "each feature once: {proven:?}");

    let list: Value =
        serde_json::from_slice(&std::fs::read(folder.join("feature_list.json")).unwrap()).unwrap();
    let features = list["features"].as_array().unwrap();
    assert_eq!(features.len() as u64, total);
    assert!(features.iter().all(|feature| feature["passes"] == true), "{list}");

    let tests: Vec<&str> = features.iter().map(|feature| feature["test_file"].as_str().unwrap()).collect();
    run("sh", &["./init.sh"], &folder);
    run("python3", &[&["-m", "unittest"], tests.as_slice()].concat(), &folder);

    let records = look::records(data.path());
    assert_eq!(records.len(), 1);
    records[0].assert_events_without_gap();
    records[0].assert_nothing_twice();
    records[0].assert_demo_story();
    assert_eq!(records[0].rescues(), 0);
    assert_eq!(records[0].model_calls, records[0].model_steps, "an undisturbed build repeats no call");
}

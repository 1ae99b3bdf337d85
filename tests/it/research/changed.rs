//! The same question twice, and a document that was changed in between.

use std::path::Path;

use nightforge_demo::{DemoModel, DemoOptions};
use nightforge_tests::installation::Installation;
use nightforge_tests::team::TeamRecord;

const OBJECTIVE: &str = "How high is the Brackwater lighthouse?";

fn write(folder: &Path, metres: u32) {
    let text = format!(
        "# Brackwater lighthouse\n\nThe Brackwater lighthouse is {metres} metres high, and a lift was built into its \
         tower. Its keeper writes a diary of wind and weather, and visitors climb its steps on Sundays in the summer. \
         A small shop sells postcards, tea and cakes.\n"
    );
    std::fs::write(folder.join("lighthouse.md"), text).unwrap();
}

/// Asks, waits for the end, and returns the task's id.
fn ask(installation: &Installation, more: &[&str]) -> String {
    let arguments = [&["submit", "research", OBJECTIVE, "--watch", "-o", "json"], more].concat();
    let output = installation.verb(&arguments).output().unwrap();
    let said = nightforge_tests::json(&output);
    let task = &said["tasks"][0];
    assert_eq!(task["state"], "completed", "{said:#}");
    task["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_second_answer_says_which_document_and_which_statement_changed() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let model = runtime.block_on(DemoModel::start(DemoOptions::default())).unwrap();
    let documents = tempfile::tempdir().unwrap();
    write(documents.path(), 41);
    std::fs::write(
        documents.path().join("harbour.md"),
        "# Harbour\n\nThe harbour of Brackwater has room for 60 boats and a lighthouse at its mouth. Fish is sold on \
         its quay in the morning, and a ferry crosses to the islands twice a day in the summer.\n",
    )
    .unwrap();
    let mut installation = Installation::new(&format!(
        "listen = \"127.0.0.1:0\"\n[models.demo]\nname = \"{}\"\ncontext = {}\n[[models.demo.endpoints]]\n\
         url = \"{}\"\n[[research.search]]\nkind = \"corpus\"\nfolder = \"{}\"\n",
        nightforge_demo::MODEL,
        nightforge_demo::CONTEXT_TOKENS,
        model.url(),
        documents.path().display(),
    ));
    installation.start("up", &["up"]);
    let first = ask(&installation, &[]);
    assert!(installation.end("up"));
    write(documents.path(), 43);
    installation.start("up", &["up"]);
    let second = ask(&installation, &["--previous", &first]);

    let records =
        TeamRecord::all_at(&format!("sqlite:{}", installation.data().join("nightforge.db").display()));
    let [before, now] = records.as_slice() else { panic!("two tasks, not {}", records.len()) };
    for record in [before, now] {
        record.assert_history();
        record.assert_result_is_full();
        record.assert_key_findings_hold();
        for source in &record.sources {
            assert!(source.url.contains(".md#L"), "a passage is cited by its lines: {}", source.url);
        }
    }
    assert_eq!(before.result().changes, None);
    let changes = now.result().changes.clone().expect("what changed");
    assert_eq!((changes.since_task.as_str(), now.task.id.as_str()), (first.as_str(), second.as_str()));
    let named = |url: &str| {
        let sources = now.sources.iter().filter(|source| source.url.starts_with(url));
        sources.map(|source| source.id).collect::<Vec<_>>()
    };
    assert_eq!(changes.changed_sources, named("lighthouse.md"), "{changes:?}");
    assert_eq!(changes.new_sources, Vec::new(), "{changes:?}");
    let is_the_height =
        |(before, now): &(String, String)| before.contains("41 metres") && now.contains("43 metres");
    assert!(changes.changed.iter().any(is_the_height), "{changes:?}");
    let report = now.task.report.as_deref().unwrap();
    assert!(report.contains("41 metres") && report.contains("43 metres"), "the report tells it:\n{report}");
}

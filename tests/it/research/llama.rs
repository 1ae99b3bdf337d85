//! Research against a real llama-server with a real, very small model, over a folder of documents: it ends within its
//! limits and says honestly how. What the model says is of no account here.

use std::time::{Duration, Instant};

use nightforge_services::{LlamaOptions, LlamaServer};
use nightforge_tests::installation::Installation;
use nightforge_tests::team::TeamRecord;
use serde_json::Value;

/// Working time that the task may have, in seconds.
const TASK_TIMEOUT_S: u64 = 40;

/// Above what all agent runs need that the limits allow, failed calls included.
const WITHIN: Duration = Duration::from_secs(150);

const MAX_MODEL_CALLS: u64 = 20;

#[test]
fn a_small_real_model_ends_honestly_within_its_limits() {
    let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let documents = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "lighthouse.md",
            "# Brackwater lighthouse\n\nThe Brackwater lighthouse is 41 metres high and was lit for the \
            first time in 1887. Visitors climb its 203 steps on Sundays.\n",
        ),
        (
            "harbour.txt",
            "The harbour of Brackwater has room for 60 boats. A ferry crosses to the islands twice a \
            day in the summer.\n",
        ),
    ] {
        std::fs::write(documents.path().join(name), text).unwrap();
    }
    let mut installation = Installation::new(&format!(
        "listen = \"127.0.0.1:0\"\n[models.small]\nname = \"{}\"\nmax_tokens = 200\nfirst_token_s = 60\nidle_s = 10\n\
         [[models.small.endpoints]]\nurl = \"{}\"\nslots = 2\n[[research.search]]\nkind = \"corpus\"\nfolder = \"{}\"\n",
        server.model(),
        server.url(),
        documents.path().display(),
    ));
    installation.start("up", &["up"]);
    let started = Instant::now();
    let (calls, timeout) = (MAX_MODEL_CALLS.to_string(), TASK_TIMEOUT_S.to_string());
    let limits = [
        "--max-iterations",
        "3",
        "--max-agent-calls",
        "7",
        "--max-model-calls",
        &calls,
        "--task-timeout",
        &timeout,
        "--agent-timeout",
        "10",
        "--max-retries",
        "1",
    ];
    let question = "How high is the Brackwater lighthouse?";
    let submit = [&["submit", "research", question, "--watch", "-o", "json"][..], &limits].concat();
    let output = installation.verb(&submit).output().unwrap();
    if started.elapsed() >= WITHIN {
        let record = TeamRecord::only(&installation.data());
        panic!("{:?}: {:?}\n{}", started.elapsed(), record.result(), record.log());
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let report: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let task = &report["tasks"][0];
    let end = (task["state"].as_str().unwrap(), output.status.code());
    assert!(
        matches!(end, ("completed", Some(0)) | ("needs_review", Some(2)) | ("failed", Some(1))),
        "{end:?}: {report}"
    );

    let record = TeamRecord::only(&installation.data());
    record.assert_history();
    record.assert_result_is_full();
    if end.0 == "completed" {
        record.assert_key_findings_hold();
    } else {
        assert!(record.result().reason.as_deref().is_some_and(|reason| !reason.is_empty()));
    }
    assert!(
        record.jobs.iter().all(|job| !matches!(job.state.as_str(), "ready" | "running")),
        "no job is stuck"
    );
    assert!(record.model_calls >= 1, "model calls are counted");
    // The agent run in flight when the limit is reached may end: it asks twice at most, each time with a re-ask.
    assert!(record.model_calls <= MAX_MODEL_CALLS + 8, "{} model calls", record.model_calls);
    assert_eq!(record.result().cost.model_calls, record.model_calls);
    assert!(record.result().cost.prompt_tokens >= 100 * record.model_calls, "{:?}", record.result().cost);
    assert!(
        record.result().cost.working_ms <= (TASK_TIMEOUT_S as i64 + 10) * 1_000,
        "{:?}",
        record.result().cost
    );
    let log = installation.log("up");
    assert!(!log.contains("panicked"), "{log}");
    println!(
        "{} in {:?}: {:?}; {} model calls, {} sources, {} findings",
        end.0,
        started.elapsed(),
        record.result().reason,
        record.model_calls,
        record.sources.len(),
        record.findings.len(),
    );
    println!("{}", record.log());
}

//! Builds against a real llama-server with a real, very small model: it streams and counts; its death, its silence and
//! a cancel cost nothing but time. What the model says is of no account here.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nightforge_demo::{DemoModel, DemoOptions};
use nightforge_domain::contract::{CodingAction, Contract};
use nightforge_services::{LlamaOptions, LlamaServer};
use nightforge_tests::installation::Installation;
use nightforge_tests::look;
use serde_json::Value;

const OBJECTIVE: &str = "A Python program add.py that prints the sum of the two numbers on its command line.";

/// Some 60 tokens a second, on a machine that does other things as well.
const LONG: Duration = Duration::from_secs(300);

/// llama-server is asked for its slots no faster than this: asking more often was seen to keep abandoned requests at
/// work.
const LOOK_AT_SLOTS_EVERY: Duration = Duration::from_millis(1_100);

/// The configuration of the real model, with answers short enough for a test.
fn toml(server: &LlamaServer, max_tokens: u32) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[limits]\nmax_turns = 8\nmax_retries = 1\n[models.small]\nname = \"{}\"\n\
         max_tokens = {max_tokens}\nfirst_token_s = 60\nidle_s = 4\n[[models.small.endpoints]]\nurl = \"{}\"\n",
        server.model(),
        server.url(),
    )
}

/// `up` with the real model alone.
fn up(server: &LlamaServer, max_tokens: u32) -> Installation {
    let mut installation = Installation::new(&toml(server, max_tokens));
    installation.start("up", &["up"]);
    installation
}

/// How many of the server's slots compute.
fn busy_slots(server: &LlamaServer) -> usize {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /slots HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    let slots: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
    slots.as_array().unwrap().iter().filter(|slot| slot["is_processing"] == true).count()
}

fn until_busy(server: &LlamaServer) {
    let until = Instant::now() + LONG;
    while busy_slots(server) == 0 {
        assert!(Instant::now() < until, "the model was not asked");
        std::thread::sleep(LOOK_AT_SLOTS_EVERY);
    }
}

fn submit(installation: &Installation) -> String {
    let task = installation.ask(&["submit", "build", OBJECTIVE, "--min-features", "1"]);
    task["tasks"][0]["id"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned()
}

/// The state of the only endpoint.
fn until_endpoint(installation: &Installation, what: &str, wanted: impl Fn(&str) -> bool) {
    installation.wait(what, LONG, &["workers"], |page| {
        let state = page["workers"][0]["endpoints"][0]["state"].as_str()?;
        wanted(state).then_some(())
    });
}

/// What was charged to the task's jobs: faults, deaths, attempts.
fn charged(installation: &Installation, task: &str) -> (u32, u32, Value) {
    let records = look::records(&installation.data());
    let record = records.iter().find(|record| record.task.id.as_str() == task).unwrap();
    let faults = record.jobs.iter().map(|job| job.faults).sum();
    let deaths = record.jobs.iter().map(|job| job.deaths).sum();
    (faults, deaths, serde_json::to_value(&record.task.state).unwrap())
}

/// The scripted model lays out the project, which this small model can't; every coding session is the real one's.
#[test]
fn a_build_streams_counts_validates_and_ends_honestly() {
    let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let script = runtime.block_on(DemoModel::start(DemoOptions::default())).unwrap();
    let mut installation = Installation::new(&format!(
        "{}[models.script]\nname = \"{}\"\ncontext = {}\n[[models.script.endpoints]]\nurl = \"{}\"\n[roles]\n\
         initializer = \"script\"\ncoder = \"small\"\n",
        toml(&server, 400),
        nightforge_demo::MODEL,
        nightforge_demo::CONTEXT_TOKENS,
        script.url(),
    ));
    installation.start("up", &["up"]);
    let limits = ["--min-features", "10", "--max-attempts", "2", "--max-sessions", "4"];
    let submit =
        [&["submit", "build", nightforge_demo::OBJECTIVE, "--watch", "-o", "json"][..], &limits].concat();
    let output = installation.verb(&submit).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let report: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let task = &report["tasks"][0];
    let passed = (task["features"]["passed"].as_u64().unwrap(), task["features"]["total"].as_u64().unwrap());
    match (task["state"].as_str().unwrap(), output.status.code()) {
        // Nobody expects it of this model; but then every feature has to stand.
        ("completed", Some(0)) => assert!(passed.0 == passed.1 && passed.1 > 0, "{report}"),
        ("needs_review", Some(2)) | ("failed", Some(1)) => {}
        other => panic!("{other:?}: {report}"),
    }
    let text = std::fs::read_to_string(task["report"].as_str().unwrap()).unwrap();
    assert!(text.contains("Kanban"), "{text}");

    let records = look::records(&installation.data());
    let record = &records[0];
    record.assert_events_without_gap();
    record.assert_nothing_twice();
    assert!(record.model_calls >= 1);
    assert!(record.prompt_tokens >= 100 * record.model_calls, "{} tokens", record.prompt_tokens);
    assert!(record.completion_tokens >= record.model_calls, "{} tokens", record.completion_tokens);
    let actions: Vec<&Value> =
        record.answers.iter().filter(|(name, _)| name == "model").map(|(_, answer)| answer).collect();
    assert!(!actions.is_empty(), "no action of the real model was taken");
    for action in &actions {
        let parsed: CodingAction =
            serde_json::from_value((*action).clone()).unwrap_or_else(|error| panic!("{error}: {action}"));
        parsed.check().unwrap_or_else(|why| panic!("{why}: {action}"));
    }
    let log = installation.log("up");
    assert!(!log.contains("panicked"), "{log}");
    println!(
        "{} after {} model calls, {} + {} tokens, {} valid actions",
        task["state"],
        record.model_calls,
        record.prompt_tokens,
        record.completion_tokens,
        actions.len()
    );
}

#[test]
fn a_server_that_dies_or_falls_silent_parks_the_queue_and_uses_up_nothing() {
    let mut server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let installation = up(&server, 6_000);
    let task = submit(&installation);
    until_busy(&server);
    let before = charged(&installation, &task);

    server.kill().unwrap();
    until_endpoint(&installation, "a parked endpoint", |state| state == "unreachable");
    assert_eq!(charged(&installation, &task), before, "its death is charged to nobody");
    let shown = installation.ask(&["show", &task]);
    assert_eq!(shown["state"], "running", "{shown}");
    assert!(shown["waiting"].to_string().contains(&server.url()), "it says what it waits for: {shown}");
    server.restart().unwrap();
    until_busy(&server);

    let before = charged(&installation, &task);
    server.freeze();
    until_endpoint(&installation, "a parked endpoint", |state| state != "ready" && state != "busy");
    assert_eq!(charged(&installation, &task), before, "its silence is charged to nobody");
    server.thaw();
    until_endpoint(&installation, "a server that is back", |state| {
        matches!(state, "ready" | "busy" | "degraded")
    });
    until_busy(&server);
    assert_eq!(installation.ask(&["show", &task])["state"], "running");
}

#[test]
fn a_cancel_frees_the_servers_slot_within_five_seconds() {
    let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let installation = up(&server, 6_000);
    let task = submit(&installation);
    until_busy(&server);
    let asked = Instant::now();
    assert!(installation.verb(&["cancel", "--yes", &task]).output().unwrap().status.success());
    while busy_slots(&server) > 0 {
        // One look later than the five seconds.
        assert!(asked.elapsed() < Duration::from_secs(5) + LOOK_AT_SLOTS_EVERY, "the slot is still at work");
        std::thread::sleep(LOOK_AT_SLOTS_EVERY);
    }
    println!("the slot was free {} ms after the cancel", asked.elapsed().as_millis());
    let ended = |shown: &Value| (shown["state"] == "cancelled").then_some(());
    installation.wait("a cancelled task", Duration::from_secs(30), &["show", &task], ended);
}

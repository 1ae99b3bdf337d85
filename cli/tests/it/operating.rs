//! The operator's verbs against a running server, with a worker that the test plays.

use std::io::BufReader;

use nightforge_domain::{BootId, JobId, ModelName, TaskId};
use nightforge_store::{DbClock, EndpointReport, Process, Role, Store, fresh_boot_id};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Place, Run, SlowDemo, line_with, signal};

/// A running demo whose own task stands still, and a worker of another model, played by the test.
struct Night {
    place: Place,
    demo: SlowDemo,
    runtime: tokio::runtime::Runtime,
    store: Store,
    worker: BootId,
}

const MODEL: &str = "other/one";

impl Night {
    fn begin() -> Self {
        let place = Place::new();
        let demo = SlowDemo::start(&place, &place.path("data"));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let url = format!("sqlite:{}", place.path("data/nightforge.db").display());
        let worker = fresh_boot_id();
        let process = Process {
            boot: worker.clone(),
            host: "another-machine".to_owned(),
            role: Role::Worker,
            version: "0".to_owned(),
            model: Some(MODEL.to_owned()),
            endpoint: None,
            gpu: None,
            slots: 1,
        };
        let store = runtime.block_on(async {
            let store = Store::open(&url, DbClock::Database).await.unwrap();
            store.announce(&process).await.unwrap();
            store
        });
        Self { place, demo, runtime, store, worker }
    }

    fn run(&self, args: &[&str]) -> Run {
        self.place.run(&[args, &["--server", self.demo.url.as_str()]].concat())
    }

    fn done(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
        run.out
    }

    fn report(&self, state: &str, message: Option<&str>, context_tokens: Option<u64>) {
        let report = EndpointReport {
            boot: self.worker.clone(),
            url: "http://10.0.0.9:1234/v1".to_owned(),
            model: MODEL.parse().unwrap(),
            gpu: Some("1".to_owned()),
            slots: 1,
            server: None,
            state: state.to_owned(),
            message: message.map(str::to_owned),
            context_tokens,
        };
        self.runtime.block_on(self.store.report_endpoint(&report)).unwrap();
    }

    /// A task of the played worker's model.
    fn submit(&self) -> String {
        self.done(&["submit", "build", "A board", "--model", MODEL]).trim().to_owned()
    }

    /// Claims the one job of a task as soon as it is ready, and lets it die.
    fn kill_job(&self, task: &str, reason: &str) -> JobId {
        let (task, model): (TaskId, ModelName) = (task.parse().unwrap(), MODEL.parse().unwrap());
        self.runtime.block_on(async {
            let claim = loop {
                match self.store.claim(&model, &self.worker, "w", 60_000).await.unwrap() {
                    Some(claim) => break claim,
                    // The scheduler is another process; there is nothing to wait on.
                    None => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
                }
            };
            assert_eq!(claim.job.task, task);
            self.store.bury(&claim.job, claim.fence, reason).await.unwrap().unwrap();
            while !self.store.task(&task).await.unwrap().status.is_final() {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            claim.job
        })
    }

    /// Waits until `show` tells these reasons for waiting.
    fn waits(&self, task: &str, expected: &[&str]) -> Value {
        loop {
            let shown = self.run(&["show", task, "-o", "json"]).json();
            let reasons = shown["waiting"].as_array().unwrap();
            if reasons.iter().map(|why| why["reason"].as_str().unwrap()).eq(expected.iter().copied()) {
                return shown;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

#[test]
fn a_task_is_held_back_and_says_why_it_waits() {
    let night = Night::begin();
    let task = night.submit();
    night.waits(&task, &["endpoints-parked"]);
    night.report(
        "unreachable",
        Some("http://10.0.0.9:1234/v1, asked GET /models: no connection. Start it"),
        None,
    );
    let shown = night.done(&["show", &task]);
    assert!(
        shown.contains("waiting") && shown.contains("asked GET /models: no connection. Start it"),
        "{shown}"
    );
    assert!(night.done(&["list"]).contains("(other/one is not ready)"));
    let mut watch = night.place.command(&["watch", &task, "--server", &night.demo.url]).spawn().unwrap();
    let mut stderr = BufReader::new(watch.stderr.take().unwrap());
    line_with(
        &mut stderr,
        "waiting: no endpoint of model `other/one` takes jobs: unreachable (http://10.0.0.9",
    );
    signal(&watch, Signal::INT);
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    let submitted = night.run(&["submit", "build", "Another board", "--model", MODEL]);
    assert!(submitted.err.contains("waiting: no endpoint of model"), "{}", submitted.err);
    night.done(&["cancel", submitted.out.trim(), "--yes"]);
    night.report("ready", None, None);

    let paused = night.done(&["pause", &task]);
    assert!(paused.contains(&format!("nightforge resume {task}")), "{paused}");
    let shown = night.done(&["show", &task[..24]]);
    assert!(shown.contains("yes, by local") && shown.contains("the task is paused by local"), "{shown}");
    let resumed: Value = serde_json::from_str(&night.done(&["resume", &task, "-o", "json"])).unwrap();
    assert_eq!(resumed["paused"], json!(false));

    let said = night.done(&["queue", "pause", MODEL]);
    assert!(said.contains("nightforge queue resume other/one"), "{said}");
    night.done(&["queue", "pause", "--kind", "build"]);
    night.waits(&task, &["kind-paused", "model-paused"]);
    let queues = night.done(&["queue", "list"]);
    let line = queues.lines().find(|line| line.starts_with(MODEL)).unwrap();
    assert!(line.contains("1 ready") && line.contains("by local since"), "{queues}");
    let lines = night.done(&["queue", "list", "-o", "jsonl"]);
    let kinds: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| !line["kind"].is_null())
        .map(|line| json!([line["kind"], line["paused"]["by"]]))
        .collect();
    assert_eq!(kinds, [json!(["build", "local"]), json!(["research", null])]);
    night.done(&["queue", "resume", "--kind", "build"]);
    night.done(&["queue", "resume", MODEL]);
    let queues = night.run(&["queue", "list", "-o", "json"]).json();
    assert!(!queues.to_string().contains("local"), "{queues}");

    night.run(&["queue", "pause", "codr"]).refused(3, &["`codr`", "nightforge-demo", MODEL]);
    night.run(&["pause", "zzz"]).refused(3, &["zzz"]);
    night.run(&["retry", &task]).refused(4, &["can't be retried", "running"]);
    night.done(&["cancel", &task, "--yes"]);
    night.run(&["watch", &task]);
    night.run(&["resume", &task]).refused(4, &["cancelled already", "nothing to resume"]);
    night.run(&["queue", "pause"]).refused(64, &["MODEL", "--kind", "Usage"]);
}

#[test]
fn dead_letters_are_listed_retried_and_dismissed() {
    let night = Night::begin();
    night.report("ready", None, None);
    assert_eq!(night.done(&["dead", "list"]), "no dead letters\n");
    let (mut tasks, mut dead) = (Vec::new(), Vec::new());
    for reason in ["HTTP 500 five times", "HTTP 502 five times", "unknown kind"] {
        let task = night.submit();
        dead.push(night.kill_job(&task, reason).to_string());
        tasks.push(task);
    }
    let list = night.done(&["dead", "list"]);
    assert!(dead.iter().all(|id| list.contains(id)) && list.contains("2      HTTP … five times"), "{list}");
    let one = night.done(&["dead", "list", "--task", &tasks[2], "-o", "jsonl"]);
    assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["reason"], "unknown kind");

    night
        .run(&["retry", &tasks[0], "--from", "7"])
        .refused(4, &["job 7 can't be retried: only job 1 can be"]);
    night.run(&["dead", "drop", &dead[2]]).refused(64, &["no terminal", "--yes"]);
    let dropped = night.done(&["dead", "drop", &dead[2], "--yes"]);
    assert!(dropped.contains("stays in the history"), "{dropped}");
    assert!(!night.done(&["dead", "list"]).contains(&dead[2]));
    assert!(night.done(&["dead", "list", "--dropped"]).contains("dismissed by local"));
    assert!(night.done(&["events", &tasks[2]]).contains("dead-letter-dropped"));

    let retried = night.done(&["dead", "retry", &dead[0]]);
    assert!(retried.contains(&format!("nightforge watch {}", tasks[0])), "{retried}");
    night.run(&["dead", "retry", "--all"]).refused(64, &["no terminal", "--yes"]);
    let all: Value =
        serde_json::from_str(&night.done(&["dead", "retry", "--all", "--yes", "-o", "json"])).unwrap();
    assert_eq!(all, json!({"dry_run": false, "retried": [dead[1]], "refused": []}));
    let again = night.done(&["retry", &tasks[2]]);
    assert!(again.contains("is retried"), "what was dismissed can still be asked for by name: {again}");

    night.run(&["dead", "drop", &tasks[0], "--yes"]).refused(64, &["<JOB>", "TASK.JOB", "dead list"]);
    night.run(&["dead", "drop", &format!("{}.9", tasks[0]), "--yes"]).refused(3, &["no job 9"]);
    night.run(&["dead", "retry", "zzz.1"]).refused(3, &["zzz"]);
    night.run(&["dead", "retry"]).refused(64, &["JOB", "--all"]);
}

#[test]
fn workers_are_listed_with_what_they_see() {
    let night = Night::begin();
    night.report(
        "loading",
        Some("asked GET /models: HTTP 503. Wait until the model is loaded"),
        Some(32_768),
    );
    let page = night.run(&["workers", "-o", "json"]).json();
    let workers = page["workers"].as_array().unwrap();
    let roles: Vec<&str> = workers.iter().map(|worker| worker["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["embedded", "worker"]);
    assert_eq!(workers[1]["endpoints"][0]["context_tokens"], 32_768);
    assert!(!workers[0]["running"].as_array().unwrap().is_empty(), "the demo is at its first job: {page}");
    assert_eq!(night.done(&["workers", "-o", "jsonl"]).lines().count(), 2);
    let table = night.done(&["workers"]);
    assert!(table.starts_with("ROLE ") && table.contains("-machine"), "{table}");
    assert!(table.contains("loading since") && table.contains("Wait until the model is loaded"), "{table}");
}

#[test]
fn a_model_with_too_small_a_context_is_not_built_on() {
    let night = Night::begin();
    night.report("ready", None, Some(8_192));
    let submit = ["submit", "build", "A board", "--model", MODEL];
    night.run(&submit).refused(64, &[MODEL, "8192", "16384", "longer context"]);
}

#[test]
fn a_running_job_of_a_paused_model_ends_its_step_and_goes_on_later() {
    let place = Place::new();
    let mut demo = SlowDemo::at_pace(&place, &place.path("data"), "1500");
    let run = |args: &[&str]| place.run(&[args, &["--server", demo.url.as_str()]].concat());
    let paused = run(&["queue", "pause", "nightforge-demo", "-o", "json"]).json();
    assert_eq!(paused["paused"]["by"], "local", "{paused}");
    demo.says("job 1 handed back: ");
    let run = |args: &[&str]| place.run(&[args, &["--server", demo.url.as_str()]].concat());
    let jobs = run(&["list", "-o", "json"]).json();
    assert_eq!(jobs["tasks"][0]["waiting"][0]["reason"], "model-paused", "{jobs}");
    let queues = run(&["queue", "list", "-o", "json"]).json();
    let queue = &queues["models"][0];
    assert_eq!(
        json!([queue["ready"], queue["running"], queue["workers_ready"]]),
        json!([1, 0, 1]),
        "{queues}"
    );
    run(&["queue", "resume", "nightforge-demo"]);
    demo.says("job 1 started");
    demo.kill();
}

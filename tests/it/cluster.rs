//! The roles as processes: on PostgreSQL and Redis, and on one SQLite file by polling.

use std::time::Duration;

use nightforge_demo::{DemoModel, DemoOptions};
use nightforge_services::{Postgres, Redis};
use nightforge_tests::installation::Installation;
use nightforge_tests::look::{self, Record};
use nightforge_tests::{clone, nightforge, trailers};
use serde_json::Value;

const BUILD_WITHIN: Duration = Duration::from_secs(240);

/// Two scripted models on ports of their own, on a runtime of their own.
struct Models {
    _runtime: tokio::runtime::Runtime,
    urls: [String; 2],
    _models: [DemoModel; 2],
}

impl Models {
    /// Slow enough for a story to strike in the middle.
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let models = runtime.block_on(async {
            let options = || DemoOptions { pace: Duration::from_millis(40), ..DemoOptions::default() };
            [DemoModel::start(options()).await.unwrap(), DemoModel::start(options()).await.unwrap()]
        });
        let urls = models.each_ref().map(DemoModel::url);
        Self { _runtime: runtime, urls, _models: models }
    }

    fn toml(&self) -> String {
        let [a, b] = &self.urls;
        format!(
            "listen = \"127.0.0.1:0\"\n[models.demo]\nname = \"{}\"\ncontext = {}\n\
             [[models.demo.endpoints]]\nurl = \"{a}\"\ngpu = \"0\"\n[[models.demo.endpoints]]\nurl = \"{b}\"\ngpu = \"1\"\n",
            nightforge_demo::MODEL,
            nightforge_demo::CONTEXT_TOKENS,
        )
    }
}

/// Api, scheduler and two workers, a process each.
fn four_processes(toml: &str) -> Installation {
    let mut installation = Installation::new(toml);
    installation.start("api", &["api"]);
    installation.start("scheduler", &["scheduler"]);
    installation.start("worker-0", &["worker", "--gpu", "0"]);
    installation.start("worker-1", &["worker", "--gpu", "1"]);
    installation
}

/// Queues the demo's objective; returns the task's id.
fn submit(installation: &Installation) -> String {
    let features = nightforge_demo::feature_count().to_string();
    let task =
        installation.ask(&["submit", "build", nightforge_demo::OBJECTIVE, "--min-features", &features]);
    task["tasks"][0]["id"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned()
}

/// Kills the worker that is at work once three features stand. Returns its name.
fn kill_the_worker_at_work(installation: &mut Installation, task: &str) -> String {
    let passed = |events: &Value| {
        let events = events["events"].as_array()?;
        let features = events.iter().filter(|event| event["type"] == "feature-passed").count();
        let last = events
            .iter()
            .rfind(|event| matches!(event["type"].as_str(), Some("job-claimed" | "job-done")))?;
        (features >= 3 && last["type"] == "job-claimed").then(|| last["data"]["worker"].to_string())
    };
    let at_work = installation.wait("a claim after three features", BUILD_WITHIN, &["events", task], passed);
    let name = if at_work.contains("gpu 0") { "worker-0" } else { "worker-1" };
    installation.kill(name);
    name.to_owned()
}

/// The end that an undisturbed demo build has.
fn assert_the_same_end(installation: &Installation, task: &str, records: &[Record]) {
    let ended = |shown: &Value| match shown["state"].as_str() {
        Some("queued" | "running") => None,
        _ => Some(shown.clone()),
    };
    let shown = installation.wait("the end", BUILD_WITHIN, &["show", task], ended);
    assert_eq!(shown["state"], "completed", "{shown:#}");
    let [record] = records else { panic!("one task, not {}", records.len()) };
    record.assert_events_without_gap();
    record.assert_nothing_twice();
    record.assert_no_finished_step_repeated();
    record.assert_demo_story();
    let folder = clone(shown["repository"].as_str().unwrap(), installation.folder());
    let proven = trailers(&folder, "Feature");
    assert_eq!(proven.len(), nightforge_demo::feature_count(), "{proven:?}");
}

fn wait_for_the_end(installation: &Installation, task: &str) {
    installation.wait("the end", BUILD_WITHIN, &["show", task], |shown| {
        (!matches!(shown["state"].as_str(), Some("queued" | "running"))).then_some(())
    });
}

#[test]
fn on_postgres_and_redis_a_killed_worker_changes_nothing_about_the_end() {
    let (postgres, redis, models) = (Postgres::start().unwrap(), Redis::start().unwrap(), Models::start());
    let toml =
        format!("database_url = \"{}\"\nredis_url = \"{}\"\n{}", postgres.url(), redis.url(), models.toml());
    let mut installation = four_processes(&toml);
    let task = submit(&installation);
    let killed = kill_the_worker_at_work(&mut installation, &task);
    wait_for_the_end(&installation, &task);
    let records = look::records_at(&postgres.url());
    assert_the_same_end(&installation, &task, &records);
    assert!(records[0].rescues() >= 1, "{killed} was at work");
    for role in ["api", "scheduler"] {
        assert!(installation.end(role), "{role} ends well");
    }
}

/// Everything on the queue may vanish, and the queue itself may: work goes on without it, not only after it.
#[test]
fn work_goes_on_while_redis_is_away() {
    let (postgres, mut redis, models) =
        (Postgres::start().unwrap(), Redis::start().unwrap(), Models::start());
    let toml =
        format!("database_url = \"{}\"\nredis_url = \"{}\"\n{}", postgres.url(), redis.url(), models.toml());
    let mut installation = Installation::new(&toml);
    installation.start("api", &["api"]);
    installation.start("scheduler", &["scheduler"]);
    installation.start("worker-0", &["worker", "--gpu", "0"]);
    redis.kill().unwrap();
    let task = submit(&installation);
    wait_for_the_end(&installation, &task);
    let records = look::records_at(&postgres.url());
    assert_the_same_end(&installation, &task, &records);

    // What is done in another data folder would be lost to the others.
    let mut stranger = nightforge(installation.folder());
    redis.restart().unwrap();
    let refused =
        stranger.args(["worker", "--gpu", "1", "--data", "elsewhere"]).current_dir(installation.folder());
    let refused = refused.output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(78), "{said}");
    assert!(said.contains("belongs to another data folder") && said.contains("--adopt"), "{said}");
}

#[test]
fn on_one_sqlite_file_roles_find_each_others_work_by_polling() {
    let models = Models::start();
    let mut installation = four_processes(&models.toml());
    installation.said("scheduler", "polling", Duration::from_secs(5));
    let task = submit(&installation);
    let killed = kill_the_worker_at_work(&mut installation, &task);
    wait_for_the_end(&installation, &task);
    let records = look::records(&installation.data());
    assert_the_same_end(&installation, &task, &records);
    assert!(records[0].rescues() >= 1, "{killed} was at work");
    let mut up = nightforge(installation.folder());
    let refused = up.arg("up").current_dir(installation.folder()).arg("--data").arg(installation.data());
    let refused = refused.output().unwrap();
    assert_eq!(refused.status.code(), Some(4), "`up` wants the folder for itself");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a role in a process of its own"));
}

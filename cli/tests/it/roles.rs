//! Roles in processes of their own, and the verbs that look after what they need.

use std::io::BufReader;
use std::net::TcpListener;
use std::process::{Child, ChildStderr};

use rustix::process::Signal;
use serde_json::Value;
use sqlx::Connection;

use crate::program::{Place, Run, free_port, line_with, signal};

/// A configuration with a model whose server is not there.
fn coder(rest: &str) -> String {
    format!(
        "{rest}\n[models.coder]\nname = \"m\"\ncontext = 32768\n[[models.coder.endpoints]]\nurl = \
         \"http://127.0.0.1:{}/v1\"\ngpu = \"0\"\n",
        free_port()
    )
}

fn finding<'a>(findings: &'a Value, name: &str) -> &'a Value {
    let all = findings.as_array().unwrap();
    let found = all.iter().find(|finding| finding["name"].as_str().unwrap().starts_with(name));
    found.unwrap_or_else(|| panic!("{name}: {findings}"))
}

#[test]
fn a_role_refuses_what_it_cannot_work_with() {
    let place = Place::new();
    place.write("nightforge.toml", &coder(""));
    place.run(&["worker", "--model", "x"]).refused(78, &["--model x", "configured: coder"]);
    place.run(&["worker", "--gpu", "0", "--slots", "0"]).refused(64, &["--slots 0", "from 1 to 64"]);
    place.run(&["worker", "--endpoint", "ftp://h/v1"]).refused(64, &["--endpoint", "http://"]);
    place.run(&["worker", "--endpoint", "notaurl"]).refused(64, &["--endpoint: url: "]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    place.run(&["api", "--listen", &address]).refused(4, &[&address, "is in use"]);
}

#[test]
fn a_database_or_a_redis_that_is_not_there_is_named_without_its_password() {
    let place = Place::new();
    let database = format!("postgres://nf:hunter2@127.0.0.1:{}/nf", free_port());
    place.write("nightforge.toml", &coder(&format!("database_url = \"{database}\"")));
    let refused = |run: &Run, parts: &[&str]| {
        assert!(!run.err.contains("hunter2"), "{}", run.err);
        assert!(run.code != 0, "{}", run.err);
        for part in parts {
            assert!(run.err.contains(part), "`{part}`: {}", run.err);
        }
    };
    for verb in [
        &["scheduler"][..],
        &["worker"],
        &["api", "--listen", "127.0.0.1:0"],
        &["migrate"],
        &["up", "--listen", "127.0.0.1:0", "--data", "data"],
    ] {
        let run = place.run(verb);
        refused(&run, &["127.0.0.1", "Check that PostgreSQL runs"]);
        assert_eq!(run.code, 5, "{verb:?}: {}", run.err);
    }
    let redis = format!("redis://:hunter2@127.0.0.1:{}", free_port());
    place.write("nightforge.toml", &coder(&format!("redis_url = \"{redis}\"")));
    let run = place.run(&["scheduler"]);
    refused(&run, &["127.0.0.1", "Redis"]);
    assert_eq!(run.code, 5, "{}", run.err);
    place.write("nightforge.toml", &coder("redis_url = \"redis://127.0.0.1:99999\""));
    place.run(&["scheduler", "--data", "data"]).refused(78, &["the Redis URL cannot be used"]);
}

#[test]
fn a_password_that_is_not_encoded_is_shown_by_nobody() {
    let place = Place::new();
    let port = free_port();
    let cases = [
        format!("database_url = \"postgres://nf:ab?S3CRET@127.0.0.1:{port}/x\""),
        format!("database_url = \"postgres://nf:12?S3=CRET@127.0.0.1:{port}/x\""),
        format!("database_url = \"postgres://nf:12#S3CRET@127.0.0.1:{port}/x\""),
        format!("database_url = \"postgres://nf:12/S3CRET@127.0.0.1:{port}/x\""),
        format!("redis_url = \"redis://:12?S3CRET@127.0.0.1:{port}\""),
        format!("redis_url = \"redis://S3CRET@127.0.0.1:{port}\""),
    ];
    for toml in cases {
        place.write("nightforge.toml", &coder(&toml));
        for verb in [
            &["migrate", "--data", "data"][..],
            &["scheduler", "--data", "data"],
            &["doctor"],
            &["config", "show"],
        ] {
            // Without a Redis, migrate has no reason to end otherwise; a scheduler never starts.
            let run = place.run(verb);
            let told = format!("{}{}", run.out, run.err);
            assert!(!told.contains("S3"), "{verb:?}: {told}");
            assert!(verb[0] != "scheduler" || run.code != 0, "{told}");
        }
    }
}

#[test]
fn the_doctor_tells_a_database_of_another_program_and_a_folder_that_takes_nothing() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let other = place.path("other.db");
    runtime.block_on(async {
        let url = format!("sqlite:{}?mode=rwc", other.display());
        let mut connection = sqlx::sqlite::SqliteConnection::connect(&url).await.unwrap();
        sqlx::query("CREATE TABLE invoices (id BIGINT)").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    });
    let database = |path: &std::path::Path| {
        place.write("nightforge.toml", &coder(&format!("database_url = \"sqlite:{}\"", path.display())));
        let findings: Value = serde_json::from_str(&place.run(&["doctor", "-o", "json"]).out).unwrap();
        finding(&findings, "database").clone()
    };
    let foreign = database(&other);
    assert_eq!(foreign["verdict"], "wrong", "{foreign}");
    let message = foreign["message"].as_str().unwrap();
    assert!(message.contains("invoices") && message.contains("another program"), "{message}");
    let empty = place.write("empty.db", "");
    assert_eq!(database(&empty)["verdict"], "ok");
    let findings: Value =
        serde_json::from_str(&place.run(&["doctor", "-o", "json", "--data", "/proc/x"]).out).unwrap();
    assert_eq!(finding(&findings, "data folder")["verdict"], "wrong", "{findings}");
}

#[test]
fn the_doctor_names_what_is_wrong_and_what_to_do() {
    let place = Place::new();
    place.write("nightforge.toml", &coder(""));
    let run = place.run(&["doctor", "-o", "json"]);
    assert_eq!(run.code, 1, "a model server that is away is wrong: {} {}", run.out, run.err);
    let findings: Value = serde_json::from_str(&run.out).unwrap();
    for (name, verdict) in [("data folder", "ok"), ("database", "ok"), ("redis", "ok"), ("git", "ok")] {
        assert_eq!(finding(&findings, name)["verdict"], verdict, "{findings}");
    }
    let model = finding(&findings, "model coder");
    assert_eq!(model["verdict"], "wrong");
    assert!(model["message"].as_str().unwrap().contains("Start the server"), "{model}");
    assert!(!place.path(".local").exists(), "nothing is made");

    let redis = format!("redis_url = \"redis://127.0.0.1:{}\"", free_port());
    place.write("nightforge.toml", &coder(&redis));
    let run = place.run(&["doctor"]);
    let line = run.out.lines().find(|line| line.contains("redis")).unwrap();
    assert!(line.starts_with("wrong"), "{line}");
}

#[test]
fn the_configuration_is_shown_with_its_sources_and_without_secrets() {
    let place = Place::new();
    place.write("nightforge.toml", &coder("redis_url = \"redis://:hunter2@cache:6379\""));
    let mut command = place.command(&["config", "show", "-o", "json", "--data", "elsewhere"]);
    let output = command.env("NIGHTFORGE_LIMITS__MAX_TURNS", "7").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let settings: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of = |key: &str| {
        settings.iter().find(|setting| setting["key"] == key).unwrap_or_else(|| panic!("{key}: {text}"))
    };
    assert_eq!(
        (&of("listen")["value"], &of("listen")["source"]),
        (&"127.0.0.1:7700".into(), &"default".into())
    );
    assert_eq!((&of("data")["value"], &of("data")["source"]), (&"elsewhere".into(), &"--data".into()));
    assert_eq!(of("redis_url")["value"], "redis://:***@cache:6379");
    assert!(of("redis_url")["source"].as_str().unwrap().ends_with("nightforge.toml"));
    assert_eq!(of("limits.max_turns")["value"], 7);
    assert_eq!(of("limits.max_turns")["source"], "NIGHTFORGE_LIMITS__MAX_TURNS");
    assert_eq!(of("models.coder.endpoints.0.gpu")["value"], "0");
    place.write("nightforge.toml", "colour = 1\n");
    place.run(&["config", "show"]).refused(78, &["unknown key `colour`"]);
}

#[test]
fn migrate_says_from_where_to_where_and_is_harmless_when_repeated() {
    let place = Place::new();
    let first = place.run(&["migrate", "-o", "json", "--data", "data"]).json();
    let latest = nightforge_store::Store::schema_version();
    assert_eq!((first["from"].as_i64(), first["to"].as_i64()), (Some(0), Some(latest)), "{first}");
    let again = place.run(&["migrate", "--data", "data"]);
    assert_eq!(again.code, 0);
    assert!(again.out.contains(&format!("has schema version {latest} already")), "{}", again.out);
}

/// A role in a process of its own, which ends with its test, and what it says.
struct Started {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Started {
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut child = place.command(args).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_task_says_that_no_scheduler_runs_as_soon_as_the_last_one_has_ended() {
    let place = Place::new();
    place.write("nightforge.toml", &coder("data = \"data\"\nlisten = \"127.0.0.1:0\""));
    let mut api = Started::start(&place, &["api"]);
    let ready = line_with(&mut api.stderr, "the api is ready at ");
    let server = ready.split(' ').find(|word| word.starts_with("http")).unwrap().trim_end_matches(',');
    let mut scheduler = Started::start(&place, &["scheduler"]);
    line_with(&mut scheduler.stderr, "the scheduler is ready");
    signal(&scheduler.child, Signal::TERM);
    assert_eq!(scheduler.child.wait().unwrap().code(), Some(0));
    let submitted = place.run(&["submit", "build", "A board", "--server", server]);
    assert!(submitted.err.contains("waiting: no scheduler runs"), "{}", submitted.err);
    let shown = place.run(&["show", submitted.out.trim(), "--server", server]);
    assert!(shown.out.contains("no scheduler runs; start"), "{}", shown.out);
}

#[test]
fn a_worker_takes_a_model_that_is_not_configured_where_its_server_is_named() {
    let place = Place::new();
    place.write("nightforge.toml", &coder("data = \"data\""));
    let endpoint = format!("http://127.0.0.1:{}/v1", free_port());
    let mut worker = Started::start(&place, &["worker", "--model", "qwen3:8b", "--endpoint", &endpoint]);
    line_with(&mut worker.stderr, "model qwen3:8b is not in the configuration");
    line_with(&mut worker.stderr, &format!("the worker of qwen3:8b at {endpoint} is ready"));
}

#[test]
fn a_database_is_not_moved_away_from_roles_that_run() {
    let place = Place::new();
    place.write("nightforge.toml", &coder(""));
    let mut scheduler = place.command(&["scheduler", "--data", "data"]).spawn().unwrap();
    let mut said = std::io::BufReader::new(scheduler.stderr.take().unwrap());
    crate::program::line_with(&mut said, "the scheduler is ready");
    let adopt = ["migrate", "--adopt", "--data", "data"];
    place.run(&adopt).refused(4, &["processes still run on this database (1)", "end them first"]);
    crate::program::signal(&scheduler, rustix::process::Signal::TERM);
    assert!(scheduler.wait().unwrap().success());
    let moved = place.run(&adopt);
    assert_eq!(moved.code, 0, "{}", moved.err);
}

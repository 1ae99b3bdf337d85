//! Against a running process, and against the folder that it leaves behind.

use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::Value;

use crate::program::{Place, SlowDemo, free_port, line_with, signal};

#[test]
fn tasks_are_queued_read_followed_and_cancelled() {
    let place = Place::new();
    let demo = SlowDemo::start(&place, &place.path("data"));
    let server = ["--server", demo.url.as_str()];
    let run = |args: &[&str]| place.run(&[args, &server].concat());

    let submitted = run(&[
        "submit",
        "build",
        "A \u{1b}[31mred\u{1b}[0m board",
        "--priority",
        "3",
        "--deadline",
        "+8h",
        "--min-features",
        "2",
        "--idempotency-key",
        "k",
    ]);
    assert_eq!(submitted.code, 0, "{}", submitted.err);
    let id = submitted.out.trim();
    let again = run(&["submit", "build", "Another board", "--idempotency-key", "k"]);
    again.refused(4, &["idempotency key", id]);
    run(&["submit", "build", "A board", "--model", "big"]).refused(64, &["`big`", "nightforge-demo"]);

    let list = run(&["list", "-o", "json"]).json();
    assert_eq!(list["tasks"][0]["id"], id);
    assert_eq!(list["tasks"].as_array().unwrap().len(), 2);
    let lines = run(&["list", "-o", "jsonl", "--limit", "1"]);
    assert_eq!(lines.out.lines().count(), 1);
    assert_eq!(serde_json::from_str::<Value>(&lines.out).unwrap()["id"], id);
    let table = run(&["list"]);
    assert!(table.out.starts_with("ID ") && table.out.contains("A [31mred [0m board"), "{}", table.out);
    assert!(!table.out.contains('\u{1b}'), "no colour and no control characters in a pipe");

    let task = run(&["show", id, "-o", "json"]).json();
    assert_eq!((&task["priority"], &task["limits"]["min_features"]), (&3.into(), &2.into()));
    assert!(task["deadline"].is_string());
    run(&["show", &"z".repeat(26)]).refused(3, &["zzz", "nightforge list"]);
    run(&["show", &id[..1]]).refused(4, &["several tasks", id]);

    // Somebody follows and leaves; the task goes on.
    let mut watch = place.command(&[&["watch", id][..], &server].concat()).spawn().unwrap();
    let mut stderr = BufReader::new(watch.stderr.take().unwrap());
    line_with(&mut stderr, "queued → running");
    signal(&watch, Signal::INT);
    let way_back = line_with(&mut stderr, "detached");
    assert!(way_back.contains(&format!("nightforge watch {id} --server {}", demo.url)), "{way_back}");
    assert_eq!(watch.wait().unwrap().code(), Some(0));

    run(&["cancel", id]).refused(64, &["--yes"]);
    let cancelled = run(&["cancel", id, "--yes"]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.err);
    let watched = run(&["watch", id, "-o", "json"]);
    assert_eq!(watched.code, 1, "cancelled is not done: {}", watched.err);
    assert_eq!(serde_json::from_str::<Value>(&watched.out).unwrap()["state"], "cancelled");
    run(&["cancel", id, "--yes"]).refused(4, &["cancelled already"]);
    let events = run(&["events", id, "-o", "jsonl"]);
    for (place, line) in events.out.lines().enumerate() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["seq"], place + 1);
        let keys: Vec<&String> = event.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["seq", "type", "at", "data"]);
    }
    assert!(events.out.contains("\"type\":\"status-changed\""), "{}", events.out);
}

#[test]
fn a_data_folder_has_one_process_and_can_be_read_at_any_time() {
    let place = Place::new();
    let data = place.path("data");
    let demo = SlowDemo::start(&place, &data);
    let pid = demo.pid().to_string();
    place.run(&["demo", "--data", "data"]).refused(4, &[&format!("process {pid}"), "--data"]);

    let read = || place.run(&["list", "--data", "data", "-o", "json"]).json();
    let id = read()["tasks"][0]["id"].as_str().unwrap().to_owned();
    demo.kill();
    assert_eq!(read()["tasks"][0]["id"], *id);
    let events = place.run(&["events", &id[..20], "--data", "data", "-o", "json"]).json();
    assert!(!events["events"].as_array().unwrap().is_empty());
    place.run(&["show", "zzz", "--data", "data"]).refused(3, &["zzz"]);

    // The same folder goes on with the same task.
    let demo = SlowDemo::start(&place, &data);
    assert_eq!(read()["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(demo.terminate_twice("go on with: nightforge demo --data"), 1);
    let task = &read()["tasks"][0];
    assert_eq!((&task["id"], &task["state"]), (&Value::from(id), &Value::from("running")));
}

#[test]
fn up_answers_until_it_is_told_to_end() {
    let place = Place::new();
    let toml = format!(
        "listen = \"127.0.0.1:0\"\ndata = \"data\"\n[limits]\nmin_features = 7\n[models.coder]\nname = \"m\"\n\
         [[models.coder.endpoints]]\nurl = \"http://127.0.0.1:{}/v1\"\ngpu = \"0\"\n",
        free_port()
    );
    place.write("nightforge.toml", &toml);
    let mut up = place.command(&["up"]).spawn().unwrap();
    let mut stderr = BufReader::new(up.stderr.take().unwrap());
    let ready = line_with(&mut stderr, "ready at ");
    let server = ready.split(' ').find(|word| word.starts_with("http")).unwrap().trim_end_matches(',');
    // The endpoint is down: it is parked, its work is taken all the same.
    let submitted = place.run(&["submit", "build", "A board", "-o", "json", "--server", server]).json();
    let id = submitted["tasks"][0]["id"].as_str().unwrap();
    let task = place.run(&["show", id, "-o", "json", "--server", server]).json();
    assert_eq!((&task["limits"]["min_features"], &task["models"]["coder"]), (&7.into(), &"coder".into()));
    signal(&up, Signal::TERM);
    line_with(&mut stderr, "ending:");
    assert_eq!(up.wait().unwrap().code(), Some(0));
    assert_eq!(place.run(&["list", "--data", "data", "-o", "json"]).json()["tasks"][0]["id"], id);
}

#[test]
fn a_sandbox_that_does_not_work_ends_up_and_is_told_by_the_demo() {
    let place = Place::new();
    let toml = format!(
        "[models.coder]\nname = \"m\"\n[[models.coder.endpoints]]\nurl = \"http://127.0.0.1:{}/v1\"\n",
        free_port()
    );
    place.write("nightforge.toml", &toml);
    std::fs::create_dir(place.path("bin")).unwrap();
    let bwrap = place.write("bin/bwrap", "#!/bin/sh\necho no namespaces here >&2\nexit 1\n");
    std::fs::set_permissions(&bwrap, PermissionsExt::from_mode(0o755)).unwrap();
    let with_it = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("PATH", place.path("bin"));
        command
    };

    let mut up = with_it(&["up", "--data", "up", "--listen", "127.0.0.1:0"]).spawn().unwrap();
    let line = line_with(&mut BufReader::new(up.stderr.take().unwrap()), "did not run in it");
    assert!(line.starts_with("error:") && line.contains(bwrap.to_str().unwrap()), "{line}");
    assert_eq!(up.wait().unwrap().code(), Some(78));

    // The demo's own script is part of the program; it may run without one, and says so.
    let mut demo = with_it(&["demo", "--pace", "600000", "--data", "demo"]).spawn().unwrap();
    line_with(&mut BufReader::new(demo.stderr.take().unwrap()), "without a sandbox");
    demo.kill().unwrap();
    demo.wait().unwrap();
}

//! Mistakes on the command line: told at once, by name, with 64, without a server.

use crate::program::{Place, free_port};

#[test]
fn mistakes_are_named() {
    let place = Place::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["Usage: nightforge"]),
        (&["sleep"], &["unrecognized subcommand 'sleep'"]),
        (&["list", "--colour"], &["--colour"]),
        (&["list", "-o", "yaml"], &["yaml", "table", "json", "jsonl"]),
        (&["list", "--state", "asleep"], &["asleep", "waiting_for_human"]),
        (&["list", "--limit", "0"], &["1..=200"]),
        (&["demo", "--kind", "poem"], &["poem", "build"]),
        (&["submit", "poem", "A board"], &["poem", "build"]),
        (&["submit", "build"], &["OBJECTIVE"]),
        (&["submit", "build", ""], &["the objective is empty"]),
        (&["submit", "build", " \n "], &["the objective is empty"]),
        (&["submit", "build", "A board", "--priority", "10"], &["10 is not between 0 and 9"]),
        (&["submit", "build", "A board", "--priority", "high"], &["0 to 9"]),
        (&["submit", "build", "A board", "--deadline", "tomorrow"], &["--deadline", "`tomorrow`", "+8h"]),
        (&["submit", "build", "A board", "--deadline", "2001-01-01T00:00:00Z"], &["in the past"]),
        (&["submit", "build", "A board", "--model", "a b"], &["--model", "`a b`"]),
        (&["submit", "build", "A board", "--min-features", "many"], &["--min-features"]),
        (&["submit", "build", "A board", "--min-features", "0"], &["--min-features", "1..=500"]),
        (&["submit", "build", "A board", "--min-features", "501"], &["--min-features", "1..=500"]),
        (&["submit", "build", "A board", "--language", "ja"], &["--language is for research, not for build"]),
        (
            &["submit", "build", "A board", "--previous", "abc"],
            &["--previous is for research, not for build"],
        ),
        (&["submit", "build", "A board", "--max-iterations", "3"], &["--max-iterations is for research"]),
        (&["submit", "build", "A board", "--task-timeout", "3"], &["--task-timeout is for research"]),
        (
            &["submit", "research", "What?", "--min-features", "3"],
            &["--min-features is for build, not for research"],
        ),
        (&["submit", "research", "What?", "--max-sessions", "3"], &["--max-sessions is for build"]),
        (&["submit", "research", "What?", "--language", "klingon"], &["--language", "klingon", "ja"]),
        (&["submit", "research", "What?", "--previous", "../x"], &["--previous", "letters and digits"]),
        (&["submit", "research", "What?", "--max-agent-calls", "0"], &["--max-agent-calls"]),
        (&["submit", "research", "What?", "--agent-timeout", "604801"], &["--agent-timeout", "1..=604800"]),
        (&["demo", "--language", "de"], &["--language", "en", "ja"]),
        (&["demo", "--kind", "build", "--language", "ja"], &["--language is for the research question"]),
        (&["show", "x", "--report", "pdf"], &["--report", "md, html, json"]),
        (&["show", "x", "--report", "md", "-o", "json"], &["cannot be used with"]),
        (&["eval"], &["Usage: nightforge eval"]),
        (&["eval", "research", "--limit", "0"], &["--limit"]),
        (&["eval", "research", "--questions", "absent.json"], &["--questions: absent.json can't be read"]),
        (&["eval", "research", "--demo-model", "--model", "m"], &["cannot be used with"]),
        (&["submit", "build", "A board", "--file", "objective.txt"], &["cannot be used with"]),
        (&["submit", "build", "--file", "absent.txt"], &["absent.txt"]),
        (&["show", "x", "--server", "here"], &["--server", "http://127.0.0.1:7700"]),
        (&["show", "x", "--server", "http://me:hunter2@h"], &["--server"]),
        (&["cancel", "x"], &["no terminal", "--yes"]),
        (&["dead", "drop", "x.1"], &["no terminal", "--yes"]),
        (&["dead", "retry", "--all"], &["no terminal", "--yes"]),
        (&["dead", "retry", "x.1", "--all"], &["cannot be used with"]),
        (&["dead", "retry", "x"], &["'x'", "[JOB]", "TASK.JOB"]),
        (&["dead", "retry", ".1"], &["'.1'", "[JOB]", "an id is missing"]),
        (&["dead", "drop", ".1", "--yes"], &["'.1'", "<JOB>", "an id is missing"]),
        (&["dead", "drop", "x.", "--yes"], &["'x.'", "<JOB>", "TASK.JOB"]),
        (&["dead", "list", "--task", ""], &["--task <ID>"]),
        (&["show", ""], &["<ID>", "an id is missing"]),
        (&["show", "", "--data", "data"], &["<ID>", "an id is missing"]),
        (&["show", ".."], &["'..'", "<ID>", "letters and digits"]),
        (&["show", "x/events"], &["'x/events'", "<ID>"]),
        (&["watch", ""], &["<ID>"]),
        (&["events", ""], &["<ID>"]),
        (&["cancel", "", "--yes"], &["<ID>"]),
        (&["retry", ""], &["<ID>"]),
        (&["pause", ""], &["<ID>"]),
        (&["resume", ""], &["<ID>"]),
        (&["list", "--before", ""], &["--before <ID>"]),
        (&["list", "--data", ""], &["--data"]),
        (&["worker", "--endpoint", "notaurl"], &["--endpoint: url: ", "http://127.0.0.1:1234/v1"]),
        (&["dead"], &["Usage: nightforge dead"]),
        (&["queue"], &["Usage: nightforge queue"]),
        (&["queue", "pause"], &["MODEL"]),
        (&["queue", "pause", "a b"], &["a b", "model name"]),
        (&["queue", "pause", "m", "--kind", "build"], &["cannot be used with"]),
        (&["queue", "pause", "--kind", "poem"], &["poem", "build"]),
        (&["retry", "x", "--from", "first"], &["--from"]),
        (&["retry", "x", "--from", "0"], &["--from"]),
    ];
    for (args, parts) in cases {
        let run = place.run(args);
        run.refused(64, parts);
        assert!(!run.err.contains("hunter2"), "{}", run.err);
    }
}

#[test]
fn what_a_variable_sets_is_not_shown_as_required() {
    let place = Place::new();
    let mut command = place.command(&["submit"]);
    command.env("NIGHTFORGE_SERVER", "http://127.0.0.1:7700");
    let err = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(err.contains("Usage: nightforge submit <KIND>") && !err.contains("--server"), "{err}");
}

#[test]
fn an_objective_that_is_too_long_is_refused_wherever_it_comes_from() {
    let place = Place::new();
    let long = "a".repeat(65 * 1024);
    place.run(&["submit", "build", long.as_str()]).refused(64, &["66560 bytes", "65536"]);
    place.run_with_input(&["submit", "build", "-"], long.as_bytes()).refused(64, &["66560 bytes"]);
    place.write("long.txt", &long);
    place.run(&["submit", "build", "--file", "long.txt"]).refused(64, &["66560 bytes"]);
    place
        .run_with_input(&["submit", "build", "-"], &vec![b'a'; 1 << 20])
        .refused(64, &["standard input", "65536"]);
    place.run_with_input(&["submit", "build", "-"], b"\xff\xfe").refused(64, &["UTF-8"]);
    place.run_with_input(&["submit", "build", "-"], b"").refused(64, &["the objective is empty"]);
}

#[test]
fn a_server_that_is_not_there_is_named_with_the_remedy() {
    let place = Place::new();
    let server = format!("http://127.0.0.1:{}", free_port());
    for args in [
        &["list"][..],
        &["show", "x"],
        &["watch", "x"],
        &["events", "x"],
        &["cancel", "x", "--yes"],
        &["retry", "x"],
        &["pause", "x"],
        &["resume", "x"],
        &["workers"],
        &["queue", "list"],
        &["queue", "pause", "m"],
        &["dead", "list"],
        &["dead", "retry", "--all", "--yes"],
        &["dead", "drop", "x.1", "--yes"],
    ] {
        let args = [args, &["--server", &server]].concat();
        place.run(&args).refused(5, &[&server, "nightforge up", "--server"]);
    }
    place.run(&["submit", "build", "A board", "--server", &server]).refused(5, &[&server]);
}

#[test]
fn a_folder_without_a_database_is_not_found() {
    let place = Place::new();
    place.run(&["list", "--data", "absent"]).refused(3, &["absent", "nightforge.db"]);
    assert!(!place.path("absent").exists(), "reading makes nothing");
}

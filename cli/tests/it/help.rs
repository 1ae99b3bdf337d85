//! Help texts and completions. The snapshots are the reference of the command line.

use insta::assert_snapshot;

use crate::program::Place;

fn help(verb: &[&str]) -> String {
    let run = Place::new().run(&[verb, &["--help"]].concat());
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    run.out
}

#[test]
fn every_verb_explains_itself() {
    assert_snapshot!("nightforge", help(&[]));
    assert!(!help(&[]).contains("extract-page"), "roles start it by themselves");
    for verb in ["demo", "up", "submit", "list", "show", "watch", "events", "cancel", "completions"] {
        assert_snapshot!(verb, help(&[verb]));
    }
}

#[test]
fn every_operator_s_verb_explains_itself() {
    for verb in ["retry", "pause", "resume", "workers", "queue", "dead"] {
        assert_snapshot!(verb, help(&[verb]));
    }
    for (name, verb) in [
        ("eval research", ["eval", "research"]),
        ("queue list", ["queue", "list"]),
        ("queue pause", ["queue", "pause"]),
        ("queue resume", ["queue", "resume"]),
        ("dead list", ["dead", "list"]),
        ("dead retry", ["dead", "retry"]),
        ("dead drop", ["dead", "drop"]),
    ] {
        assert_snapshot!(name.replace(' ', "_"), help(&verb));
    }
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish"] {
        let run = Place::new().run(&["completions", shell]);
        assert_eq!(run.code, 0, "{}", run.err);
        for verb in ["submit", "watch", "idempotency-key"] {
            assert!(run.out.contains(verb), "{shell}: {verb}");
        }
    }
    Place::new().run(&["completions", "tcsh"]).refused(64, &["bash", "zsh", "fish"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Place::new().command(&["completions", "bash"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

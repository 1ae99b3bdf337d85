//! `[research]`: what is refused, what is shown, what `doctor` says, and what runs with it.

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

use rustix::process::Signal;

use crate::program::{Place, free_port, line_with, signal};

/// A model whose server is not there; enough to come past discovery.
fn with_model(rest: &str) -> String {
    let port = free_port();
    format!(
        "listen = \"127.0.0.1:0\"\ndata = \"data\"\n{rest}\n[models.coder]\nname = \"m\"\n\
         [[models.coder.endpoints]]\nurl = \"http://127.0.0.1:{port}/v1\"\n"
    )
}

#[test]
fn mistakes_are_named_before_anything_starts() {
    let place = Place::new();
    for (toml, parts) in [
        ("[research]\nsearches = []", &["unknown key `research.searches`; known there: allow, search"][..]),
        (
            "[[research.search]]\nkind = \"demo\"\ncolour = 1",
            &["unknown key `research.search.0.colour`", "kind, folder, url"],
        ),
        ("[[research.search]]\nfolder = \"/\"", &["the key `kind` is missing"]),
        (
            "[[research.search]]\nkind = \"bing\"",
            &["[research] back-end 1", "known: corpus, searxng, tavily"],
        ),
        ("[[research.search]]\nkind = \"corpus\"\nfolder = \"absent\"", &["absent can't be read"]),
        (
            "[[research.search]]\nkind = \"tavily\"",
            &["nightforge.toml", "the variable TAVILY_API_KEY, which is not set"],
        ),
        (
            "[[research.search]]\nkind = \"brave\"\nurl = \"http://hunter2@h/\"",
            &["the variable BRAVE_SEARCH_API_KEY"],
        ),
        (
            "[[research.search]]\nkind = \"replay\"\nfile = \"absent\"",
            &["[research] back-end 1: recording absent"],
        ),
        ("[research]\nallow = [\"wiki\"]", &["`wiki` names no place to allow; write host:port"]),
    ] {
        place.write("nightforge.toml", &with_model(toml));
        let run = place.run(&["up"]);
        run.refused(78, parts);
        assert!(!run.err.contains("hunter2"), "{}", run.err);
    }
}

#[test]
fn without_a_back_end_research_is_refused_and_with_one_it_is_taken() {
    let place = Place::new();
    for (toml, code) in [("", 64), ("[[research.search]]\nkind = \"corpus\"\nfolder = \"documents\"", 0)] {
        std::fs::create_dir_all(place.path("documents")).unwrap();
        place.write("documents/prices.md", "# Prices\n\nA class costs 38 dollars.\n");
        place.write("nightforge.toml", &with_model(toml));
        let mut up = place.command(&["up"]).spawn().unwrap();
        let mut stderr = BufReader::new(up.stderr.take().unwrap());
        let ready = line_with(&mut stderr, "ready at ");
        let server = ready.split(' ').find(|word| word.starts_with("http")).unwrap().trim_end_matches(',');
        let run = place.run(&["submit", "research", "What does a class cost?", "--server", server]);
        assert_eq!(run.code, code, "{}", run.err);
        assert!(code == 0 || run.err.contains("[[research.search]]"), "{}", run.err);
        signal(&up, Signal::TERM);
        assert_eq!(up.wait().unwrap().code(), Some(0));
    }
    assert!(place.path("data/corpus/1.db").is_file(), "the index is in the data folder");
}

/// Answers every request with this status, in a thread of its own.
fn server_that_says(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            // A short request comes in one piece.
            let _ = connection.read(&mut [0; 4096]);
            let _ = write!(connection, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    format!("http://{address}/")
}

#[test]
fn doctor_has_a_line_for_each_back_end_and_show_masks() {
    let place = Place::new();
    std::fs::create_dir(place.path("documents")).unwrap();
    place.write("documents/a.md", "text");
    place.write("documents/b.txt", "text");
    let searxng = server_that_says("403 Forbidden");
    place.write(
        "nightforge.toml",
        &with_model(&format!(
            "[research]\nallow = [\"wiki.example:8080\"]\n\
             [[research.search]]\nkind = \"corpus\"\nfolder = \"documents\"\n\
             [[research.search]]\nkind = \"searxng\"\nurl = \"{searxng}\"\n\
             [[research.search]]\nkind = \"tavily\"\n\
             [[research.search]]\nkind = \"feeds\"\nurls = [\"http://127.0.0.1:{}/feed?token=hunter2\"]\n\
             [[research.search]]\nkind = \"demo\"\n",
            free_port()
        )),
    );
    let run = |args: &[&str]| {
        let output = place.command(args).env("TAVILY_API_KEY", "tvly-geheim").output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (out, err) = run(&["doctor", "-o", "json"]);
    let findings: serde_json::Value = serde_json::from_str(&out).unwrap();
    for (name, verdict, part) in [
        ("search corpus", "ok", "documents with 2 documents"),
        ("search searxng", "wrong", "403"),
        ("search tavily", "ok", "its key is in TAVILY_API_KEY"),
        ("search feeds", "wrong", "127.0.0.1"),
        ("search demo", "warning", "invented"),
    ] {
        let finding = findings.as_array().unwrap().iter().find(|finding| finding["name"] == name).unwrap();
        assert_eq!(finding["verdict"], verdict, "{finding}");
        assert!(finding["message"].as_str().unwrap().contains(part), "{finding}");
    }
    let (shown, shown_err) = run(&["config", "show"]);
    for part in
        ["research.allow", "research.search.1.url", "research.search.3.urls", "/feed?…", "nightforge.toml"]
    {
        assert!(shown.contains(part), "`{part}` is not in: {shown}");
    }
    for text in [out, err, shown, shown_err] {
        assert!(!text.contains("hunter2") && !text.contains("geheim"), "{text}");
    }
    assert!(!place.path("data").exists(), "doctor makes nothing");
    // Without a back-end it says what is missing.
    place.write("nightforge.toml", &with_model(""));
    assert!(run(&["doctor"]).0.contains("[[research.search]]"));
}

#[test]
fn a_page_is_read_by_the_hidden_verb() {
    let place = Place::new();
    let mut child = place.command(&["extract-page"]).stdin(Stdio::piped()).spawn().unwrap();
    // What is no order is refused by the child's own words, not by a usage text.
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("Usage"), "{output:?}");
}

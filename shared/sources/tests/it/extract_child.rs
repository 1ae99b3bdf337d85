//! The child process that reads documents: its limits, its end, its answer.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use nightforge_sources::Extractor;

use crate::extract_pdfs as pdfs;
use crate::reader_site::{extractor, prose};

fn shell(script: &str) -> Extractor {
    Extractor::new(PathBuf::from("/bin/sh"), vec!["-c".to_owned(), script.to_owned()])
}

async fn why(extractor: &Extractor, media_type: &str, bytes: &[u8]) -> String {
    extractor
        .extract(media_type, None, "https://example.com/", bytes)
        .await
        .expect_err("it was read")
        .to_string()
}

#[tokio::test]
async fn a_text_that_is_too_long_is_clipped() {
    let long = "日本語のページ。".repeat(80_000);
    let extracted =
        extractor().extract("text/plain", None, "https://example.com/", long.as_bytes()).await.unwrap();
    assert!(extracted.text.len() <= (1 << 20) + 60, "{} bytes", extracted.text.len());
    assert!(extracted.text.ends_with(" bytes more]"));
    // Each of these takes six bytes on its way.
    let wide = format!("{}{}", "\u{1}".repeat(50_000), "plain words ".repeat(100_000));
    assert!(extractor().extract("text/plain", None, "https://example.com/", wide.as_bytes()).await.is_ok());
}

#[tokio::test]
async fn too_little_time_ends_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", pid_file.display());
    let start = Instant::now();
    let reason = why(&shell(&script).with_wall_time(Duration::from_millis(500)), "text/plain", b"").await;
    assert_eq!(reason, "reading it took longer than 500ms");
    assert!(start.elapsed() < Duration::from_secs(3));
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    while !state().is_empty() && !state().contains(") Z ") {
        assert!(start.elapsed() < Duration::from_secs(10), "it lives on: {}", state());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_child_that_says_too_much_or_nonsense() {
    assert!(why(&shell("cat /dev/zero"), "text/plain", b"").await.contains("more text"));
    assert!(why(&shell("echo hello"), "text/plain", b"").await.contains("no answer"));
    assert!(why(&shell("exit 3"), "text/plain", b"").await.contains("exit status: 3"));
    assert!(why(&shell("kill -SEGV $$"), "text/plain", b"").await.contains("nested too deeply"));
    let missing = Extractor::new(PathBuf::from("/nowhere/nightforge"), Vec::new());
    assert!(why(&missing, "text/plain", b"").await.contains("did not start"));
}

#[tokio::test]
async fn broken_pdfs_each_in_their_own_way() {
    let reason = why(&extractor(), "application/pdf", &pdfs::own_ancestor()).await;
    assert!(reason.contains("nested too deeply"), "{reason}");
    let reason = why(&extractor(), "application/pdf", &pdfs::with_a_font_that_is_none()).await;
    assert!(reason.contains("parser failed"), "{reason}");
    let read = extractor()
        .extract("application/pdf", None, "https://example.com/", &pdfs::with_text(&prose()))
        .await
        .unwrap();
    assert_eq!(read.title.as_deref(), Some("Harbour"));
}

#[tokio::test]
async fn memory_ends_at_its_limit() {
    let reason = why(&extractor(), "text/plain", &vec![b'a'; 540 << 20]).await;
    assert!(reason.contains("too much memory"), "{reason}");
}

#[tokio::test]
async fn the_limits_are_set_before_anything_is_read() {
    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_extract"))
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let limits = || std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let start = Instant::now();
    while !limits()
        .lines()
        .any(|line| line.starts_with("Max processes") && line.split_whitespace().nth(2) == Some("0"))
    {
        assert!(start.elapsed() < Duration::from_secs(10), "{}", limits());
        tokio::task::yield_now().await;
    }
    let limits = limits();
    for (name, most) in [
        ("Max address space", "536870912"),
        ("Max cpu time", "5"),
        ("Max core file size", "0"),
        ("Max file size", "0"),
        ("Max open files", "3"),
    ] {
        let line =
            limits.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{limits}"));
        let values: Vec<&str> = line.split_whitespace().take(2).collect();
        assert_eq!(values, [most, most], "{name}, soft and hard");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_document_whose_sender_died_is_not_read() {
    use std::io::Write;
    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_extract"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let order = r#"{"task":"text","media_type":"text/plain","charset":null,"url":"https://example.com/","is_page":true,"length":4000}"#;
    let mut input = child.stdin.take().unwrap();
    input.write_all(format!("{order}\n{}", prose()).as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("of 4000 bytes came"));
}

#[test]
fn the_verb_by_hand_says_what_it_is() {
    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_extract"))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("reads one document"));
}

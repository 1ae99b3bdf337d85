//! What the tests of other crates rely on: services that are private, that come back, and that leave nothing behind.

#![expect(clippy::unwrap_used, reason = "a test fails where its own support does")]

mod llama;
mod postgres;
mod redis;
mod with_services;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Whether a process runs; one that has ended and was not waited for does not.
fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|fields| !fields.is_empty() && !fields.trim_start().starts_with('Z'))
}

/// Waits until no process with one of these ids runs.
fn all_end(ids: &[u32]) -> bool {
    let started = Instant::now();
    while ids.iter().any(|id| runs(*id)) {
        if started.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Sends bytes to a port and returns the first bytes of the answer.
fn ask(port: u16, request: &[u8], within: Duration) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(within))?;
    stream.write_all(request)?;
    let mut answer = vec![0; 64];
    let length = stream.read(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}

/// Ids of the children of a process, oldest first.
fn children(id: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let listed =
        threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("children")).unwrap());
    let text: String = listed.collect();
    let mut ids: Vec<u32> = text.split_whitespace().map(|id| id.parse().unwrap()).collect();
    ids.sort_unstable();
    ids
}

/// Folders of services in the temporary folder.
fn folders(prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix)).collect()
}

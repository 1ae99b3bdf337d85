//! Runs the executable in an environment of its own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A folder to run in, which is also the home.
pub(crate) struct Place {
    folder: TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.err);
        serde_json::from_str(&self.out).unwrap()
    }

    /// Asserts the code, nothing on standard output, and every part in one message without a stack trace.
    pub(crate) fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is not in: {}", self.err);
        }
        assert!(!self.err.contains("panicked") && !self.err.contains("backtrace"), "{}", self.err);
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[expect(clippy::disallowed_methods, reason = "the executable is what is tested")]
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nightforge"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("NIGHTFORGE_") {
                command.env_remove(name);
            }
        }
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Run {
        ended(self.command(args).spawn().unwrap())
    }

    pub(crate) fn run_with_input<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that has seen enough closes its end, which is its right.
        let _ = stdin.write_all(input);
        drop(stdin);
        ended(child)
    }
}

fn ended(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A loopback port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A demo that is still at its first answer, so that nothing changes by itself. Killed when dropped.
pub(crate) struct SlowDemo {
    child: Child,
    stderr: BufReader<ChildStderr>,
    pub(crate) url: String,
}

impl SlowDemo {
    pub(crate) fn start(place: &Place, data: &Path) -> Self {
        Self::at_pace(place, data, "600000")
    }

    /// One whose answers take so many milliseconds each.
    pub(crate) fn at_pace(place: &Place, data: &Path, pace: &str) -> Self {
        let mut demo = Self::of_kind(place, data, "build", pace);
        // The demo's own task is there once its first job runs.
        demo.says("job 1 started");
        demo
    }

    /// One of this kind, as soon as its server listens.
    pub(crate) fn of_kind(place: &Place, data: &Path, kind: &str, pace: &str) -> Self {
        let data = data.to_str().unwrap();
        let args = ["demo", "--kind", kind, "--pace", pace, "--data", data];
        let mut child = place.command(&args).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let line = line_with(&mut stderr, "its tasks are at");
        let url = line.split(' ').find_map(|word| word.trim().strip_suffix("/api/tasks")).unwrap().to_owned();
        Self { child, stderr, url }
    }

    /// Waits until it says something with `part` in it.
    pub(crate) fn says(&mut self, part: &str) -> String {
        line_with(&mut self.stderr, part)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM, waits until `heard` is said, sends another one; gives the exit code.
    pub(crate) fn terminate_twice(mut self, heard: &str) -> i32 {
        signal(&self.child, Signal::TERM);
        // The drain waits for the answer under way, which takes minutes; the second signal does not.
        line_with(&mut self.stderr, heard);
        signal(&self.child, Signal::TERM);
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for SlowDemo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Reads until a line holds `part`.
pub(crate) fn line_with(reader: &mut impl BufRead, part: &str) -> String {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "`{part}` was not said, only: {seen}");
        if line.contains(part) {
            return line;
        }
        seen.push_str(&line);
    }
}

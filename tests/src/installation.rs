//! An installation whose roles run in processes of their own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::{json, nightforge};

/// A role that does not say that it is ready so soon has failed.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// One data folder with its configuration, and the processes that run on it. Those still alive are killed at the end.
pub struct Installation {
    folder: TempDir,
    processes: BTreeMap<String, Process>,
    server: String,
}

struct Process {
    child: Child,
    said: Arc<Said>,
}

/// What a process has written to standard error so far.
#[derive(Default)]
struct Said {
    lines: Mutex<(Vec<String>, bool)>,
    more: Condvar,
}

impl Said {
    fn listen(stderr: ChildStderr) -> Arc<Self> {
        let said = Arc::new(Self::default());
        let writer = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                let Ok(line) = line else { break };
                writer.lines.lock().unwrap_or_else(PoisonError::into_inner).0.push(line);
                writer.more.notify_all();
            }
            writer.lines.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
            writer.more.notify_all();
        });
        said
    }

    /// The first line that holds `part`, as soon as it is there.
    fn wait_for(&self, part: &str, within: Duration) -> Result<String, String> {
        let until = Instant::now() + within;
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(line) = lines.0.iter().find(|line| line.contains(part)) {
                return Ok(line.clone());
            }
            let left = until.saturating_duration_since(Instant::now());
            if lines.1 || left.is_zero() {
                return Err(format!("`{part}` was not said:\n{}", lines.0.join("\n")));
            }
            lines = self.more.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Installation {
    /// An installation with this `nightforge.toml`; nothing runs yet.
    ///
    /// # Panics
    /// When no folder can be made.
    pub fn new(toml: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("nightforge.toml"), toml).expect("the configuration");
        Self { folder, processes: BTreeMap::new(), server: String::new() }
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The folder of everything.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a role under a name and waits until it says that it is ready.
    ///
    /// # Panics
    /// When it does not.
    pub fn start(&mut self, name: &str, arguments: &[&str]) {
        let mut command = nightforge(self.folder.path());
        command.current_dir(self.folder.path()).env("NIGHTFORGE_LOG", "info");
        command.args(arguments).arg("--data").arg(self.data());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a process");
        let said = Said::listen(child.stderr.take().expect("standard error is kept"));
        let line = match said.wait_for(", data in ", READY_WITHIN) {
            Ok(line) => line,
            Err(why) => {
                // It may still run; nothing of a failed start stays behind.
                let _ = child.kill();
                let _ = child.wait();
                panic!("{name}: {why}");
            }
        };
        if let Some((_, rest)) = line.split_once("ready at ") {
            self.server = rest.split([',', ' ']).next().unwrap_or_default().to_owned();
        }
        self.processes.insert(name.to_owned(), Process { child, said });
    }

    /// SIGKILL: nothing of the process gets to clean up.
    ///
    /// # Panics
    /// When there is no such process.
    pub fn kill(&mut self, name: &str) {
        let mut process = self.processes.remove(name).unwrap_or_else(|| panic!("no process {name}"));
        process.child.kill().expect("it is ours");
        process.child.wait().expect("it is ours");
    }

    /// SIGTERM, and waits for the end; whether it ended well.
    ///
    /// # Panics
    /// When there is no such process.
    pub fn end(&mut self, name: &str) -> bool {
        let mut process = self.processes.remove(name).unwrap_or_else(|| panic!("no process {name}"));
        let id = rustix::process::Pid::from_child(&process.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it is ours");
        process.child.wait().expect("it is ours").success()
    }

    /// The first line of the process's log that holds `part`, waited for.
    ///
    /// # Panics
    /// When it is not said in time.
    pub fn said(&self, name: &str, part: &str, within: Duration) -> String {
        let process = self.processes.get(name).unwrap_or_else(|| panic!("no process {name}"));
        process.said.wait_for(part, within).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    /// The log so far.
    ///
    /// # Panics
    /// When there is no such process.
    pub fn log(&self, name: &str) -> String {
        let process = self.processes.get(name).unwrap_or_else(|| panic!("no process {name}"));
        process.said.lines.lock().unwrap_or_else(PoisonError::into_inner).0.join("\n")
    }

    /// The process's id.
    ///
    /// # Panics
    /// When there is no such process.
    pub fn process_id(&self, name: &str) -> u32 {
        self.processes.get(name).unwrap_or_else(|| panic!("no process {name}")).child.id()
    }

    /// A client verb against the running api, as a command.
    pub fn verb(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = nightforge(self.folder.path());
        command.current_dir(self.folder.path()).args(arguments).args(["--server", &self.server]);
        command
    }

    /// What a client verb prints as JSON.
    ///
    /// # Panics
    /// When it fails.
    pub fn ask(&self, arguments: &[&str]) -> Value {
        json(&self.verb(&[arguments, &["-o", "json"]].concat()).output().expect("the verb runs"))
    }

    /// Asks again and again until `wanted` finds what it looks for.
    ///
    /// # Panics
    /// When it finds nothing in time.
    pub fn wait<T>(
        &self,
        what: &str,
        within: Duration,
        arguments: &[&str],
        wanted: impl Fn(&Value) -> Option<T>,
    ) -> T {
        let until = Instant::now() + within;
        loop {
            let answer = self.ask(arguments);
            if let Some(found) = wanted(&answer) {
                return found;
            }
            assert!(Instant::now() < until, "waited in vain for {what}: {answer:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        for process in self.processes.values_mut() {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

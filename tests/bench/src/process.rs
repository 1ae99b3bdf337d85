//! The product's executable, and processes of it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::args::Form;

/// A process that does not say that it is ready so soon has failed.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// An orderly end may take so long before it is a kill.
const END_WITHIN: Duration = Duration::from_secs(10);

/// Brings the executable up to date where cargo runs this program; the quick form takes what is there.
///
/// # Errors
/// When it can't be built, or is not there.
pub(crate) fn build_the_executable(form: Form) -> anyhow::Result<()> {
    if let (Form::Full, Some(cargo)) = (form, std::env::var_os("CARGO")) {
        let mut build = command(Path::new(&cargo));
        build.args(["build", "-p", "nightforge-bench", "-p", "nightforge"]);
        // What `cargo run` says of this program would make build scripts of libraries run again, which read it.
        let of_this_program =
            |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(of_this_program) {
                build.env_remove(name);
            }
        }
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        ensure!(build.status()?.success(), "the executable can't be built");
    }
    let path = executable()?;
    ensure!(path.exists(), "{} is missing; build it first: cargo build -p nightforge", path.display());
    Ok(())
}

/// The executable, which lies beside this one.
///
/// # Errors
/// When this program does not know where it lies itself.
pub(crate) fn executable() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("nightforge"))
}

/// A command of the executable that reads no configuration of the machine.
///
/// # Errors
/// When this program does not know where it lies itself.
pub(crate) fn nightforge(folder: &Path) -> anyhow::Result<Command> {
    let mut command = command(&executable()?);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    command.current_dir(folder).stdin(Stdio::null());
    Ok(command)
}

#[expect(clippy::disallowed_methods, reason = "benchmarks start the programs that they measure")]
pub(crate) fn command(path: &Path) -> Command {
    Command::new(path)
}

/// A running process; it ends when this is dropped.
pub(crate) struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Starts it and waits until it says that it is ready.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn start(name: &str, mut command: Command) -> anyhow::Result<Self> {
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().with_context(|| name.to_owned())?;
        let stderr = child.stderr.take().context("standard error is kept")?;
        let process = Self { name: name.to_owned(), child };
        let (line, lines) = channel();
        // Reads on until the process ends, so that its standard error never fills up.
        std::thread::spawn(move || {
            for said in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _only_the_beginning_is_read = line.send(said);
            }
        });
        wait_until_ready(&process.name, &lines)?;
        Ok(process)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it has used so far.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        Usage::of(self.child.id()).with_context(|| format!("{} has ended", self.name))
    }

    fn ask_to_end(&mut self) -> anyhow::Result<()> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
        let until = Instant::now() + END_WITHIN;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < until, "{} does not end", self.name);
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn wait_until_ready(name: &str, lines: &Receiver<String>) -> anyhow::Result<()> {
    let until = Instant::now() + READY_WITHIN;
    let mut said = Vec::new();
    while let Ok(line) = lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
        if line.contains("ready") {
            return Ok(());
        }
        said.push(line);
    }
    bail!("{name} did not become ready: {}", said.join("\n"))
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ask_to_end().is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What a process has used, from `/proc`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
    /// Memory that is resident, in bytes.
    pub(crate) resident_bytes: u64,
}

impl Usage {
    fn of(process: u32) -> anyhow::Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let cpu = Duration::from_secs_f64(ticks(&stat)? as f64 / ticks_per_second()?);
        Ok(Self { cpu, resident_bytes: resident_bytes(&status)? })
    }
}

fn ticks_per_second() -> anyhow::Result<f64> {
    let said = command(Path::new("getconf")).arg("CLK_TCK").output()?;
    Ok(String::from_utf8(said.stdout)?.trim().parse()?)
}

/// Fields 14 and 15 of `stat`, user and system time (proc(5)). The name in parentheses may hold anything, so it is
/// counted from its end.
fn ticks(stat: &str) -> anyhow::Result<u64> {
    let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
    let mut ticks = 0;
    for field in fields.split_whitespace().skip(11).take(2) {
        ticks += field.parse::<u64>()?;
    }
    Ok(ticks)
}

fn resident_bytes(status: &str) -> anyhow::Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in status")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_behind_any_name() {
        let stat = "12 (a ) b (c) S 1 1 1 0 -1 4194560 900 0 0 0 120 80 0 0 20 0 5 0 100 1000 200";
        assert_eq!(ticks(stat).unwrap(), 200);
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t   2048 kB\n").unwrap(), 2 << 20);
        assert!(Usage::of(std::process::id()).unwrap().resident_bytes > 0);
    }
}

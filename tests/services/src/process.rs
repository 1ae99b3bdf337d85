//! One service's process: started so that it can't outlive this one, signalled by its id, waited for.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::{START_WITHIN, programs};

/// Between two looks at something that nobody announces.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How much of a log an error shows, in bytes.
const LOG_SHOWN: u64 = 2_000;

/// What to start.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Another user and group to run as, by their numbers; only root can.
    pub(crate) user: Option<(u32, u32)>,
    pub(crate) log: PathBuf,
    /// What the kernel sends it when this process ends without a word, such as `KILL`.
    pub(crate) orphan_signal: &'static str,
}

/// A running child process. Dropping it kills it.
pub(crate) struct Process {
    child: Child,
    name: String,
    log: PathBuf,
    frozen: Vec<Pid>,
}

impl Program {
    /// Starts it; its output goes to the log.
    pub(crate) fn start(&self) -> anyhow::Result<Process> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let log = File::options().create(true).append(true).open(&self.log)?;
        let child = spawn(self.command(log)?).with_context(|| format!("{name} can't be started"))?;
        Ok(Process { child, name, log: self.log.clone(), frozen: Vec::new() })
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When it fails; the message holds the end of its log.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut process = self.start()?;
        let status = process.child.wait()?;
        if !status.success() {
            bail!("{} failed ({status}): {}", process.name, process.log_tail());
        }
        Ok(())
    }

    /// `setpriv` asks the kernel to end the program when its parent dies, however that happens; it becomes the
    /// program, so the process id is the program's own.
    fn command(&self, log: File) -> anyhow::Result<Command> {
        let setpriv = programs::on_path("setpriv", "util-linux")?;
        #[expect(clippy::disallowed_methods, reason = "this module starts the services of tests")]
        let mut command = Command::new(setpriv);
        command.args(["--pdeathsig", self.orphan_signal]);
        if let Some((user, group)) = self.user {
            command.args(["--reuid", &user.to_string(), "--regid", &group.to_string(), "--clear-groups"]);
        }
        command.arg("--").arg(&self.path).args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (*name, value)));
        // The folder that this process stands in may be closed to the other user.
        command.current_dir("/");
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }
}

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `ready` says so.
    ///
    /// # Errors
    /// When the process ends before, or takes too long; the message holds the end of its log.
    pub(crate) fn wait_until(&mut self, mut ready: impl FnMut() -> bool) -> anyhow::Result<()> {
        let started = Instant::now();
        while !ready() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended at its start ({status}): {}", self.name, self.log_tail());
            }
            if started.elapsed() > START_WITHIN {
                bail!("{} did not answer within {START_WITHIN:?}: {}", self.name, self.log_tail());
            }
            sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Sends a signal, and waits for the end; kills after `patience`.
    pub(crate) fn stop(&mut self, signal: Signal, patience: Duration) -> anyhow::Result<ExitStatus> {
        self.thaw();
        if let Some(pid) = self.pid() {
            let _may_have_ended = kill_process(pid, signal);
        }
        let asked = Instant::now();
        while asked.elapsed() < patience {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            sleep(LOOK_EVERY);
        }
        self.kill()
    }

    /// SIGKILL to the process and its children, and waits until none is left.
    pub(crate) fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        // Stopped first, so that it makes no child that is not seen.
        self.freeze();
        for pid in std::mem::take(&mut self.frozen).into_iter().rev() {
            let _may_have_ended = kill_process(pid, Signal::KILL);
            if self.pid() != Some(pid) {
                wait_for_end(pid);
            }
        }
        Ok(self.child.wait()?)
    }

    /// SIGSTOP to the process and its children: it holds its connections and answers nothing.
    pub(crate) fn freeze(&mut self) {
        let Some(pid) = self.pid() else { return };
        let mut frozen = vec![pid];
        let _may_have_ended = kill_process(pid, Signal::STOP);
        for child in children(pid) {
            let _may_have_ended = kill_process(child, Signal::STOP);
            frozen.push(child);
        }
        self.frozen = frozen;
    }

    /// SIGCONT to all that [`Process::freeze`] stopped.
    pub(crate) fn thaw(&mut self) {
        for pid in std::mem::take(&mut self.frozen) {
            let _may_have_ended = kill_process(pid, Signal::CONT);
        }
    }

    /// `None` once its end was seen: the number may be another process's by then.
    fn pid(&mut self) -> Option<Pid> {
        match self.child.try_wait() {
            Ok(None) => Pid::from_raw(self.child.id().cast_signed()),
            _ => None,
        }
    }

    fn log_tail(&self) -> String {
        tail(&self.log).unwrap_or_else(|error| format!("its log can't be read: {error}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _nothing_to_be_done = self.kill();
    }
}

/// The kernel ends a child when the *thread* that made it ends, and threads of tests and runtimes come and go: one
/// thread makes all children, and lives as long as the process.
fn spawn(command: Command) -> std::io::Result<Child> {
    type Order = (Command, Sender<std::io::Result<Child>>);
    static SPAWNER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, orders) = channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in orders {
                let _nobody_waits_any_more = answer.send(command.spawn());
            }
        });
        Mutex::new(sender)
    });
    let gone = |_| std::io::Error::other("the thread that starts services has ended");
    let (answer, child) = channel();
    spawner.lock().unwrap_or_else(PoisonError::into_inner).send((command, answer)).map_err(|_| gone(()))?;
    child.recv().map_err(|_| gone(()))?
}

/// Children of a process, from `/proc`, where each thread has a list of its own.
fn children(parent: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())).into_iter().flatten();
    let listed = threads.flatten().flat_map(|thread| fs::read_to_string(thread.path().join("children")));
    let text: String = listed.collect();
    text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// Waits for a process that is not our child, and so is reaped by somebody else.
fn wait_for_end(pid: Pid) {
    let status = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let started = Instant::now();
    while started.elapsed() < START_WITHIN {
        // Fields follow the name, which stands in parentheses; a zombie holds nothing any more.
        match fs::read_to_string(&status) {
            Ok(stat) if !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z') => {}
            _ => return,
        }
        sleep(LOOK_EVERY);
    }
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_SHOWN)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

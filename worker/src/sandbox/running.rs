//! A program that was started: its output, its end, and the end of everything that it started.

use std::fs;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::time::{Instant, timeout, timeout_at};

use super::{CommandOutput, Exit, OUTPUT_LIMIT};

/// A sandbox stands after some 10 ms; a machine under load may take longer.
const SETUP: Duration = Duration::from_secs(20);
/// How long killed processes may take to be gone.
const DEATH: Duration = Duration::from_secs(10);

/// Ends all its processes when it is dropped.
pub(super) struct Running {
    child: Child,
    /// The program's own id is its group's.
    group: Option<Pid>,
    output: Receiver,
    gate: Option<UnixStream>,
    /// The sandbox's first process. When it is gone the kernel has ended all others.
    first: Option<OwnedFd>,
    _scratch: Option<tempfile::TempDir>,
}

enum Reading {
    /// Nobody holds the other end any more.
    Ended,
    TimedOut,
    TooMuch,
}

impl Running {
    pub(super) fn new(
        child: Child,
        output: PipeReader,
        gate: Option<std::os::unix::net::UnixStream>,
        scratch: Option<tempfile::TempDir>,
    ) -> io::Result<Self> {
        let gate = match gate {
            Some(gate) => {
                gate.set_nonblocking(true)?;
                Some(UnixStream::from_std(gate)?)
            }
            None => None,
        };
        let output = Receiver::from_owned_fd(output.into())?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { child, group, output, gate, first: None, _scratch: scratch })
    }

    /// Until the last process is dead.
    pub(super) async fn finish(mut self, time: Duration) -> io::Result<CommandOutput> {
        self.open_the_gate().await?;
        let start = Instant::now();
        let mut bytes = Vec::new();
        let reading = self.read_until(start + time, &mut bytes).await?;
        let exit = match reading {
            Reading::Ended => exit_of(self.end().await?),
            Reading::TimedOut => {
                self.kill();
                self.end().await?;
                Exit::TimedOut
            }
            Reading::TooMuch => {
                self.kill();
                exit_of(self.end().await?)
            }
        };
        if matches!(reading, Reading::TimedOut) {
            // What it wrote between our last look and its end.
            self.read_rest(&mut bytes).await?;
        }
        Ok(CommandOutput {
            exit,
            truncated: matches!(reading, Reading::TooMuch),
            output: String::from_utf8_lossy(&bytes).into_owned(),
            duration: start.elapsed(),
        })
    }

    /// Waits for the sandbox to stand, takes hold of its first process, and lets the command run.
    async fn open_the_gate(&mut self) -> io::Result<()> {
        let Some(mut gate) = self.gate.take() else { return Ok(()) };
        let mut word = [0; 16];
        let stands = timeout(SETUP, gate.read(&mut word)).await.map_err(|_| not_started("no answer"))?;
        if !matches!(stands, Ok(1..)) {
            let mut said = Vec::new();
            self.read_rest(&mut said).await?;
            return Err(not_started(&String::from_utf8_lossy(&said)));
        }
        let bubblewrap = self.group.ok_or_else(|| not_started("no process id"))?;
        let pid = only_child(bubblewrap)?.ok_or_else(|| not_started("no first process"))?;
        let first = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        // Only bubblewrap can reap that process, so while it lives the id was not given to another.
        if self.child.try_wait()?.is_some() {
            return Err(not_started("it ended at once"));
        }
        self.first = Some(first);
        gate.write_all(b"go\n").await
    }

    async fn read_until(&mut self, deadline: Instant, bytes: &mut Vec<u8>) -> io::Result<Reading> {
        match timeout_at(deadline, self.read(bytes)).await {
            Ok(reading) => reading,
            Err(_) => Ok(Reading::TimedOut),
        }
    }

    async fn read(&mut self, bytes: &mut Vec<u8>) -> io::Result<Reading> {
        let mut chunk = vec![0; 64 * 1024];
        let sandboxed = self.first.is_some();
        let mut open = true;
        loop {
            let read = tokio::select! {
                biased;
                read = self.output.read(&mut chunk), if open => read?,
                // Inside a sandbox the pipe ends with the last process. Without one it can end before the
                // program, and a process that left the group can hold it for ever.
                _ = self.child.wait(), if !sandboxed => {
                    self.read_rest(bytes).await?;
                    return Ok(Reading::Ended);
                }
            };
            let room = OUTPUT_LIMIT - bytes.len();
            bytes.extend_from_slice(&chunk[..read.min(room)]);
            if read > room {
                return Ok(Reading::TooMuch);
            }
            if read == 0 && sandboxed {
                return Ok(Reading::Ended);
            }
            open = read > 0;
        }
    }

    /// What is in the pipe now, without waiting for more than is on its way.
    async fn read_rest(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut chunk = vec![0; 64 * 1024];
        while bytes.len() < OUTPUT_LIMIT {
            match timeout(Duration::from_millis(50), self.output.read(&mut chunk)).await {
                Ok(Ok(read)) if read > 0 => {
                    let room = OUTPUT_LIMIT - bytes.len();
                    bytes.extend_from_slice(&chunk[..read.min(room)]);
                }
                Ok(Err(error)) => return Err(error),
                Ok(Ok(_)) | Err(_) => break,
            }
        }
        Ok(())
    }

    /// The program's status, when all of its processes are gone.
    async fn end(&mut self) -> io::Result<ExitStatus> {
        let status = timeout(DEATH, self.child.wait()).await.map_err(|_| still_alive())??;
        match self.first.take() {
            Some(first) => {
                if !tokio::task::spawn_blocking(move || is_gone_within(&first, DEATH)).await?? {
                    return Err(still_alive());
                }
            }
            // Without a sandbox, what is still in the group. The group's id can't be another's yet: it is
            // the id of a process that was reaped a moment ago, and ids go round.
            None => {
                if let Some(group) = self.group {
                    let _ = rustix::process::kill_process_group(group, Signal::KILL);
                }
            }
        }
        Ok(status)
    }

    fn kill(&mut self) {
        // Not once it was reaped: the id may be another's by then. Errors mean that it is dead already.
        if let (Some(group), Some(_)) = (self.group, self.child.id()) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        if let Some(first) = &self.first {
            let _ = rustix::process::pidfd_send_signal(first, Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        if let Some(first) = &self.first {
            // The caller may put the workspace back next. This takes about a millisecond.
            let _ = is_gone_within(first, Duration::from_secs(1));
        }
    }
}

/// The first process of the sandbox that bubblewrap watches. Not through `--info-fd`: bubblewrap would die of
/// a reader that is gone, before it releases its child.
fn only_child(parent: Pid) -> io::Result<Option<Pid>> {
    let parent = parent.as_raw_nonzero();
    match fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")) {
        Ok(children) => return Ok(children.split_whitespace().next().and_then(pid)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    // A kernel without CONFIG_PROC_CHILDREN.
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(child) = name.to_str().and_then(pid) else { continue };
        // Processes come and go meanwhile. The second field after the name, which may hold anything, is the parent.
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.as_raw_nonzero())).unwrap_or_default();
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        if fields.split_whitespace().nth(1) == Some(&parent.to_string()) {
            return Ok(Some(child));
        }
    }
    Ok(None)
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

fn is_gone_within(process: &OwnedFd, time: Duration) -> io::Result<bool> {
    let wait = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&wait))? > 0)
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

fn not_started(reason: &str) -> io::Error {
    io::Error::other(format!("the sandbox did not start: {}", reason.trim()))
}

fn still_alive() -> io::Error {
    io::Error::other("processes of a command could not be ended")
}

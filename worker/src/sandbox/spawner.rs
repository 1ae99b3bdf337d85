//! The one thread that starts programs.
//!
//! Programs die with the thread that started them (`PR_SET_PDEATHSIG` is bound to it, not to the process),
//! so it must live as long as the process: not a thread of a pool.

use std::io::{self, PipeReader, Read};
use std::os::unix::net::UnixStream;
use std::panic;
use std::process::Command;
use std::sync::{OnceLock, mpsc};
use std::thread;

use tokio::sync::oneshot;

use super::running::Running;

/// A program that is ready to be started, and our ends of its pipes.
pub(super) struct Prepared {
    /// Holds the other ends.
    pub(super) command: Command,
    /// Standard output and standard error of the program.
    pub(super) output: PipeReader,
    /// A sandbox's gate; without one the program starts at once. The shell inside writes a line when it
    /// stands, and waits for one before it runs the command. When the harness has died in between it reads
    /// the end instead, and no command runs.
    pub(super) gate: Option<UnixStream>,
    /// Folders that must stay until the program has ended.
    pub(super) scratch: Option<tempfile::TempDir>,
}

type Work = Box<dyn FnOnce() + Send>;

/// Starts a program on the spawner thread; its end is watched by the calling runtime.
pub(super) async fn start(prepared: Prepared) -> io::Result<Running> {
    let runtime = tokio::runtime::Handle::current();
    let (reply, answer) = oneshot::channel();
    on_spawner_thread(Box::new(move || {
        if reply.is_closed() {
            return;
        }
        let _runtime = runtime.enter();
        // A caller that has gone away drops the `Running`, and that ends the program.
        drop(reply.send(start_here(prepared)));
    }))?;
    answer.await.map_err(|_| io::Error::other("the spawner thread gave no answer"))?
}

/// As [`start`], for callers without a runtime; the program's end is the caller's to await.
pub(super) fn start_blocking(mut command: Command) -> io::Result<std::process::Child> {
    let (reply, answer) = mpsc::channel();
    on_spawner_thread(Box::new(move || drop(reply.send(command.spawn()))))?;
    answer.recv().map_err(|_| io::Error::other("the spawner thread gave no answer"))?
}

fn start_here(prepared: Prepared) -> io::Result<Running> {
    let Prepared { command, mut output, gate, scratch } = prepared;
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    let started = command.spawn();
    // Our copies of the program's ends go with the command; without that no pipe would ever end.
    drop(command);
    match started {
        Ok(child) => Running::new(child, output, gate, scratch),
        Err(error) => {
            let mut said = String::new();
            output.read_to_string(&mut said)?;
            Err(io::Error::new(error.kind(), format!("{}{error}", said)))
        }
    }
}

fn on_spawner_thread(work: Work) -> io::Result<()> {
    static THREAD: OnceLock<io::Result<mpsc::Sender<Work>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Work>();
        thread::Builder::new().name("spawner".to_owned()).spawn(move || {
            // The sender is never dropped, so this never ends.
            for work in receiver {
                // A caller's runtime that is shutting down panics; that is its own trouble, and its reply
                // is dropped. The thread must not end with it.
                drop(panic::catch_unwind(panic::AssertUnwindSafe(work)));
            }
        })?;
        Ok(sender)
    });
    match thread {
        Ok(sender) => sender.send(work).map_err(|_| io::Error::other("the spawner thread has ended")),
        Err(error) => Err(io::Error::new(error.kind(), format!("no spawner thread: {error}"))),
    }
}

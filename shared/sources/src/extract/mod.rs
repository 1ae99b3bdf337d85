//! Getting text out of what strangers wrote, in a child process. Parsers of HTML, PDF and robots.txt run for
//! minutes, fill the memory, overflow the stack or panic on hostile input; in the child that costs five seconds
//! and changes nothing but the answer.

mod charset;
mod child;
mod html;
mod pdf;
mod text;
mod wire;

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::timeout;

pub use child::extract_main;
pub use wire::Extracted;

use wire::{Order, Reply, Task};

/// The name by which a robots.txt calls us.
pub(crate) const AGENT: &str = "nightforge";

/// Address space of the child.
const ADDRESS_SPACE_BYTES: u64 = 512 * 1024 * 1024;
/// Processor time of the child.
const CPU_SECONDS: u64 = 5;
/// How long a child may live.
const WALL_TIME: Duration = Duration::from_secs(5);
/// Longest answer: a clipped text of which each byte may take six in JSON.
const MAX_ANSWER_BYTES: u64 = 7 * 1024 * 1024;

/// Starts the child that reads one document.
#[derive(Debug, Clone)]
pub struct Extractor {
    program: PathBuf,
    arguments: Vec<String>,
    wall_time: Duration,
}

/// No text came out of a document; the text says why, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

impl Extractor {
    /// With a program that calls [`extract_main`] when it is given these arguments. A document may take 5 s.
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Self {
        Self { program, arguments, wall_time: WALL_TIME }
    }

    /// With another time for one document.
    #[must_use]
    pub fn with_wall_time(self, wall_time: Duration) -> Self {
        Self { wall_time, ..self }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The text of a document; one that is too short to be a source has none. `media_type` is one that the reader takes, without parameters; `charset` is the
    /// one that its server named.
    pub async fn extract(
        &self,
        media_type: &str,
        charset: Option<&str>,
        url: &str,
        bytes: &[u8],
    ) -> Result<Extracted, Unreadable> {
        self.text(media_type, charset, url, true, bytes).await
    }

    /// The text of a file of the user's own, however short.
    pub(crate) async fn extract_own(
        &self,
        media_type: &str,
        path: &str,
        bytes: &[u8],
    ) -> Result<Extracted, Unreadable> {
        self.text(media_type, None, path, false, bytes).await
    }

    async fn text(
        &self,
        media_type: &str,
        charset: Option<&str>,
        url: &str,
        is_page: bool,
        bytes: &[u8],
    ) -> Result<Extracted, Unreadable> {
        let (media_type, url) = (media_type.to_owned(), url.to_owned());
        let task = Task::Text { media_type, charset: charset.map(str::to_owned), url, is_page };
        match self.ask(task, bytes).await? {
            Reply::Text(extracted) => Ok(extracted),
            Reply::Unreadable { reason } => Err(Unreadable(reason)),
            Reply::Permission { .. } => Err(no_answer()),
        }
    }

    /// Whether these rules let `nightforge` read that address.
    pub(crate) async fn robots_allow(&self, rules: &[u8], url: &str) -> Result<bool, Unreadable> {
        match self.ask(Task::Robots { url: url.to_owned() }, rules).await? {
            Reply::Permission { allowed } => Ok(allowed),
            Reply::Unreadable { reason } => Err(Unreadable(reason)),
            Reply::Text(_) => Err(no_answer()),
        }
    }

    async fn ask(&self, task: Task, bytes: &[u8]) -> Result<Reply, Unreadable> {
        let mut running = self.start()?;
        let order = Order { task, length: bytes.len() };
        let finished = timeout(self.wall_time, running.converse(&order, bytes)).await;
        let (answer, status) = finished
            .map_err(|_| Unreadable(format!("reading it took longer than {:?}", self.wall_time)))?
            .map_err(|error| Unreadable(format!("its extraction was cut off: {error}")))?;
        if answer.len() as u64 >= MAX_ANSWER_BYTES {
            return Err(Unreadable("more text came out of it than is kept".to_owned()));
        }
        serde_json::from_slice(&answer).map_err(|_| Unreadable(why_it_ended(status)))
    }

    fn start(&self) -> Result<Running, Unreadable> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the child that confines hostile documents; it starts nothing"
        )]
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn().map_err(|error| {
            tracing::error!(program = %self.program.display(), %error, "the extraction's child does not start");
            Unreadable(format!("its extraction did not start: {error}"))
        })?;
        Ok(Running { child })
    }
}

/// A child that dies with whoever waits for it.
struct Running {
    child: Child,
}

impl Running {
    async fn converse(&mut self, order: &Order, bytes: &[u8]) -> std::io::Result<(Vec<u8>, ExitStatus)> {
        let missing = || std::io::Error::other("the child has no pipes");
        let mut input = self.child.stdin.take().ok_or_else(missing)?;
        let mut output = self.child.stdout.take().ok_or_else(missing)?.take(MAX_ANSWER_BYTES);
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let mut answer = Vec::new();
        let write = async {
            // A child that ends early does not read on; its answer or its end says why.
            let _ = input.write_all(&line).await;
            let _ = input.write_all(bytes).await;
            drop(input);
        };
        let (_, read) = tokio::join!(write, output.read_to_end(&mut answer));
        read?;
        // Closed, so that a child with more to say ends instead of waiting.
        drop(output);
        Ok((answer, self.child.wait().await?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Without an id it was waited for, and its group's id may be another's by now.
        let group = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            // It may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn no_answer() -> Unreadable {
    Unreadable("its extraction gave no answer".to_owned())
}

fn why_it_ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::XCPU | Signal::KILL) => {
            format!("reading it took more than {CPU_SECONDS} s of processor time")
        }
        Some(_) => "reading it took too much memory, or it is nested too deeply".to_owned(),
        None => format!("its extraction gave no answer ({status})"),
    }
}

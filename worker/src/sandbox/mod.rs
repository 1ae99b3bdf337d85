//! Runs what an agent asks for, shut in: no network, no files but the project, nothing that outlives the
//! command. The only module that starts programs.
//!
//! One bubblewrap start per command. A harness that runs as root drops to [`SANDBOX_UID`] first, so that
//! nothing left behind belongs to root; workspaces are given to that user with [`Sandbox::own`].

mod bubblewrap;
mod confine;
mod ownership;
mod running;
mod spawner;
#[cfg(test)]
mod tests;
mod without_tier;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bubblewrap::Bubblewrap;
use running::Running;

/// The user and group that commands run as when the harness is root. Not `nobody`: daemons share that one,
/// and could then reach the workspace. From the range 60578 to 61183, which no distribution hands out
/// (<https://systemd.io/UIDS-GIDS/>), and below 65536, so that it also exists inside rootless containers.
pub const SANDBOX_UID: u32 = 61_000;

/// The reader stops after this many bytes of output, and the command is ended.
pub const OUTPUT_LIMIT: usize = 10 * 1024 * 1024;

/// Where the project lies for a sandboxed command.
pub const PROJECT: &str = "/project";

/// What every command sees, whatever the tier: no questions, no pagers, no colours.
const COMMON_ENVIRONMENT: [(&str, &str); 9] = [
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
    ("CI", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("npm_config_yes", "true"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// How commands are shut in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Namespaces through bubblewrap.
    Bubblewrap,
    /// Not at all. Only for the demo's own script, and only when set explicitly.
    None,
}

impl Tier {
    /// The name that pages, logs and reports show.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Bubblewrap => "bubblewrap",
            Tier::None => "none",
        }
    }
}

/// Why commands can't be shut in here. Each message says what is missing and what brings it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoSandbox {
    /// There is no `bwrap`.
    #[error(
        "bwrap is missing; install the package `bubblewrap` (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap)"
    )]
    Missing,
    /// It is there and the probe failed.
    #[error("bwrap is installed as {program}, but a probe program did not run in it: {reason}. {hint}")]
    Refused {
        /// The executable that was tried.
        program: PathBuf,
        /// What it said.
        reason: String,
        /// What usually helps.
        hint: &'static str,
    },
}

/// How one command is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// The command and all that it started is ended after this long. Default 60 s.
    pub timeout: Duration,
    /// Variables on top of the fixed ones.
    pub env: Vec<(String, String)>,
    /// The command sees the project but can't change it. Default false.
    pub read_only_workspace: bool,
    /// Folders or files of the host and the absolute path at which the command sees them. A tier of `None`
    /// can't do this and refuses. At most [`RunOptions::MAX_BINDS`].
    pub read_only_binds: Vec<(PathBuf, PathBuf)>,
}

impl RunOptions {
    /// Most entries of [`RunOptions::read_only_binds`].
    pub const MAX_BINDS: usize = 12;
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            env: Vec::new(),
            read_only_workspace: false,
            read_only_binds: Vec::new(),
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself. As in every shell, 128 + n says that signal n ended it.
    Code(i32),
    /// A signal ended the sandbox as a whole: 9 after too much output.
    Signal(i32),
    /// It was ended at the end of its time.
    TimedOut,
}

impl Exit {
    /// Ended by itself with 0.
    pub fn is_success(self) -> bool {
        self == Exit::Code(0)
    }
}

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// How it ended.
    pub exit: Exit,
    /// Standard output and standard error in the order in which they were written; what is not UTF-8 is
    /// replaced. At most [`OUTPUT_LIMIT`] bytes were read.
    pub output: String,
    /// The command wrote more than was read, and was ended for it.
    pub truncated: bool,
    /// From the command's start to the death of its last process.
    pub duration: Duration,
}

/// Found once per process, cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    bubblewrap: Option<Arc<Bubblewrap>>,
}

/// What a tier is asked to run.
struct Request<'a> {
    workspace: &'a Path,
    git_dir: Option<&'a Path>,
    command: &'a str,
    options: &'a RunOptions,
}

impl Sandbox {
    /// Finds the best tier and runs a probe program in it. Blocks for some 10 ms, at most 10 s.
    pub fn detect() -> Result<Sandbox, NoSandbox> {
        let bubblewrap = Bubblewrap::find()?;
        bubblewrap.probe()?;
        Ok(Sandbox { bubblewrap: Some(Arc::new(bubblewrap)) })
    }

    /// Commands run as the harness itself, with its rights and its network. Their process group dies with
    /// them, but a process that left the group, or a harness that is killed, leaves processes behind.
    pub fn without_tier() -> Sandbox {
        Sandbox { bubblewrap: None }
    }

    /// The tier in use.
    pub fn tier(&self) -> Tier {
        if self.bubblewrap.is_some() { Tier::Bubblewrap } else { Tier::None }
    }

    /// Where a command sees the project: [`PROJECT`], or the workspace itself without a tier.
    pub fn project_path<'a>(&self, workspace: &'a Path) -> &'a Path {
        if self.bubblewrap.is_some() { Path::new(PROJECT) } else { workspace }
    }

    /// Runs `sh -c command` in the workspace. When this returns, is dropped, or the harness is killed, all
    /// processes of the command are dead.
    ///
    /// With `git_dir`, a bare repository, `git log`, `git show` and `git diff` work on it; nothing can be
    /// written there. The folder and its files must be readable for others when the harness is root.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] and [`io::ErrorKind::ArgumentListTooLong`] are the command's own
    /// fault (a NUL byte, over 128 KiB); all others are the machine's.
    pub async fn run(
        &self,
        workspace: &Path,
        git_dir: Option<&Path>,
        command: &str,
        options: &RunOptions,
    ) -> io::Result<CommandOutput> {
        let request = Request { workspace, git_dir, command, options };
        let running: Running = match &self.bubblewrap {
            Some(bubblewrap) => spawner::start(bubblewrap.prepare(&request)?).await?,
            None => spawner::start(without_tier::prepare(&request)?).await?,
        };
        running.finish(options.timeout).await
    }

    /// Gives a workspace to the user that commands run as. Follows no symbolic link. Does nothing unless
    /// the harness is root and a tier is in use. Blocks.
    ///
    /// Files that the harness later writes there through `project` and `tools` get the owner of the
    /// workspace's folder, so once is enough.
    pub fn own(&self, path: &Path) -> io::Result<()> {
        match &self.bubblewrap {
            Some(bubblewrap) => bubblewrap.account().map_or(Ok(()), |account| ownership::give(path, account)),
            None => Ok(()),
        }
    }
}

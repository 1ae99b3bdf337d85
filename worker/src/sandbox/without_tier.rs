//! No tier: the command runs as the harness itself. Only for the demo's own script.

use std::io;
use std::process::{Command, Stdio};

use super::confine::Confinement;
use super::spawner::Prepared;
use super::{COMMON_ENVIRONMENT, Request};

/// The command gets a clean environment, a home of its own, limits, and a process group to die with.
pub(super) fn prepare(request: &Request<'_>) -> io::Result<Prepared> {
    if !request.options.read_only_binds.is_empty() || request.options.read_only_workspace {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "without a sandbox nothing can be made read-only",
        ));
    }
    let scratch = tempfile::tempdir()?;
    #[expect(clippy::disallowed_methods, reason = "this is the module that starts programs")]
    let mut command = Command::new("/bin/sh");
    let first = if request.git_dir.is_some() { "git read-tree HEAD >/dev/null 2>&1\n" } else { "" };
    command.arg("-c").arg(format!("{first}exec /bin/sh -c -- \"$1\"")).arg("sh").arg(request.command);
    command.current_dir(request.workspace).env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.env("HOME", scratch.path()).env("TMPDIR", scratch.path()).envs(COMMON_ENVIRONMENT);
    match request.git_dir {
        Some(git_dir) => {
            command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", request.workspace);
            command.env("GIT_INDEX_FILE", scratch.path().join("git-index"));
        }
        // Not a repository that the data folder happens to lie in.
        None => drop(
            command.env("GIT_CEILING_DIRECTORIES", request.workspace.parent().unwrap_or(request.workspace)),
        ),
    }
    command.envs(request.options.env.iter().map(|(name, value)| (name, value)));
    let (output, output_inside) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(output_inside.try_clone()?).stderr(output_inside);
    Confinement::new(Vec::new()).die_with_harness().install(&mut command);
    Ok(Prepared { command, output, gate: None, scratch: Some(scratch) })
}

//! What the stories share: the executable, its demo, and a look into what it left behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The built executable, beside this test's own.
///
/// # Panics
/// When it was not built; `cargo nextest run --workspace` and `./test` build it.
pub fn executable() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent).expect("tests are built into <profile>/deps");
    let path = folder.join("nightforge");
    assert!(path.exists(), "{} is missing; build it first: cargo build", path.display());
    path
}

/// A command of the executable that reads no configuration of the machine.
#[expect(clippy::disallowed_methods, reason = "stories start the program that they are about")]
pub fn nightforge(data: &Path) -> Command {
    let mut command = Command::new(executable());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", data);
    command.stdin(Stdio::null());
    command
}

/// `demo --kind build` on a data folder.
pub fn demo_command(data: &Path) -> Command {
    let mut command = nightforge(data);
    command.args(["demo", "--kind", "build", "-o", "json", "--data"]).arg(data);
    command
}

/// `demo --kind research` on a data folder.
pub fn research_demo_command(data: &Path) -> Command {
    let mut command = nightforge(data);
    command.args(["demo", "--kind", "research", "-o", "json", "--data"]).arg(data);
    command
}

/// Starts a command with its output kept.
///
/// # Panics
/// When it can't be started.
pub fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the executable starts")
}

/// The one JSON object on standard output.
///
/// # Panics
/// When the command failed or printed something else.
pub fn json(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{stderr}", output.status);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{stderr}", String::from_utf8_lossy(&output.stdout)))
}

/// Runs a program of the machine and returns its standard output.
///
/// # Panics
/// When it fails.
#[expect(clippy::disallowed_methods, reason = "stories look at the result as a person would")]
pub fn run(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect(program);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {arguments:?}\n{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Clones a repository as a person would.
pub fn clone(repository: &str, into: &Path) -> PathBuf {
    let folder = into.join("clone");
    run("git", &["clone", "-q", repository, folder.to_str().expect("a temporary path is UTF-8")], into);
    folder
}

/// The values of a trailer over the whole history, one per commit that has it.
pub fn trailers(clone: &Path, name: &str) -> Vec<String> {
    let format = format!("--format=%(trailers:key={name},valueonly,separator=%x2C)");
    let text = run("git", &["log", "--reverse", &format], clone);
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

pub mod installation;
pub mod look;
pub mod site;
pub mod team;
pub mod world;

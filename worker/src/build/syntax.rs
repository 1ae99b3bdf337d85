//! Syntax checks where a checker is at hand: a test file must parse by itself, and an edit that newly breaks a file
//! is undone.

use std::time::Duration;

use super::runner::{Ran, Runner};

const CHECK_TIMEOUT: Duration = Duration::from_secs(20);

/// The complaint of the file's checker; `None` when it parses, or when no checker is at hand.
///
/// # Errors
/// When this machine can't run a command.
pub(crate) async fn complaint(runner: &Runner, path: &str) -> anyhow::Result<Option<String>> {
    let Some((program, command)) = checker(path) else { return Ok(None) };
    // With a folder before it, so that no name is taken for an option.
    let file = format!("'./{}'", path.replace('\'', r"'\''"));
    let script = format!("command -v {program} >/dev/null || exit 0; {}", command.replace("{file}", &file));
    let ran: Ran = runner.run(&script, CHECK_TIMEOUT).await?;
    Ok((!ran.passed()).then(|| last_lines(&ran.output, 6)))
}

/// Python runs isolated: a module of the project must not take the place of the library's.
fn checker(path: &str) -> Option<(&'static str, &'static str)> {
    match path.rsplit_once('.')?.1 {
        "py" => Some((
            "python3",
            "python3 -I -c 'import ast,sys; ast.parse(open(sys.argv[1],\"rb\").read(), sys.argv[1])' {file}",
        )),
        "js" | "mjs" | "cjs" => Some(("node", "node --check {file}")),
        "json" => Some(("python3", "python3 -I -c 'import json,sys; json.load(open(sys.argv[1]))' {file}")),
        "sh" => Some(("sh", "sh -n {file}")),
        "rb" => Some(("ruby", "ruby -c {file}")),
        "php" => Some(("php", "php -l {file}")),
        _ => None,
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

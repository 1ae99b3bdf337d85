//! Asking before something that is hard to undo.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::exit::Failure;

/// Whether there is somebody to ask, where `--yes` was not given.
///
/// # Errors
/// When there is no terminal. `verb` is what would ask, `what` what it would do.
pub(super) fn can_ask(yes: bool, verb: &str, what: &str) -> Result<(), Failure> {
    if yes || io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{verb} asks before it {what}, and there is no terminal to ask on; add --yes"
    )))
}

/// Asks on the terminal; only a yes is one.
///
/// # Errors
/// When no answer can be read.
pub(super) fn confirmed(question: &str) -> Result<bool, Failure> {
    let mut stderr = io::stderr();
    let mut answer = String::new();
    write!(stderr, "{question} [y/N] ")
        .and_then(|()| stderr.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer))
        .map_err(|error| Failure::usage(format!("no answer: {error}; add --yes")))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

//! The `nightforge` executable: reads the command line and hands over to a verb.

mod args;
mod client;
mod clock;
mod config;
mod data_folder;
mod deadline;
mod discover;
mod doctor;
mod evaluation;
mod exit;
mod follow;
mod logging;
mod output;
mod pinned;
mod place;
mod roles;
mod running;
mod search;
mod signals;
mod source;
mod verbs;

use std::io::Write;
use std::process::ExitCode;

use crate::args::{Arguments, Verb};
use crate::exit::Exit;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(refusal) => {
            // A closed pipe is no error.
            let _ = refusal.print();
            return if refusal.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    if matches!(arguments.verb, Verb::ExtractPage) {
        // The child that reads what strangers wrote: it limits itself, so nothing else may have been started.
        return nightforge_sources::extract_main();
    }
    match verbs::run(arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if !failure.message.is_empty() {
                let _ = writeln!(std::io::stderr(), "error: {}", failure.message);
            }
            failure.exit.into()
        }
    }
}

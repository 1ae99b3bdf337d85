//! What verbs print: results on standard output in the format that was asked for, remarks on standard error.

mod conversation;
mod dead_letters;
mod events;
mod progress;
mod queues;
mod research;
mod table;
mod tasks;
mod text;
mod workers;

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::exit::{Exit, Failure};

pub(crate) use progress::{Progress, above_the_bar};
pub(crate) use research::{Shown, Workspace};
pub(crate) use table::table;
pub(crate) use tasks::Outcomes;
pub(crate) use text::{for_terminal, one_line};

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One JSON value
    Json,
    /// A JSON value a line
    Jsonl,
}

/// Writes results to standard output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) format: Format,
    colour: bool,
}

impl Output {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, colour: colour_wanted(io::stdout().is_terminal()) }
    }

    /// Text as it is, and a line end where it has none.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(end.as_bytes()));
        written.and_then(|()| stdout.flush()).map_err(|error| output_failure(&error))
    }

    /// What a verb changed: in words for people, as it is now for programs.
    pub(crate) fn change(&self, said: &str, now: &impl Serialize) -> Result<(), Failure> {
        match self.format {
            Format::Table => self.text(said),
            Format::Json => self.json(now),
            Format::Jsonl => self.json_line(now),
        }
    }

    /// One JSON value, indented.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        self.text(&serde_json::to_string_pretty(value).map_err(|error| unserialised(&error))?)
    }

    /// One JSON value on a line.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<(), Failure> {
        self.text(&serde_json::to_string(value).map_err(|error| unserialised(&error))?)
    }
}

fn unserialised(error: &serde_json::Error) -> Failure {
    Failure::new(Exit::Failed, format!("the result can't be written as JSON: {error}"))
}

/// `nightforge list | head -1` closes the pipe early, which is no error.
fn output_failure(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Failure::reader_gone()
    } else {
        Failure::new(Exit::Failed, format!("standard output can't be written to: {error}"))
    }
}

/// A remark for people on standard error. It never fails: a closed standard error has no reader.
pub(crate) fn note(text: &str) {
    let _ = above_the_bar(|| writeln!(io::stderr(), "{text}"));
}

/// Whether a stream gets colour: a terminal does, unless `NO_COLOR` is set (<https://no-color.org>).
pub(crate) fn colour_wanted(terminal: bool) -> bool {
    terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

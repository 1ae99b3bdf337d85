//! Logs on standard error. `NIGHTFORGE_LOG` takes directives such as `info` or `nightforge_worker=debug`.

use std::io::{self, IsTerminal};

use nightforge_llm::TRACING_TARGETS_WITH_BODIES;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::exit::Failure;
use crate::output::{above_the_bar, colour_wanted};

const VARIABLE: &str = "NIGHTFORGE_LOG";

/// Starts logging. `level` holds where the variable is not set.
///
/// # Errors
/// When the variable can't be read.
pub(crate) fn start(level: &str) -> Result<(), Failure> {
    let wanted = match std::env::var(VARIABLE) {
        Ok(wanted) if !wanted.trim().is_empty() => wanted,
        _ => level.to_owned(),
    };
    let wanted = EnvFilter::builder().parse(&wanted).map_err(|error| {
        Failure::config(format!("{VARIABLE}={wanted}: {error}; write a level such as info"))
    })?;
    // These write whole prompts and answers; no directive, however exact, switches them on.
    let without_bodies = filter_fn(|metadata| {
        !TRACING_TARGETS_WITH_BODIES.iter().any(|target| metadata.target().starts_with(target))
    });
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(AboveTheBar)
        .with_ansi(colour_wanted(io::stderr().is_terminal()))
        .with_filter(wanted.and(without_bodies));
    tracing_subscriber::registry().with(lines).init();
    Ok(())
}

/// Writes lines so that a progress bar stays below them.
struct AboveTheBar;

impl<'a> MakeWriter<'a> for AboveTheBar {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl io::Write for AboveTheBar {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        above_the_bar(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

//! Live progress on standard error: a bar on a terminal, lines elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use nightforge_api::{EventView, TaskView};

use super::events::told;
use super::text::one_line;
use super::{Format, Output, note};
use crate::exit::Failure;

/// The reason that comes and goes with every job, and that nobody has to do anything about.
const TURN: &str = "turn";

/// A reason for waiting that is seen fewer times in a row is over before anybody could read it.
const LOOKS_BEFORE_TOLD: u32 = 3;

/// The bar on the terminal, so that every other line is written above it.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Runs `write` so that it does not tear the bar.
pub(crate) fn above_the_bar<T>(write: impl FnOnce() -> T) -> T {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Shows how a task comes on. One at a time; it is gone when dropped.
pub(crate) struct Progress {
    output: Output,
    bar: Option<ProgressBar>,
    /// Reasons for waiting that hold, by name, and in how many looks in a row they were seen.
    waiting: Mutex<BTreeMap<String, u32>>,
}

impl Progress {
    pub(crate) fn start(output: Output) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            // Without a length there is nothing to fill; the template is a constant.
            if let Ok(style) = ProgressStyle::with_template(
                "{spinner} [{bar:30}] {pos}/{len} features  {elapsed}  {wide_msg}",
            ) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        BAR.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&bar);
        Self { output, bar, waiting: Mutex::default() }
    }

    /// New events, oldest first.
    pub(crate) fn events(&self, events: &[EventView]) -> Result<(), Failure> {
        if self.output.format == Format::Jsonl {
            return above_the_bar(|| self.output.events(events));
        }
        for line in events.iter().filter_map(told) {
            note(&line);
        }
        Ok(())
    }

    /// The task as it stands.
    pub(crate) fn task(&self, task: &TaskView) {
        if let Some(bar) = &self.bar {
            bar.set_length(task.features.total as u64);
            bar.set_position(task.features.passed as u64);
            let why = task
                .waiting
                .first()
                .map_or_else(String::new, |why| format!(" ({})", one_line(&why.short, 60)));
            bar.set_message(format!("{}, session {}{why}", task.phase, task.sessions));
        }
        if self.output.format == Format::Jsonl {
            return;
        }
        let mut looks = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // What is over begins anew when it comes back.
        looks.retain(|name, _| task.waiting.iter().any(|why| why.reason == *name));
        for why in &task.waiting {
            let seen = looks.entry(why.reason.clone()).or_default();
            *seen += 1;
            if *seen == LOOKS_BEFORE_TOLD && why.reason != TURN {
                note(&format!("waiting: {}", one_line(&why.message, 400)));
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        BAR.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! Live progress on standard error: a bar on a terminal, lines elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use nightforge_api::{EventView, MessageView, ResearchView, TaskView};
use nightforge_domain::Kind;

use super::conversation::Conversation;
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
    /// The kind of the task, once it is known.
    kind: OnceLock<Kind>,
    conversation: Conversation,
    /// What was last told of the team's progress where there is no bar.
    told: Mutex<String>,
    /// Reasons for waiting that hold, by name, and in how many looks in a row they were seen.
    waiting: Mutex<BTreeMap<String, u32>>,
}

impl Progress {
    pub(crate) fn start(output: Output) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        BAR.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&bar);
        Self {
            output,
            bar,
            kind: OnceLock::new(),
            conversation: Conversation::on_stderr(),
            told: Mutex::default(),
            waiting: Mutex::default(),
        }
    }

    /// The kind decides what the bar shows.
    pub(crate) fn kind(&self, kind: Kind) {
        let template = match kind {
            Kind::Build => "{spinner} [{bar:30}] {pos}/{len} features  {elapsed}  {wide_msg}",
            Kind::Research => "{spinner} {elapsed}  {wide_msg}",
        };
        self.kind.get_or_init(|| {
            // The template is a constant.
            if let (Some(bar), Ok(style)) = (&self.bar, ProgressStyle::with_template(template)) {
                bar.set_style(style.progress_chars("=> "));
            }
            kind
        });
    }

    /// New events and messages, each oldest first.
    pub(crate) fn happened(&self, events: &[EventView], messages: &[MessageView]) -> Result<(), Failure> {
        if self.output.format == Format::Jsonl {
            return above_the_bar(|| self.output.events(events));
        }
        let is_research = self.kind.get() == Some(&Kind::Research);
        let mut lines: Vec<(jiff::Timestamp, String)> = Vec::new();
        for event in events {
            let line = if is_research { self.conversation.event(event) } else { told(event) };
            lines.extend(line.map(|line| (event.at, line)));
        }
        lines.extend(messages.iter().map(|view| (view.at, self.conversation.message(&view.message))));
        // A stable sort: what a transition wrote at one moment keeps its order, events first.
        lines.sort_by_key(|(at, _)| *at);
        for (_, line) in lines {
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
            match &task.research {
                Some(research) => bar.set_message(format!("{}{why}", team(task, research))),
                None => bar.set_message(format!("{}, session {}{why}", task.phase, task.sessions)),
            }
        }
        self.tell_progress(task);
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

impl Progress {
    /// Where there is no bar, a line for each change of the team's phase.
    fn tell_progress(&self, task: &TaskView) {
        let Some(research) = &task.research else { return };
        if self.bar.is_some() || self.output.format == Format::Jsonl || task.state.is_final() {
            return;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = format!("{} {}", task.phase, research.iteration);
        if *told != now {
            note(&team(task, research));
            *told = now;
        }
    }
}

/// Phase, iteration, agent calls, findings.
fn team(task: &TaskView, research: &ResearchView) -> String {
    format!(
        "{}  iteration {}/{}, agent calls {}/{}, {} findings",
        task.phase,
        research.iteration,
        task.limits.max_iterations,
        research.agent_calls,
        task.limits.max_agent_calls,
        research.findings
    )
}

impl Drop for Progress {
    fn drop(&mut self) {
        BAR.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

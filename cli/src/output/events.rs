//! A task's log, for people and for programs.

use nightforge_api::EventView;
use nightforge_domain::Event;
use serde_json::json;

use super::text::one_line;
use super::{Format, Output};
use crate::exit::Failure;

/// The longest reason that is shown on a line.
const REASON_CHARS: usize = 160;

impl Output {
    /// Some events; call it again for those that follow. As JSON every event is a line, so that a log can be
    /// read while it grows.
    pub(crate) fn events(&self, events: &[EventView]) -> Result<(), Failure> {
        for event in events {
            match self.format {
                Format::Json | Format::Jsonl => self.json_line(event)?,
                Format::Table => {
                    let at = event.at.strftime("%Y-%m-%d %H:%M:%SZ");
                    let data = if event.data.is_null() { String::new() } else { event.data.to_string() };
                    self.text(&format!(
                        "{:>5}  {at}  {:24} {}",
                        event.seq,
                        event.type_name,
                        one_line(&data, 200)
                    ))?;
                }
            }
        }
        Ok(())
    }
}

/// What an event means to somebody who watches; `None` for what only belongs to the machinery.
pub(crate) fn told(event: &EventView) -> Option<String> {
    // An event of a newer server is not told, and stands in the log all the same.
    let event: Event = serde_json::from_value(json!({ "type": event.type_name, "data": event.data })).ok()?;
    let reason = |text: &str| one_line(text, REASON_CHARS);
    Some(match event {
        Event::StatusChanged { from, to } => format!("{from} → {to}"),
        Event::JobClaimed { job, worker, .. } => format!("job {job} started on {}", reason(&worker)),
        Event::FeaturesRegistered { count } => format!("{count} features planned"),
        Event::FeaturePassed { feature, attempt, .. } => format!("{feature} proven (attempt {attempt})"),
        Event::FeatureAlreadySatisfied { feature, .. } => format!("{feature} works already"),
        Event::AttemptFailed { feature, attempt, reason: why } => {
            format!("{feature} not proven (attempt {attempt}): {}", reason(&why))
        }
        Event::FeatureRotated { feature, .. } => format!("{feature} waits; others have their turn"),
        Event::FeatureBlocked { feature, attempts } => format!("{feature} left after {attempts} attempts"),
        Event::FeatureReopened { feature, reason: why } => format!("{feature} broke again: {}", reason(&why)),
        Event::TaskStopping { reason: why } => format!("stopping: {}", reason(&why)),
        Event::JobFault { job, class, reason: why, .. } => format!("job {job}: {class}: {}", reason(&why)),
        Event::JobFailed { job, class, reason: why } => {
            format!("job {job} failed: {class}: {}", reason(&why))
        }
        Event::JobDied { job, reason: why } => format!("job {job} is a dead letter: {}", reason(&why)),
        Event::JobHandedBack { job, reason: why, .. } => format!("job {job} handed back: {}", reason(&why)),
        Event::LeaseExpired { job, .. } => format!("job {job}: its worker was lost; it is taken up again"),
        Event::RetryAccepted { by, .. } => format!("retried by {}", reason(&by)),
        Event::DeadLetterDropped { job, by } => format!("dead letter {job} dismissed by {}", reason(&by)),
        Event::PauseChanged { paused, .. } => if paused { "paused" } else { "resumed" }.to_owned(),
        _ => return None,
    })
}

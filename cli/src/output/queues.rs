//! Queues, for people and for programs.

use nightforge_api::{KindView, PauseView, QueuePage, QueueView};

use super::table::table;
use super::text::{length, one_line};
use super::{Format, Output};
use crate::exit::Failure;

impl Output {
    /// Every queue. As lines of JSON, models come first.
    pub(crate) fn queues(&self, page: &QueuePage) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(page),
            Format::Jsonl => {
                page.models.iter().try_for_each(|queue| self.json_line(queue))?;
                page.kinds.iter().try_for_each(|kind| self.json_line(kind))
            }
            Format::Table => {
                let models: Vec<Vec<String>> = page.models.iter().map(model).collect();
                let kinds: Vec<Vec<String>> = page.kinds.iter().map(kind).collect();
                let head = ["MODEL", "READY", "RUNNING", "DELAYED", "HELD", "OLDEST", "WORKERS", "PAUSED"];
                self.text(&format!(
                    "{}\n{}",
                    table(&head, &models),
                    table(&["KIND", "QUEUED", "RUNNING", "PAUSED"], &kinds)
                ))
            }
        }
    }
}

fn model(queue: &QueueView) -> Vec<String> {
    let workers = match (queue.workers_ready, queue.workers_parked) {
        (0, 0) => "none".to_owned(),
        (ready, 0) => format!("{ready} ready"),
        (ready, parked) => format!("{ready} ready, {parked} parked"),
    };
    vec![
        queue.model.to_string(),
        queue.ready.to_string(),
        queue.running.to_string(),
        queue.delayed.to_string(),
        queue.held.to_string(),
        queue.oldest_ready_ms.map_or_else(|| "-".to_owned(), length),
        workers,
        paused(queue.paused.as_ref()),
    ]
}

fn kind(kind: &KindView) -> Vec<String> {
    vec![
        kind.kind.to_string(),
        kind.queued.to_string(),
        kind.running.to_string(),
        paused(kind.paused.as_ref()),
    ]
}

fn paused(pause: Option<&PauseView>) -> String {
    pause.map_or_else(
        || "-".to_owned(),
        |pause| {
            format!("by {} since {}", one_line(&pause.by, 40), pause.since.strftime("%Y-%m-%d %H:%M:%SZ"))
        },
    )
}

//! Live processes, for people and for programs.

use nightforge_api::{EndpointView, WorkerPage, WorkerView};

use super::table::table;
use super::text::{length, one_line};
use super::{Format, Output};
use crate::exit::Failure;

impl Output {
    /// Every live process; in a table a line for each endpoint, and what is wrong with those that take no jobs.
    pub(crate) fn workers(&self, page: &WorkerPage) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(page),
            Format::Jsonl => page.workers.iter().try_for_each(|worker| self.json_line(worker)),
            Format::Table if page.workers.is_empty() => self.text("no process lives"),
            Format::Table => {
                let head =
                    ["ROLE", "HOST", "MODEL", "ENDPOINT", "GPU", "SLOTS", "STATE", "SEEN", "VERSION", "JOBS"];
                let rows: Vec<Vec<String>> = page.workers.iter().flat_map(rows).collect();
                let mut text = table(&head, &rows);
                let endpoints = page.workers.iter().flat_map(|worker| &worker.endpoints);
                for endpoint in endpoints.filter(|endpoint| !endpoint.serves) {
                    let message = endpoint.message.as_deref().unwrap_or("it has said nothing more");
                    text.push_str(&format!(
                        "\n{} since {}: {}",
                        endpoint.state,
                        since(endpoint),
                        one_line(message, 400)
                    ));
                }
                self.text(&text)
            }
        }
    }
}

fn rows(worker: &WorkerView) -> Vec<Vec<String>> {
    let row = |model: &str, url: &str, gpu: &str, slots: u32, state: &str| {
        vec![
            worker.role.clone(),
            // What tells two machines apart stands at the end of their identities.
            worker.host.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect(),
            model.to_owned(),
            one_line(url, 60),
            gpu.to_owned(),
            slots.to_string(),
            one_line(state, 30),
            format!("{} ago", length(worker.heartbeat_age_ms)),
            worker.version.clone(),
            jobs(worker, model),
        ]
    };
    if worker.endpoints.is_empty() {
        let state = if worker.model.is_some() { "starting" } else { "-" };
        return vec![row(worker.model.as_deref().unwrap_or("-"), "-", "-", worker.slots, state)];
    }
    let of = |seen: &EndpointView| {
        let gpu = seen.gpu.as_deref().unwrap_or("-");
        row(seen.model.as_str(), &seen.url, gpu, seen.slots, &seen.state)
    };
    worker.endpoints.iter().map(of).collect()
}

/// The jobs of a model that the process runs, as `TASK.JOB`.
fn jobs(worker: &WorkerView, model: &str) -> String {
    let of_model = worker.running.iter().filter(|running| running.model == model);
    let jobs: Vec<String> = of_model.map(|running| format!("{}.{}", running.task, running.job)).collect();
    if jobs.is_empty() { "-".to_owned() } else { jobs.join(", ") }
}

fn since(endpoint: &EndpointView) -> String {
    endpoint.since.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

//! Looking into a data folder after a story: what the database and the repositories say.

use std::collections::BTreeMap;
use std::path::Path;

use nightforge_domain::{JobId, Status};
use nightforge_store::{DbClock, EventRow, JobRow, Store, TaskFilter, TaskRow};

/// Everything that is known of one task.
pub struct Record {
    /// The task.
    pub task: TaskRow,
    /// Its log.
    pub events: Vec<EventRow>,
    /// Its jobs.
    pub jobs: Vec<JobRow>,
    /// Model calls that the ledger holds.
    pub model_calls: u64,
    /// Model answers that the journals hold.
    pub model_steps: u64,
    /// These answers, each with its step's name.
    pub answers: Vec<(String, serde_json::Value)>,
    /// Tokens of all prompts, as far as the server counted.
    pub prompt_tokens: u64,
    /// Tokens of all answers, as far as the server counted.
    pub completion_tokens: u64,
}

/// Every task of a data folder, oldest first.
///
/// # Panics
/// When the database can't be read.
pub fn records(data: &Path) -> Vec<Record> {
    records_at(&format!("sqlite:{}", data.join("nightforge.db").display()))
}

/// Every task of a database, oldest first.
///
/// # Panics
/// When the database can't be read.
pub fn records_at(url: &str) -> Vec<Record> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open(url, DbClock::Database).await.expect("the database opens");
        let filter = TaskFilter { limit: 10_000, ..TaskFilter::default() };
        let mut records = Vec::new();
        for task in store.tasks(&filter).await.expect("tasks") {
            let events = store.events(&task.id, 0, 1_000_000).await.expect("events");
            let jobs = store.jobs(&task.id).await.expect("jobs");
            let spent = store.spent(&task.id).await.expect("the ledger");
            let mut answers = Vec::new();
            for job in &jobs {
                let journal = store.journal(&JobId { task: task.id.clone(), no: job.no }).await;
                let asked = journal.expect("a journal").into_iter().filter(|step| is_answer(&step.name));
                answers.extend(asked.map(|step| (step.name, step.output)));
            }
            records.push(Record {
                task,
                events,
                jobs,
                model_calls: spent.model_calls,
                model_steps: answers.len() as u64,
                answers,
                prompt_tokens: spent.prompt_tokens,
                completion_tokens: spent.completion_tokens,
            });
        }
        store.close().await;
        records.reverse();
        records
    })
}

/// Whether a step of this name is a model's answer.
fn is_answer(step: &str) -> bool {
    ["plan", "features", "file", "init-script", "model"].contains(&step)
}

impl Record {
    /// Invariant 2: event numbers without gaps, from 1.
    ///
    /// # Panics
    /// When there is a gap.
    pub fn assert_events_without_gap(&self) {
        let numbers: Vec<i64> = self.events.iter().map(|event| event.seq).collect();
        let expected: Vec<i64> = (1..=numbers.len() as i64).collect();
        assert_eq!(numbers, expected, "event numbers of {}", self.task.id);
    }

    /// Each feature is proven exactly once, and each job gave its result exactly once.
    ///
    /// # Panics
    /// When something was done twice.
    pub fn assert_nothing_twice(&self) {
        for (kind, key) in [("feature-passed", "feature"), ("job-done", "job"), ("job-created", "job")] {
            let mut counts: BTreeMap<String, u32> = BTreeMap::new();
            for event in self.events.iter().filter(|event| event.type_name == kind) {
                *counts.entry(event.data[key].to_string()).or_default() += 1;
            }
            let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
            assert!(twice.is_empty(), "{kind} twice: {twice:?}");
        }
    }

    /// Invariant 4: each claim repeats at most the one step that was in flight when the last one ended.
    ///
    /// # Panics
    /// When more model calls were made than that.
    pub fn assert_no_finished_step_repeated(&self) {
        let claims = self.events.iter().filter(|event| event.type_name == "job-claimed").count() as u64;
        let repeats = claims - self.jobs.len() as u64;
        let most = self.model_steps + repeats;
        assert!(self.model_calls <= most, "{} model calls, at most {most} are explained", self.model_calls);
        assert!(self.model_calls >= self.model_steps, "a step without its call in the ledger");
    }

    /// How often a lease was taken from a process that had ended.
    pub fn rescues(&self) -> usize {
        self.events.iter().filter(|event| event.type_name == "lease-expired").count()
    }

    /// Compares the log with the one of an undisturbed demo build, which stands in `tests/it/snapshots`.
    ///
    /// # Panics
    /// When they differ.
    pub fn assert_demo_story(&self) {
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/it/snapshots"));
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!("demo_build_log", self.story()));
    }

    /// The log without recovery entries and without what differs between two runs by nature: commits and ports.
    fn story(&self) -> String {
        let lines: Vec<String> = self
            .events
            .iter()
            .filter(|event| !is_recovery(event))
            .map(|event| {
                let mut data = event.data.clone();
                if let Some(object) = data.as_object_mut() {
                    for name in ["commit", "worker"] {
                        object.remove(name);
                    }
                }
                format!("{} {data}", event.type_name)
            })
            .collect();
        lines.join("\n")
    }

    /// Whether the task ended as it should.
    pub fn is_completed(&self) -> bool {
        self.task.status == Status::Completed
    }
}

fn is_recovery(event: &EventRow) -> bool {
    match event.type_name.as_str() {
        "job-handed-back" | "lease-expired" | "journal-cut" => true,
        "job-claimed" => event.data["fence"] != 1,
        _ => false,
    }
}

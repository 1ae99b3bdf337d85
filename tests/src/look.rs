//! Looking into a data folder after a story: what the database and the repositories say.

use std::collections::BTreeMap;
use std::path::Path;

use nightforge_domain::Status;
use nightforge_store::{DbClock, EventRow, JobRow, Store, TaskFilter, TaskRow};

/// Everything that is known of one task.
pub struct Record {
    /// The task.
    pub task: TaskRow,
    /// Its log.
    pub events: Vec<EventRow>,
    /// Its jobs.
    pub jobs: Vec<JobRow>,
}

/// Every task of a data folder, oldest first.
///
/// # Panics
/// When the database can't be read.
pub fn records(data: &Path) -> Vec<Record> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let url = format!("sqlite:{}", data.join("nightforge.db").display());
        let store = Store::open(&url, DbClock::Database).await.expect("the database opens");
        let filter = TaskFilter { limit: 10_000, ..TaskFilter::default() };
        let mut records = Vec::new();
        for task in store.tasks(&filter).await.expect("tasks") {
            let events = store.events(&task.id, 0, 1_000_000).await.expect("events");
            let jobs = store.jobs(&task.id).await.expect("jobs");
            records.push(Record { task, events, jobs });
        }
        store.close().await;
        records.reverse();
        records
    })
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

    /// The log without recovery entries and without what differs between two runs by nature: ids and times.
    pub fn story(&self) -> Vec<String> {
        self.events
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
            .collect()
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

//! Looking into a research task after its story: its rows, its result, its log in a form that two runs share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use nightforge_domain::research::{
    Finding, Level, Phase, ResearchResult, Source, SourceId, SourceStatus, Subtask, SubtaskStatus,
};
use nightforge_domain::{Event, TaskId};
use nightforge_store::{
    DbClock, DecisionRow, EventRow, JobRow, MessageRow, Run, Store, TaskFilter, TaskRow, UncertaintyRow,
};
use serde_json::{Value, json};

/// Set to write the golden file instead of comparing with it.
const UPDATE: &str = "UPDATE_GOLDEN";

/// Everything that is known of one research task.
pub struct TeamRecord {
    /// The task.
    pub task: TaskRow,
    /// Its log.
    pub events: Vec<EventRow>,
    /// Its jobs.
    pub jobs: Vec<JobRow>,
    /// Its agent runs.
    pub runs: Vec<Run>,
    /// Its assignments.
    pub subtasks: Vec<Subtask>,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// What stays open.
    pub uncertainties: Vec<UncertaintyRow>,
    /// Its decisions.
    pub decisions: Vec<DecisionRow>,
    /// The conversation.
    pub messages: Vec<MessageRow>,
    /// Its sources, with their texts.
    pub sources: Vec<Source>,
    /// What it left behind, once it is over.
    pub result: Option<ResearchResult>,
    /// Model calls that the ledger holds.
    pub model_calls: u64,
}

/// Counts the steps that the jobs of a data folder have journaled, while a system works on it.
pub struct StepCount {
    runtime: tokio::runtime::Runtime,
    store: Store,
}

impl StepCount {
    /// Opens the folder's database, which must be there.
    ///
    /// # Panics
    /// When it can't be opened.
    pub fn open(data: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let url = format!("sqlite:{}", data.join("nightforge.db").display());
        let store = runtime.block_on(Store::open(&url, DbClock::Database)).expect("the database opens");
        Self { runtime, store }
    }

    /// Of all jobs of all tasks.
    ///
    /// # Panics
    /// When the database can't be read.
    pub fn now(&self) -> u64 {
        self.runtime.block_on(async {
            let mut steps = 0;
            for task in self.store.tasks(&TaskFilter::default()).await.expect("tasks") {
                let jobs = self.store.jobs(&task.id).await.expect("jobs");
                steps += jobs.iter().map(|job| u64::from(job.steps)).sum::<u64>();
            }
            steps
        })
    }
}

impl TeamRecord {
    /// Everything of a task.
    ///
    /// # Panics
    /// When the database can't be read.
    pub async fn read(store: &Store, task: &TaskId) -> Self {
        let known = store.sources(task).await.expect("sources");
        let ids: Vec<SourceId> = known.iter().map(|source| source.id).collect();
        let subtasks = store.subtasks(task).await.expect("assignments");
        let findings = store.findings(task).await.expect("findings");
        Self {
            task: store.task(task).await.expect("the task"),
            events: store.events(task, 0, 1_000_000).await.expect("events"),
            jobs: store.jobs(task).await.expect("jobs"),
            runs: store.runs(task).await.expect("runs"),
            subtasks: subtasks.into_iter().map(|row| row.subtask).collect(),
            findings: findings.into_iter().map(|row| row.finding).collect(),
            uncertainties: store.uncertainties(task).await.expect("uncertainties"),
            decisions: store.decisions(task).await.expect("decisions"),
            messages: store.messages(task, 0, 1_000_000).await.expect("messages"),
            sources: store.sources_with_text(task, &ids).await.expect("sources"),
            result: store.research_result(task).await.expect("the result"),
            model_calls: store.spent(task).await.expect("the ledger").model_calls,
        }
    }

    /// Every research task of a database, oldest first.
    ///
    /// # Panics
    /// When the database can't be read.
    pub fn all_at(url: &str) -> Vec<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let store = Store::open(url, DbClock::Database).await.expect("the database opens");
            let filter = TaskFilter { limit: 10_000, ..TaskFilter::default() };
            let mut records = Vec::new();
            for task in store.tasks(&filter).await.expect("tasks") {
                records.push(Self::read(&store, &task.id).await);
            }
            store.close().await;
            records.reverse();
            records
        })
    }

    /// The only task of a data folder.
    ///
    /// # Panics
    /// When it holds another number of tasks.
    pub fn only(data: &Path) -> Self {
        let mut records = Self::all_at(&format!("sqlite:{}", data.join("nightforge.db").display()));
        assert_eq!(records.len(), 1, "one task");
        records.remove(0)
    }

    /// How often entries of this type stand in the log.
    pub fn count(&self, type_name: &str) -> usize {
        self.events.iter().filter(|event| event.type_name == type_name).count()
    }

    /// The first entry of this type.
    ///
    /// # Panics
    /// When there is none.
    pub fn first(&self, type_name: &str) -> &EventRow {
        let found = self.events.iter().find(|event| event.type_name == type_name);
        found.unwrap_or_else(|| panic!("no {type_name} in the log:\n{}", self.log()))
    }

    /// The log as it is.
    pub fn log(&self) -> String {
        let line = |event: &EventRow| format!("{} {} {}", event.seq, event.type_name, event.data);
        self.events.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The result.
    ///
    /// # Panics
    /// When there is none.
    pub fn result(&self) -> &ResearchResult {
        self.result.as_ref().unwrap_or_else(|| panic!("no result:\n{}", self.log()))
    }

    /// How many executions were given up or taken over.
    pub fn claims_again(&self) -> usize {
        self.runs.iter().map(|run| run.claims.saturating_sub(1) as usize).sum()
    }

    /// The log without recovery and without what differs between two runs of the same work: who worked, and the numbers
    /// of sources, for which their addresses stand. Jobs of one phase run side by side, so between two changes of phase
    /// each job's entries stand together.
    pub fn normal_form(&self) -> String {
        let mut segments: Vec<Vec<(u64, String)>> = vec![Vec::new()];
        for row in self.events.iter().filter(|row| !is_recovery(row)) {
            let mut data = row.data.clone();
            if let Some(fields) = data.as_object_mut() {
                fields.remove("worker");
            }
            if let Some(subject) = data["subject"].as_str().and_then(|subject| self.address(subject)) {
                data["subject"] = json!(subject);
            }
            let job = data["job"].as_u64().unwrap_or(0);
            let line = (job, format!("{} {data}", row.type_name));
            segments.last_mut().expect("there is always one").push(line);
            if row.type_name == "phase-changed" {
                segments.push(Vec::new());
            }
        }
        let mut lines = Vec::new();
        for mut segment in segments {
            segment.sort_by_key(|(job, _)| *job);
            lines.extend(segment.into_iter().map(|(_, line)| line));
        }
        lines.join("\n") + "\n"
    }

    fn address(&self, subject: &str) -> Option<&str> {
        let id: SourceId = subject.parse().ok()?;
        self.sources.iter().find(|source| source.id == id).map(|source| source.url.as_str())
    }

    /// Compares the log in its normal form with the one that stands in `tests/it/research/golden.txt`; writes that
    /// file where UPDATE_GOLDEN is set.
    ///
    /// # Panics
    /// When they differ.
    pub fn assert_golden(&self) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("it/research/golden.txt");
        let is = self.normal_form();
        if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
            std::fs::write(&path, &is).expect("the golden file can be written");
            return;
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines = (1..).zip(is.lines().map(Some).chain(std::iter::repeat(None)));
        let mut golden = wanted.lines().map(Some).chain(std::iter::repeat(None));
        loop {
            let ((number, is), wanted) = (lines.next().expect("endless"), golden.next().expect("endless"));
            assert!(
                is == wanted,
                "line {number} is\n  {is:?}\nand in {}\n  {wanted:?}\n({UPDATE}=1 writes that file)\n{}",
                path.display(),
                self.log()
            );
            if is.is_none() {
                return;
            }
        }
    }

    /// What holds of every history: no gap, nothing twice, nothing that contradicts itself.
    ///
    /// # Panics
    /// When something does not.
    pub fn assert_history(&self) {
        let log = || self.log();
        let numbered = |what: &str, numbers: Vec<i64>| {
            let expected: Vec<i64> = (1..=numbers.len() as i64).collect();
            assert_eq!(numbers, expected, "{what}\n{}", log());
        };
        numbered("events", self.events.iter().map(|event| event.seq).collect());
        numbered("messages", self.messages.iter().map(|row| i64::from(row.message.number)).collect());
        numbered("sources", self.sources.iter().map(|source| i64::from(source.id.0)).collect());
        numbered("assignments", self.subtasks.iter().map(|subtask| i64::from(subtask.number)).collect());
        self.assert_nothing_twice();
        self.assert_phases();
        self.assert_decisions();
        self.assert_no_finished_step_repeated();
        let research = self.task.state.research().expect("a research task");
        assert_eq!(self.findings, research.findings, "the rows are what the state says");
        assert_eq!(self.subtasks, research.subtasks, "the rows are what the state says");
        for finding in &self.findings {
            for evidence in &finding.grounded.evidence {
                let source = self.sources.iter().find(|source| source.id == evidence.source);
                let source = source.unwrap_or_else(|| panic!("{} cites {}", finding.id, evidence.source));
                assert_ne!(source.status, SourceStatus::Placeholder, "a placeholder can't be cited");
            }
        }
    }

    /// Each job is created, done and heard of once; each tool call and each finding is told once.
    fn assert_nothing_twice(&self) {
        let told_once: [(&str, &[&str]); 8] = [
            ("job-created", &["job"]),
            ("job-done", &["job"]),
            ("agent-started", &["job"]),
            ("tool-called", &["job", "tool", "subject"]),
            ("finding-created", &["finding"]),
            ("research-reported", &["subtask"]),
            ("research-blocked", &["subtask"]),
            ("synthesis-written", &[]),
        ];
        for (type_name, keys) in told_once {
            let mut counts: BTreeMap<String, u32> = BTreeMap::new();
            for event in self.events.iter().filter(|event| event.type_name == type_name) {
                let key: Vec<String> = keys.iter().map(|key| event.data[key].to_string()).collect();
                *counts.entry(key.join(" ")).or_default() += 1;
            }
            let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
            assert!(twice.is_empty(), "{type_name} twice: {twice:?}\n{}", self.log());
        }
        let mut urls = BTreeSet::new();
        assert!(self.sources.iter().all(|source| urls.insert(&source.url)), "a page is one source");
    }

    /// Each change of phase begins where the last one ended.
    fn assert_phases(&self) {
        let mut at = Phase::Pending.to_string();
        for event in self.events.iter().filter(|event| event.type_name == "phase-changed") {
            assert_eq!(event.data["from"], at.as_str(), "{}", self.log());
            at = event.data["to"].as_str().unwrap_or_default().to_owned();
        }
        assert_eq!(at, self.task.phase);
    }

    /// Each iteration has one decision; one whose Manager failed, or has not answered, has none.
    fn assert_decisions(&self) {
        let mut iterations = BTreeSet::new();
        for row in &self.decisions {
            let iteration = row.decision.iteration;
            assert!(iterations.insert(iteration), "iteration {iteration} was decided twice\n{}", self.log());
        }
        let research = self.task.state.research().expect("a research task");
        let failed = self.failed_managers();
        let decided = iterations.len() + failed;
        assert!(decided <= research.iteration as usize, "{decided} of {}", research.iteration);
        if failed == 0 && self.count("job-cancelled") == 0 && self.count("limit-reached") == 0 {
            let all: BTreeSet<u32> = (1..=research.iteration).collect();
            assert_eq!(iterations, all, "one decision for each iteration\n{}", self.log());
        }
    }

    fn failed_managers(&self) -> usize {
        let failed = self.events.iter().filter(|event| event.type_name == "agent-failed");
        failed.filter(|event| event.data["agent"] == "manager").count()
    }

    /// Invariant 4: a later claim repeats at most the step that was in flight when the last one ended.
    fn assert_no_finished_step_repeated(&self) {
        for run in self.runs.iter().filter(|run| run.state.as_str() == "done") {
            let answers = match run.agent.as_str() {
                // Queries and report; the report once more where nothing of it could be cited.
                "researcher" => 3,
                _ => 1,
            };
            // What is in flight when a claim ends may itself be the second ask of a call.
            let most = answers + run.reasks + run.claims.saturating_sub(1) * 2;
            assert!(
                run.model_calls <= most,
                "job {}: {} model calls, at most {most} are explained\n{}",
                run.job,
                run.model_calls,
                self.log()
            );
        }
    }

    /// The result, whole or partial, holds all that the rows hold, and counts what it holds.
    ///
    /// # Panics
    /// When something is missing.
    pub fn assert_result_is_full(&self) {
        let (result, counts) = (self.result(), self.result().counts);
        let count = |number: u32| number as usize;
        assert_eq!(result.findings, self.findings, "every finding");
        // A row may still say ASSIGNED: a retry goes on from it. The result says that nobody did it.
        let assignments: Vec<Subtask> = self
            .subtasks
            .iter()
            .cloned()
            .map(|subtask| match subtask.status {
                SubtaskStatus::Assigned => Subtask {
                    status: SubtaskStatus::Failed,
                    outcome: Some("the task ended before it was done".to_owned()),
                    ..subtask
                },
                _ => subtask,
            })
            .collect();
        assert_eq!(result.assignments, assignments, "every assignment");
        let of = |sources: &[SourceId]| sources.to_vec();
        let ids: Vec<SourceId> = self.sources.iter().map(|source| source.id).collect();
        let told: Vec<SourceId> = result.sources.iter().map(|source| source.id).collect();
        assert_eq!(of(&told), ids, "every source");
        for row in &self.uncertainties {
            assert!(result.uncertainties.contains(&row.uncertainty.text), "{:?}", row.uncertainty);
        }
        let reviews = self.count("critic-approved") + self.count("critic-requested-more-work");
        assert_eq!(
            (count(counts.findings), count(counts.assignments), count(counts.sources), count(counts.reviews)),
            (self.findings.len(), self.subtasks.len(), self.sources.len(), reviews)
        );
        let cited: BTreeSet<SourceId> = (self.findings.iter())
            .flat_map(|finding| finding.grounded.evidence.iter().map(|evidence| evidence.source))
            .chain(result.key_findings.iter().flat_map(|finding| finding.sources.iter().copied()))
            .collect();
        assert_eq!(count(counts.sources_cited), cited.len());
        assert_eq!(count(counts.uncertainties), result.uncertainties.len());
        assert_eq!(count(counts.open_requests), result.open_requests.len());
        assert_eq!(result.state, self.task.status);
        let report = self.task.report.as_deref().unwrap_or_default();
        for finding in &self.findings {
            let words: String = finding.grounded.claim.chars().take(20).collect();
            assert!(report.contains(words.trim()), "{} is not in the report:\n{report}", finding.id);
        }
    }

    /// A statement of the answer is found in its sources, or says that it is not.
    ///
    /// # Panics
    /// When one does neither.
    pub fn assert_key_findings_hold(&self) {
        let result = self.result();
        assert!(!result.key_findings.is_empty());
        for finding in &result.key_findings {
            assert!(finding.level >= Level::G2 || !finding.notes.is_empty(), "{finding:?}");
        }
    }
}

/// Whether an entry tells of a recovery.
fn is_recovery(row: &EventRow) -> bool {
    let event: Value = json!({ "type": row.type_name, "data": row.data });
    let event: Event = serde_json::from_value(event).expect("the log holds events");
    event.is_recovery()
}

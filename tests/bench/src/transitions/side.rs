//! One side's database, and the steps that both sides take outside of the measured time.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use nightforge_domain::build::ReportFacts;
use nightforge_domain::state::{self, Transition};
use nightforge_domain::{BootId, TaskId};
use nightforge_queue::{Bell, Bells};
use nightforge_scheduler::advance_task;
use nightforge_store::{DbClock, Pending, Store, fresh_boot_id};
use sqlx::{AnyPool, AssertSqlSafe, Row};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::script::{Facts, Plan, Script};
use crate::databases::{Databases, connect};
use crate::load;

/// So many that admission never makes a task wait.
const SLOTS: u32 = 100_000;

/// A database of the product, with a process that claims.
pub(super) struct Side {
    pub(super) store: Store,
    url: String,
    /// For statements that the product does not have.
    pub(super) raw: AnyPool,
    bells: Bells,
    pub(super) boot: BootId,
    _end: DropGuard,
}

impl Side {
    pub(super) async fn open(databases: &Databases, name: &str) -> anyhow::Result<Self> {
        let url = databases.make(name).await?;
        let store = Store::open(&url, DbClock::Database).await?;
        let raw = connect(&url, databases.engine(), 1).await?;
        let end = CancellationToken::new();
        let bells = Bells::in_memory(end.clone());
        let boot = fresh_boot_id();
        store.announce(&load::worker_process(&boot, "bench".to_owned(), SLOTS)).await?;
        listen(&bells)?;
        Ok(Self { store, url, raw, bells, boot, _end: end.drop_guard() })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) async fn close(&self) {
        self.raw.close().await;
        self.store.close().await;
    }

    pub(super) async fn submit(&self, tasks: usize, features: u32) -> anyhow::Result<Vec<TaskId>> {
        let mut submitted = Vec::with_capacity(tasks);
        let new = load::build_task("Build a reading list with shelves, a search and an export.", features)?;
        for _ in 0..tasks {
            submitted.push(self.store.submit(&new).await?.task);
        }
        Ok(submitted)
    }

    /// Claims so many jobs and leaves their results; returns how long that took.
    pub(super) async fn leave_results(&self, jobs: usize) -> anyhow::Result<Duration> {
        let started = Instant::now();
        for _ in 0..jobs {
            load::claim_and_finish(&self.store, &self.boot).await?;
        }
        Ok(started.elapsed())
    }

    pub(super) async fn claim_what_is_left(&self, jobs: usize) -> anyhow::Result<()> {
        for _ in 0..jobs {
            load::claim(&self.store, &self.boot).await?;
        }
        Ok(())
    }

    /// What is measured: one transition of each task, by the scheduler's own loop.
    pub(super) async fn advance(&self, tasks: &[TaskId]) -> anyhow::Result<Duration> {
        let started = Instant::now();
        for task in tasks {
            let committed = advance_task(&self.store, &self.bells, task).await?;
            ensure!(committed == 1, "{task} made {committed} transitions in place of one");
        }
        Ok(started.elapsed())
    }

    /// The statements, with their parameters, by which each of the tasks makes its next transition.
    pub(super) async fn plan(&self, tasks: &[TaskId], script: &Script) -> anyhow::Result<Vec<Plan>> {
        let mut plans = Vec::with_capacity(tasks.len());
        for task in tasks {
            let pending = self.store.pending(task).await?.context("an input waits")?;
            let transition = self.transition(&pending).await?;
            let numbers = "SELECT next_event, next_input FROM tasks WHERE id = $1";
            let row = sqlx::query(numbers).bind(task.as_str()).fetch_one(&self.raw).await?;
            let facts = Facts {
                now: self.store.now().await?,
                next_event: row.try_get("next_event")?,
                next_input: row.try_get("next_input")?,
            };
            plans.push(script.plan(&pending, &transition, &facts)?);
        }
        Ok(plans)
    }

    async fn transition(&self, pending: &Pending) -> anyhow::Result<Transition> {
        let task = &pending.task;
        let facts =
            ReportFacts::new(&task.id, &task.objective, task.created_at, self.store.spent(&task.id).await?);
        let now = self.store.now().await?;
        let context = state::Context { limits: &task.limits, now, deadline: task.deadline, facts };
        Ok(state::next(&task.state, &pending.input, &context)?)
    }

    /// Transitions, events, jobs and unconsumed inputs in the whole database.
    pub(super) async fn written(&self) -> anyhow::Result<[i64; 4]> {
        let mut counts = [0; 4];
        for (count, of) in counts.iter_mut().zip([
            "CAST(sum(seq) AS BIGINT) FROM tasks",
            "count(*) FROM events",
            "count(*) FROM jobs",
            "count(*) FROM inputs WHERE consumed_seq IS NULL",
        ]) {
            let sql = AssertSqlSafe(format!("SELECT {of}"));
            *count = sqlx::query_scalar(sql).fetch_one(&self.raw).await?;
        }
        Ok(counts)
    }
}

/// Bells ring for somebody, as in production.
fn listen(bells: &Bells) -> anyhow::Result<()> {
    let (mut models, mut tasks) = (bells.model(&load::model()?), bells.tasks());
    tokio::spawn(async move { while models.next().await.is_some() {} });
    tokio::spawn(async move { while tasks.next().await.is_some() {} });
    bells.ring(Bell::Model(load::model()?));
    Ok(())
}

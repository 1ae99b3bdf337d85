//! The statements of a transition as the product sends them, recorded, and the parameters that they get.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use nightforge_domain::Millis;
use nightforge_domain::state::Transition;
use nightforge_store::Pending;
use serde_json::json;

use super::bare::Bare;
use super::side::Side;
use crate::databases::Databases;
use crate::statement_log::StatementLog;

/// Tasks that a scheduler looks for after one of them has ended or waits.
const NEXT_TASKS: i64 = 4;

/// How the transaction's bounds begin.
const OPENS: &str = "BEGIN";
const CLOSES: &str = "COMMIT";

/// A parameter.
#[derive(Debug, Clone)]
pub(super) enum Bind {
    Text(Option<String>),
    Number(Option<i64>),
}

/// How a statement is sent, and how many rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// The bound of a transaction, which is not prepared.
    Bound,
    Nothing,
    AtMostOne,
    All,
}

/// A statement with its parameters.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub(super) text: &'static str,
    pub(super) reads: Reads,
    pub(super) binds: Vec<Bind>,
}

/// One transition: what is sent before, in, and after its transaction.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) before: Vec<Statement>,
    pub(super) transaction: Vec<Statement>,
    pub(super) after: Vec<Statement>,
}

/// What the database says when a plan is made.
pub(super) struct Facts {
    pub(super) now: Millis,
    pub(super) next_event: i64,
    pub(super) next_input: i64,
}

/// The texts of one step's transition, in the order in which the product sends them.
pub(super) struct Script(Vec<&'static str>);

/// A script for each step of a task's life.
pub(super) struct Scripts(Vec<Script>);

impl Scripts {
    /// Records them from the product, and shows that the bare side sends the same statements.
    ///
    /// # Errors
    /// When it does not.
    pub(super) async fn record(
        databases: &Databases,
        steps: usize,
        features: u32,
        log: &StatementLog,
    ) -> anyhow::Result<Self> {
        let ours = Side::open(databases, "recorded").await?;
        let other = Side::open(databases, "repeated").await?;
        let bare = Bare::open(other.url(), databases.engine()).await?;
        let (our_task, bare_task) = (ours.submit(1, features).await?, other.submit(1, features).await?);
        let mut scripts = Vec::with_capacity(steps);
        for step in 0..steps {
            if step > 0 {
                ours.leave_results(1).await?;
                other.leave_results(1).await?;
            }
            let (_, recorded) = log.record(ours.advance(&our_task)).await?;
            let script = Script(recorded.iter().map(|text| &*text.clone().leak()).collect());
            let plans = other.plan(&bare_task, &script).await?;
            let (_, repeated) = log.record(bare.send(&plans)).await?;
            let (recorded, repeated) = (counted(&recorded), counted(&repeated));
            ensure!(!recorded.is_empty(), "sqlx logged no statement");
            ensure!(
                recorded == repeated,
                "step {step}: the product sends {recorded:#?}, the bare loop {repeated:#?}"
            );
            scripts.push(script);
        }
        bare.close().await;
        ours.close().await;
        other.close().await;
        Ok(Self(scripts))
    }

    pub(super) fn of_step(&self, step: usize) -> &Script {
        &self.0[step]
    }
}

/// How often each statement was sent.
fn counted(statements: &[String]) -> BTreeMap<&str, usize> {
    statements.iter().fold(BTreeMap::new(), |mut counts, text| {
        *counts.entry(text.as_str()).or_default() += 1;
        counts
    })
}

impl Script {
    /// Gives each statement its parameters.
    ///
    /// # Errors
    /// When the product sends a statement that this benchmark does not know, or in another number than the transition
    /// says.
    pub(super) fn plan(
        &self,
        pending: &Pending,
        transition: &Transition,
        facts: &Facts,
    ) -> anyhow::Result<Plan> {
        let mut parameters = Parameters { pending, transition, facts, events: 0, jobs: 0 };
        let mut plan = Plan::default();
        let (mut opened, mut closed) = (false, false);
        for text in &self.0 {
            let (reads, binds) = parameters.of(text)?;
            let statement = Statement { text, reads, binds };
            opened |= text.starts_with(OPENS);
            match (opened, closed) {
                (false, _) => plan.before.push(statement),
                (true, false) => plan.transaction.push(statement),
                (true, true) => plan.after.push(statement),
            }
            closed |= text.starts_with(CLOSES);
        }
        ensure!(closed, "the product's transaction does not begin and end as this benchmark expects");
        let (events, jobs) = (transition.events.len(), transition.jobs.len());
        ensure!(
            (parameters.events, parameters.jobs) == (events, jobs),
            "recorded were {} events and {} jobs, this transition has {events} and {jobs}",
            parameters.events,
            parameters.jobs
        );
        Ok(plan)
    }
}

struct Parameters<'a> {
    pending: &'a Pending,
    transition: &'a Transition,
    facts: &'a Facts,
    /// Given out so far.
    events: usize,
    jobs: usize,
}

impl Parameters<'_> {
    fn of(&mut self, sent: &str) -> anyhow::Result<(Reads, Vec<Bind>)> {
        let task = &self.pending.task;
        let id = || text(task.id.as_str());
        let (kind, priority) = (text(task.kind.as_str()), number(i64::from(task.priority.get())));
        let known: [(&str, Reads, Vec<Bind>); 10] = [
            ("SELECT id, kind, objective", Reads::AtMostOne, vec![id()]),
            ("SELECT number, body FROM inputs", Reads::AtMostOne, vec![id()]),
            ("SELECT count(*) AS calls", Reads::AtMostOne, vec![id()]),
            ("SELECT CAST(COALESCE(sum(slots)", Reads::AtMostOne, vec![]),
            (
                "SELECT count(*) FROM tasks WHERE status = 'running'",
                Reads::AtMostOne,
                vec![kind.clone(), priority.clone()],
            ),
            (
                "SELECT count(*) FROM tasks WHERE status = 'queued'",
                Reads::AtMostOne,
                vec![kind, priority, id()],
            ),
            ("SELECT id FROM tasks WHERE status = 'queued'", Reads::All, vec![number(NEXT_TASKS)]),
            ("UPDATE tasks SET updated_at", Reads::AtMostOne, vec![id()]),
            (OPENS, Reads::Bound, vec![]),
            (CLOSES, Reads::Bound, vec![]),
        ];
        if let Some((_, reads, binds)) = known.into_iter().find(|(start, ..)| sent.starts_with(start)) {
            return Ok((reads, binds));
        }
        // The clock alone, whichever the database's.
        if sent.starts_with("SELECT CAST(") && !sent.contains(" FROM tasks") && !sent.contains('$') {
            return Ok((Reads::AtMostOne, vec![]));
        }
        Ok((Reads::Nothing, self.of_a_write(sent)?))
    }

    fn of_a_write(&mut self, sent: &str) -> anyhow::Result<Vec<Bind>> {
        let (task, transition) = (&self.pending.task, self.transition);
        let (id, seq) = (text(task.id.as_str()), task.seq + 1);
        if sent.starts_with("UPDATE inputs SET consumed_seq") {
            Ok(vec![id, number(self.pending.number), number(seq)])
        } else if sent.starts_with("UPDATE tasks SET seq") {
            let state = &transition.state;
            Ok(vec![
                id,
                number(seq),
                text(&json!(state).to_string()),
                text(state.status().as_str()),
                text(&state.phase()),
                number(i64::from(state.is_stopping())),
                Bind::Text(state.head().map(|head| head.as_str().to_owned())),
                Bind::Text(transition.report.as_ref().map(|report| report.markdown.clone())),
                Bind::Text(None),
                Bind::Number(state.status().is_final().then_some(self.facts.now.0)),
            ])
        } else if sent.starts_with("INSERT INTO events") {
            let event = transition.events.get(self.events).context("one event too many was recorded")?;
            let place = self.facts.next_event + self.events as i64;
            self.events += 1;
            let (name, data) = event.parts();
            Ok(vec![id, number(place), text(&name), number(self.facts.now.0), text(&data.to_string())])
        } else if sent.starts_with("INSERT INTO jobs") {
            let job = transition.jobs.get(self.jobs).context("one job too many was recorded")?;
            self.jobs += 1;
            let model = task.models.of(job.agent()).context("a build's agent without a model")?;
            Ok(vec![
                id,
                number(i64::from(job.no.0)),
                text(job.spec.kind()),
                text(&json!(job.spec).to_string()),
                text(model.as_str()),
                text(&task.owner),
                number(i64::from(task.priority.get())),
                number(self.facts.now.0),
            ])
        } else if sent.starts_with("UPDATE tasks SET next_event") {
            Ok(vec![id, number(self.facts.next_event + self.events as i64), number(self.facts.next_input)])
        } else {
            bail!("the product sends a statement whose parameters are not known here; add them: {sent}")
        }
    }
}

fn text(text: &str) -> Bind {
    Bind::Text(Some(text.to_owned()))
}

fn number(number: i64) -> Bind {
    Bind::Number(Some(number))
}

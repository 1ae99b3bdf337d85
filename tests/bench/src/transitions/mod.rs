//! Transitions per second, beside a bare sqlx loop that sends the same statements.
//!
//! Both sides have a database of their own with the same content. Ours is the scheduler's own loop, `advance_task`.
//! The bare side sends the texts that were recorded from it, with the same parameters and the same transaction
//! bounds, and knows nothing of tasks. That both send the same statements is checked at the start through sqlx's log.
//! A round measures both in turn, so that a noisy neighbour hits both.

mod bare;
mod finished;
mod script;
mod side;

use std::time::Duration;

use anyhow::ensure;
use nightforge_services::Postgres;
use tokio::task::block_in_place;

use crate::args::Form;
use crate::databases::Databases;
use crate::samples::Samples;
use crate::statement_log::StatementLog;
use crate::table::{Limit, Row};
use bare::Bare;
use script::Scripts;
use side::Side;

/// Of the bare loop's transitions per second.
const LEAST_SHARE: f64 = 0.7;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Amount {
    rounds: usize,
    /// New in each round.
    tasks: usize,
    /// Of each task: the submission, the initializer's result, then sessions' results.
    transitions: usize,
    features: u32,
    /// Rows that lie there already, in the large case.
    finished: u32,
}

/// # Errors
/// When a database fails, or the two sides do not send the same statements.
pub(crate) async fn run(form: Form, log: &StatementLog) -> anyhow::Result<Vec<Row>> {
    let amount = form.pick(
        Amount { rounds: 9, tasks: 10, transitions: 12, features: 50, finished: 10_000 },
        Amount { rounds: 1, tasks: 2, transitions: 4, features: 10, finished: 50 },
    );
    let folder = tempfile::tempdir()?;
    let mut rows = on(Databases::Sqlite(folder.path().to_owned()), amount, log).await?;
    let server = block_in_place(Postgres::start)?;
    rows.extend(on(Databases::Postgres(server.url()), amount, log).await?);
    Ok(rows)
}

async fn on(databases: Databases, amount: Amount, log: &StatementLog) -> anyhow::Result<Vec<Row>> {
    let engine = databases.name();
    let scripts = Scripts::record(&databases, amount.transitions, amount.features, log).await?;
    let mut rows = Vec::new();
    let mut rates = Vec::new();
    for finished in [0, amount.finished] {
        let measured = beside_bare(&databases, finished, amount, &scripts).await?;
        let content =
            if finished == 0 { "few tasks".to_owned() } else { format!("{finished} finished tasks") };
        rows.push(
            Row::new(format!("transitions, {engine}, {content}"), "/s", measured.ours.median())
                .beside(measured.bare.median())
                .limited(Limit::Share(LEAST_SHARE))
                .noting(format!(
                    "medians of {} rounds of {}",
                    amount.rounds,
                    amount.tasks * amount.transitions
                )),
        );
        rows.push(Row::new(format!("claim + finish, {engine}, {content}"), "/s", measured.claims.median()));
        rates.push(measured.ours.median());
    }
    rows.push(
        Row::new(format!("transitions, {engine}, many tasks beside few"), "/s", rates[1])
            .beside(rates[0])
            .limited(Limit::Share(LEAST_SHARE))
            .noting("a missing index would show here"),
    );
    Ok(rows)
}

/// Per second, a value a round.
struct Measured {
    ours: Samples,
    bare: Samples,
    claims: Samples,
}

async fn beside_bare(
    databases: &Databases,
    finished: u32,
    amount: Amount,
    scripts: &Scripts,
) -> anyhow::Result<Measured> {
    let ours = Side::open(databases, &format!("ours_{finished}")).await?;
    let other = Side::open(databases, &format!("bare_{finished}")).await?;
    let bare = Bare::open(other.url(), databases.engine()).await?;
    if finished > 0 {
        finished::add(&ours, finished).await?;
        finished::add(&other, finished).await?;
    }
    let (mut our_rates, mut bare_rates, mut claim_rates) = (Vec::new(), Vec::new(), Vec::new());
    // The first round warms up caches and prepared statements, and does not count.
    for round in 0..=amount.rounds {
        let our_tasks = ours.submit(amount.tasks, amount.features).await?;
        let bare_tasks = other.submit(amount.tasks, amount.features).await?;
        let (mut our_time, mut bare_time, mut claim_time) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for step in 0..amount.transitions {
            if step > 0 {
                claim_time += ours.leave_results(amount.tasks).await?;
                other.leave_results(amount.tasks).await?;
            }
            our_time += ours.advance(&our_tasks).await?;
            let plans = other.plan(&bare_tasks, scripts.of_step(step)).await?;
            bare_time += bare.send(&plans).await?;
        }
        // Their last jobs would be claimed in place of the next round's.
        ours.claim_what_is_left(amount.tasks).await?;
        other.claim_what_is_left(amount.tasks).await?;
        if round > 0 {
            let transitions = (amount.tasks * amount.transitions) as f64;
            our_rates.push(transitions / our_time.as_secs_f64());
            bare_rates.push(transitions / bare_time.as_secs_f64());
            claim_rates.push((amount.tasks * (amount.transitions - 1)) as f64 / claim_time.as_secs_f64());
        }
    }
    same_end(&ours, &other).await?;
    bare.close().await;
    ours.close().await;
    other.close().await;
    Ok(Measured {
        ours: Samples::new(our_rates)?,
        bare: Samples::new(bare_rates)?,
        claims: Samples::new(claim_rates)?,
    })
}

/// Both sides have written the same number of transitions, events and jobs.
async fn same_end(ours: &Side, other: &Side) -> anyhow::Result<()> {
    let (ours, other) = (ours.written().await?, other.written().await?);
    ensure!(ours == other, "the two sides wrote different things: {ours:?} and {other:?}");
    Ok(())
}

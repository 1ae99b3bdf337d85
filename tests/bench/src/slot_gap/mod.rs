//! How long a model server's slot stands free between two calls while work waits: the product beside a bare loop that
//! has nothing to do but call.
//!
//! The fake model calls quick tools only, so what lies in a gap is the engine: reading the answer, the journal, the
//! tool, the next prompt, and between jobs the end of one, the transition, the claim and the start of another.

mod bare;
mod projects;

use nightforge_services::{Postgres, Redis};
use tokio::task::block_in_place;

use crate::args::Form;
use crate::fake_model::{Between, FakeModel, Gap};
use crate::installation::Place;
use crate::samples::Samples;
use crate::table::{Limit, Row};
use projects::Projects;

/// Limits in milliseconds.
const MEDIAN_EMBEDDED_MS: f64 = 5.0;
const MEDIAN_CLUSTER_MS: f64 = 15.0;
const P99_MS: f64 = 100.0;

/// How much is measured: gaps a round, and rounds.
#[derive(Debug, Clone, Copy)]
struct Amount {
    rounds: usize,
    gaps: usize,
}

/// What was measured of one way to run.
#[derive(Default)]
struct Measured {
    gaps: Vec<Gap>,
    bare: Vec<Gap>,
    /// Their sizes in bytes.
    prompts: Vec<usize>,
}

/// # Errors
/// When a service or the product does not start, or no gaps come.
pub(crate) async fn run(form: Form) -> anyhow::Result<Vec<Row>> {
    let amount = form.pick(Amount { rounds: 2, gaps: 300 }, Amount { rounds: 1, gaps: 30 });
    // As an operator runs it: a commit is on the disk.
    let postgres = block_in_place(|| Postgres::start_with(&["fsync=on"]))?;
    let redis = block_in_place(Redis::start)?;
    let (mut embedded, mut cluster) = (Measured::default(), Measured::default());
    for round in 0..amount.rounds {
        once(Place::Embedded, amount.gaps, &mut embedded).await?;
        let name = format!("round_{round}");
        let place = Place::Cluster { postgres: postgres.url(), redis: redis.url(), name };
        once(place, amount.gaps, &mut cluster).await?;
    }
    let mut rows = rows("embedded (SQLite, bells in memory)", MEDIAN_EMBEDDED_MS, &embedded)?;
    rows.extend(self::rows("PostgreSQL and Redis", MEDIAN_CLUSTER_MS, &cluster)?);
    Ok(rows)
}

/// The product, then the bare loop with prompts of the same sizes.
async fn once(place: Place, gaps: usize, measured: &mut Measured) -> anyhow::Result<()> {
    let model = FakeModel::start().await?;
    let projects = Projects::start(place, &model).await?;
    let (found, prompts) = projects.gaps(&model, gaps).await?;
    projects.stop().await?;
    anyhow::ensure!(model.most_in_flight() == 1, "one slot had {} calls at a time", model.most_in_flight());
    measured.gaps.extend(found);
    measured.prompts.extend(&prompts);
    let model = FakeModel::start().await?;
    bare::run(&model, &prompts).await?;
    measured.bare.extend(model.take().0);
    Ok(())
}

fn rows(place: &str, median_ms: f64, measured: &Measured) -> anyhow::Result<Vec<Row>> {
    let of = |gaps: &[Gap], between: Option<Between>| {
        let chosen = gaps.iter().filter(|gap| between.is_none_or(|between| gap.between == between));
        Samples::new(chosen.map(|gap| gap.length.as_secs_f64() * 1_000.0))
    };
    let (ours, bare) = (of(&measured.gaps, None)?, of(&measured.bare, None)?);
    let jobs = of(&measured.gaps, Some(Between::Jobs))?;
    let turns = of(&measured.gaps, Some(Between::Turns))?;
    let count = |samples: &Samples| format!("{} gaps", samples.count());
    let prompt = Samples::new(measured.prompts.iter().map(|bytes| *bytes as f64 / 1e3))?;
    Ok(vec![
        Row::new(format!("slot gap p50, {place}"), "ms", ours.median())
            .beside(bare.median())
            .limited(Limit::AtMost(median_ms))
            .noting(format!("{}, prompts of {:.0} kB at the median", count(&ours), prompt.median())),
        Row::new(format!("slot gap p99, {place}"), "ms", ours.p99())
            .beside(bare.p99())
            .limited(Limit::AtMost(P99_MS))
            .noting(format!("longest {:.1} ms", ours.largest())),
        Row::new(format!("  between turns of a session, p99, {place}"), "ms", turns.p99())
            .noting(count(&turns)),
        Row::new(format!("  between jobs, p50, {place}"), "ms", jobs.median()).noting(count(&jobs)),
        Row::new(format!("  between jobs, p99, {place}"), "ms", jobs.p99()),
    ])
}

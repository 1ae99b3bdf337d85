//! What the engine adds to an agent run of a research task: the product beside the same HTTP calls sent bare.
//!
//! The team's model answers at once and its searches are recorded ones, so what lies between the last answer of one
//! agent run and the last answer of the next is the engine: the end of a job, the transition, the claim, sources and
//! views as rows, prompts, the journal, grounding, and HTTP. The server's own time is taken off on both sides; what a
//! recorded search takes is not, being next to nothing.

mod team;
mod words;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use nightforge_domain::{Kind, Status};
use nightforge_sources::search::Replay;
use nightforge_sources::{Backend, Extractor, ReaderConfig, Search};
use nightforge_worker::SearchSetup;
use reqwest::header;

use crate::args::Form;
use crate::installation::{Equipment, Installation, Place};
use crate::load;
use crate::samples::Samples;
use crate::table::{Limit, Row};
use team::{Call, Team};

/// Limits in milliseconds. A local model takes seconds for an answer, so this is around one percent of a run.
const MEDIAN_MS: f64 = 50.0;
const P95_MS: f64 = 100.0;

/// A task that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The Manager's decisions, the Researchers' rounds, the Critic and the synthesis.
const RUNS_OF_A_TASK: usize = 2 * words::ROUNDS as usize + 4;

/// What an agent run came to, beside the server's own time.
#[derive(Debug, Clone, Copy)]
struct Run {
    is_research: bool,
    beside_ms: f64,
}

/// # Errors
/// When the product does not start, or a task does not complete as the team wants it.
pub(crate) async fn run(form: Form) -> anyhow::Result<Vec<Row>> {
    let tasks = form.pick(40, 3);
    let folder = tempfile::tempdir()?;
    let recording = folder.path().join("searches.jsonl");
    std::fs::write(&recording, words::recording()?)?;
    let replay = Backend::Replay(Replay::new(&recording)?);
    // Every hit has its passage, so no page is ever read or extracted.
    let reader = ReaderConfig::new(Extractor::new(std::env::current_exe()?, Vec::new()));
    let search = Arc::new(SearchSetup::new(Search::new(vec![replay])?, reader)?);

    let team = Team::start().await?;
    let equipment = Equipment { model_url: team.url(), search: Some(search) };
    let (installation, _) = Installation::start(Place::Embedded, equipment, &[]).await?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // The first task warms up pools and prompts, and does not count.
    for number in 0..=tasks {
        let started = Instant::now();
        researched(&installation, number).await?;
        let calls = team.take();
        let of_task = runs(started, &calls);
        ensure!(
            of_task.len() == RUNS_OF_A_TASK,
            "a task had {} agent runs: {}",
            of_task.len(),
            names(&calls)
        );
        let started = Instant::now();
        for call in &calls {
            send(&client, &team, call).await?;
        }
        let sent = runs(started, &team.take());
        if number > 0 {
            ours.extend(of_task);
            bare.extend(sent);
        }
    }
    installation.stop().await?;
    rows(&ours, &bare)
}

/// One whole research task.
async fn researched(installation: &Installation, number: usize) -> anyhow::Result<()> {
    let objective = format!("When are the lamps of harbour {number} counted?");
    let task = installation.submit(&load::task(Kind::Research, &objective)?).await?;
    let until = Instant::now() + PATIENCE;
    loop {
        let row = installation.store.task(&task).await?;
        if row.status.is_final() {
            let report = row.report.unwrap_or_default();
            ensure!(row.status == Status::Completed, "{task} ended {}:\n{report}", row.phase);
            return Ok(());
        }
        ensure!(Instant::now() < until, "{task} is {} after {PATIENCE:?}", row.phase);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The recorded request, answer and all.
async fn send(client: &reqwest::Client, team: &Team, call: &Call) -> anyhow::Result<()> {
    let url = format!("{}/chat/completions", team.url());
    let request = client.post(url).header(header::CONTENT_TYPE, "application/json").body(call.body.clone());
    let answer = request.send().await?.error_for_status()?.bytes().await?;
    ensure!(!answer.is_empty(), "the team gave no answer");
    Ok(())
}

/// Cuts calls into agent runs; the first began with `started`. A Researcher's queries belong to its report.
fn runs(started: Instant, calls: &[Call]) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut began, mut served) = (started, Duration::ZERO);
    for call in calls {
        served += call.took();
        if call.contract == "ResearchQueries" {
            continue;
        }
        let whole = call.answered.saturating_duration_since(began);
        runs.push(Run {
            is_research: call.contract == "ResearchReport",
            beside_ms: whole.saturating_sub(served).as_secs_f64() * 1_000.0,
        });
        (began, served) = (call.answered, Duration::ZERO);
    }
    runs
}

fn names(calls: &[Call]) -> String {
    calls.iter().map(|call| call.contract.as_str()).collect::<Vec<_>>().join(", ")
}

fn rows(ours: &[Run], bare: &[Run]) -> anyhow::Result<Vec<Row>> {
    let of = |runs: &[Run], is_research: Option<bool>| {
        let chosen = runs.iter().filter(|run| is_research.is_none_or(|wanted| run.is_research == wanted));
        Samples::new(chosen.map(|run| run.beside_ms)).context("no agent run was measured")
    };
    let (all, sent) = (of(ours, None)?, of(bare, None)?);
    let (research, sent_research) = (of(ours, Some(true))?, of(bare, Some(true))?);
    let (others, sent_others) = (of(ours, Some(false))?, of(bare, Some(false))?);
    Ok(vec![
        Row::new("engine beside an agent run, p50, SQLite", "ms", all.median())
            .beside(sent.median())
            .limited(Limit::Below(MEDIAN_MS))
            .noting(format!("{} runs; bare: the same requests alone", all.count())),
        Row::new("engine beside an agent run, p95, SQLite", "ms", all.p95())
            .beside(sent.p95())
            .limited(Limit::Below(P95_MS))
            .noting(format!("longest {:.0} ms", all.largest())),
        Row::new("  of the Researcher, p50", "ms", research.median())
            .beside(sent_research.median())
            .noting("two calls, a search with six hits, grounding"),
        Row::new("  of the others, p50", "ms", others.median())
            .beside(sent_others.median())
            .noting("one call"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_what_its_calls_leave_of_the_time() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let call = |contract: &str, arrived, answered| Call {
            contract: contract.to_owned(),
            body: Default::default(),
            arrived: at(arrived),
            answered: at(answered),
        };
        let calls = [
            call("ManagerDecision", 10, 15),
            call("ResearchQueries", 25, 26),
            call("ResearchReport", 40, 50),
            call("ManagerDecision", 53, 54),
        ];
        let cut: Vec<(bool, f64)> =
            runs(start, &calls).iter().map(|run| (run.is_research, run.beside_ms)).collect();
        assert_eq!(cut, [(false, 10.0), (true, 24.0), (false, 3.0)]);
    }
}

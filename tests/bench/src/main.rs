//! Measures Nightforge beside bare baselines in the same run and prints one table.
//!
//! Each benchmark is a module with a `run` that returns rows. `cargo run --release -p nightforge-bench` runs all in
//! their full form, and ends with 1 when a limit is broken; `--quick` only proves that they run.

mod agent_runs;
mod args;
mod bell_latency;
mod corpus;
mod databases;
mod demo_build;
mod fake_model;
mod idle;
mod installation;
mod load;
mod process;
mod samples;
mod slot_gap;
mod statement_log;
mod submitting;
mod table;
mod transitions;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use args::{Arguments, Bench, Form, Format};
use statement_log::StatementLog;
use table::Row;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("nightforge-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    // HTTP clients want a provider for TLS also where they speak plain HTTP; it is there already if this fails.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if arguments.idle_baseline {
        runtime.block_on(idle::be_the_baseline())?;
        return Ok(ExitCode::SUCCESS);
    }
    let log = StatementLog::install()?;
    let form = arguments.form();
    let chosen = arguments.chosen();
    if chosen.iter().any(|bench| bench.needs_the_executable()) {
        process::build_the_executable(form)?;
    }
    let mut rows = Vec::new();
    for bench in chosen {
        eprintln!("measuring {bench} …");
        let measured = runtime.block_on(measure(bench, form, &log));
        rows.extend(measured.with_context(|| format!("{bench} can't be measured"))?);
    }
    let text = match arguments.output {
        Format::Table => table::text(&rows, form),
        Format::Json => format!("{:#}\n", table::json(&rows, form)),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    let broken = form == Form::Full && rows.iter().any(Row::breaks_its_limit);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn measure(bench: Bench, form: Form, log: &StatementLog) -> anyhow::Result<Vec<Row>> {
    match bench {
        Bench::Transitions => transitions::run(form, log).await,
        Bench::SlotGap => slot_gap::run(form).await,
        Bench::AgentRuns => agent_runs::run(form).await,
        Bench::Idle => idle::run(form).await,
        Bench::Bells => bell_latency::run(form).await,
        Bench::Submit => submitting::run(form).await,
        Bench::Corpus => corpus::run(form).await,
        Bench::Demo => demo_build::run().await,
    }
}

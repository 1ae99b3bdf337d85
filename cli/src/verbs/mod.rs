//! A file for each verb; this one chooses it.

mod api;
mod cancel;
mod completions;
mod config;
mod confirm;
mod dead;
mod demo;
mod doctor;
mod eval;
mod events;
mod list;
mod migrate;
mod pause;
mod queue;
mod retry;
mod role;
mod scheduler;
mod show;
mod submit;
mod up;
mod watch;
mod worker;
mod workers;

use crate::args::{Arguments, Verb};
use crate::exit::{Exit, Failure};
use crate::logging;

/// Runs the verb that the command line names.
pub(crate) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    // Model servers and other machines may be asked over TLS; one provider for all of it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    if let Verb::Completions(args) = &arguments.verb {
        return completions::run(args);
    }
    // What a role tells is its log; the other verbs have results, and log only what is wrong.
    let is_role = matches!(arguments.verb, Verb::Up(_) | Verb::Api(_) | Verb::Scheduler(_) | Verb::Worker(_));
    logging::start(if is_role { "info" } else { "warn" })?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::new(Exit::Failed, format!("the async runtime can't start: {error}")))?;
    let outcome = runtime.block_on(async {
        match arguments.verb {
            Verb::Demo(args) => demo::run(args).await,
            Verb::Up(args) => up::run(args).await,
            Verb::Api(args) => api::run(args).await,
            Verb::Scheduler(args) => scheduler::run(args).await,
            Verb::Worker(args) => worker::run(args).await,
            Verb::Submit(args) => submit::run(*args).await,
            Verb::List(args) => list::run(args).await,
            Verb::Show(args) => show::run(args).await,
            Verb::Watch(args) => watch::run(args).await,
            Verb::Events(args) => events::run(args).await,
            Verb::Cancel(args) => cancel::run(args).await,
            Verb::Retry(args) => retry::run(args).await,
            Verb::Pause(args) => pause::run(args).await,
            Verb::Resume(args) => pause::resume(args).await,
            Verb::Queue(args) => queue::run(args).await,
            Verb::Workers(args) => workers::run(args).await,
            Verb::Dead(args) => dead::run(args).await,
            Verb::Eval(args) => eval::run(args).await,
            Verb::Doctor(args) => doctor::run(args).await,
            Verb::Config(args) => config::run(args),
            Verb::Migrate(args) => migrate::run(args).await,
            Verb::Completions(args) => completions::run(&args),
            // `main` has taken it: it runs without a runtime.
            Verb::ExtractPage => Ok(Exit::Done),
        }
    });
    // A blocked read of standard input must not keep the process.
    runtime.shutdown_background();
    outcome
}

//! The command line of what only research has, and the limits of every kind.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OutputArgs, SettingsArgs};

/// Limits of one task; those of another kind are refused.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// build: features that the first agent must name at least, from 1 to 500
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=500))]
    pub(crate) min_features: Option<u64>,
    /// build: attempts on one feature before it is left
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) max_attempts: Option<u64>,
    /// build: coding sessions in all
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) max_sessions: Option<u64>,
    /// research: decisions of the Manager
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) max_iterations: Option<u64>,
    /// research: agent runs, of which two are kept for review and answer
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) max_agent_calls: Option<u64>,
    /// research: model calls, failed ones included
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) max_model_calls: Option<u64>,
    /// research: working time of the task in seconds; waiting is not counted
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) task_timeout: Option<u64>,
    /// research: failed agent runs in a row
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) max_failures_in_row: Option<u64>,
    /// research: rejected decisions of the Manager in a row
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) max_rejections_in_row: Option<u64>,
    /// Tokens in and out over all model calls; 0 is no limit
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Further tries after a counted fault, and re-asks of one model call
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=u64::from(u32::MAX)))]
    pub(crate) max_retries: Option<u64>,
    /// One whole model call in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) agent_timeout: Option<u64>,
}

impl LimitArgs {
    /// Each flag with the limit that it sets, and its value where it is given.
    pub(crate) fn given(&self) -> [(&'static str, &'static str, Option<u64>); 12] {
        let ms = |seconds: Option<u64>| seconds.map(|seconds| seconds * 1_000);
        [
            ("--min-features", "min_features", self.min_features),
            ("--max-attempts", "max_attempts", self.max_attempts),
            ("--max-sessions", "max_sessions", self.max_sessions),
            ("--max-iterations", "max_iterations", self.max_iterations),
            ("--max-agent-calls", "max_agent_calls", self.max_agent_calls),
            ("--max-model-calls", "max_model_calls", self.max_model_calls),
            ("--task-timeout", "task_timeout_ms", ms(self.task_timeout)),
            ("--max-failures-in-row", "max_failures_in_row", self.max_failures_in_row),
            ("--max-rejections-in-row", "max_rejections_in_row", self.max_rejections_in_row),
            ("--max-tokens", "max_tokens", self.max_tokens),
            ("--max-retries", "max_retries", self.max_retries),
            ("--agent-timeout", "agent_timeout_ms", ms(self.agent_timeout)),
        ]
    }
}

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Eval {
    #[command(subcommand)]
    pub(crate) verb: EvalVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalVerb {
    /// Let the team answer questions over the demo's documents, and score the answers by code
    Research(EvalResearch),
}

#[derive(Debug, Args)]
pub(crate) struct EvalResearch {
    /// Configuration file [default: ./nightforge.toml, then nightforge/nightforge.toml in the XDG config folder]
    #[arg(long, value_name = "FILE", env = "NIGHTFORGE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Data folder; an unfinished evaluation in it is taken up again [default: a fresh one]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The model of every agent, as named in the configuration
    #[arg(long, value_name = "NAME", conflicts_with = "demo_model")]
    pub(crate) model: Option<String>,
    /// Ask the scripted model of the demo, which needs no server
    #[arg(long)]
    pub(crate) demo_model: bool,
    /// Questions in a file of the form of the demo's own [default: the 40 of the demo]
    #[arg(long, value_name = "FILE")]
    pub(crate) questions: Option<PathBuf>,
    /// Only so many questions, taken from each category in turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl EvalResearch {
    /// Where its settings come from. The data folder is its own: an installation's tasks must not mix with it.
    pub(crate) fn settings(&self, data: PathBuf) -> SettingsArgs {
        SettingsArgs { config: self.config.clone(), data: Some(data) }
    }
}

fn count() -> clap::builder::RangedU64ValueParser<u64> {
    clap::builder::RangedU64ValueParser::new().range(1..=u64::from(u32::MAX))
}

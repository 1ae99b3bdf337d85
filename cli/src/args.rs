//! The command line.

mod operating;
mod research;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{OsStr, Resettable};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use nightforge_domain::research::{Language, UnknownLanguage};
use nightforge_domain::{Kind, Priority, Status};

use crate::output::Format;

pub(crate) use operating::{
    Dead, DeadDrop, DeadLetterId, DeadList, DeadRetry, DeadVerb, OneTask, Queue, QueueChange, QueueVerb,
    Retry, Workers,
};
pub(crate) use research::{Eval, EvalResearch, EvalVerb, LimitArgs};

/// Where the server is looked for, unless told otherwise.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:7700";

/// Runs long agent work on your own GPUs, overnight, and does not lose it.
#[derive(Debug, Parser)]
#[command(name = "nightforge", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Arguments {
    /// Reads the command line of this process.
    ///
    /// # Errors
    /// With what is to be printed, help included.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::try_parse().map_err(|refusal| {
            // The usage line of a refusal shows every option that is set, also by a variable, as if it were required.
            let without_variables = without_variables(Self::command());
            match without_variables.try_get_matches() {
                Err(told) if refusal.use_stderr() && told.kind() == refusal.kind() => told,
                _ => refusal,
            }
        })
    }
}

fn without_variables(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| arg.env(Resettable::<OsStr>::Reset)).mut_subcommands(without_variables)
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show the whole system at work, with a scripted model: no GPU, no services, no keys
    Demo(Demo),
    /// Run everything in one process: HTTP interface, scheduler, a worker for each model server
    Up(Up),
    /// Run the HTTP interface alone; schedulers and workers run elsewhere
    Api(Api),
    /// Run a scheduler alone: it advances tasks; any number may run
    Scheduler(Scheduler),
    /// Run a worker alone, pinned to one model server
    Worker(Worker),
    /// Queue an objective
    Submit(Box<Submit>),
    /// List tasks, newest first
    List(List),
    /// Show one task
    Show(Show),
    /// Follow a task until it is over; Ctrl-C detaches, the task goes on
    Watch(Watch),
    /// Print a task's log
    Events(Events),
    /// End a task early; what it has made so far is kept
    Cancel(Cancel),
    /// Let a task go on that failed or needs a review; its dead and cancelled jobs run again from their journals
    Retry(Retry),
    /// Hold a task back; its running step is finished first
    Pause(OneTask),
    /// Let a paused task go on
    Resume(OneTask),
    /// Look at the queues of models and kinds of tasks, and hold them back
    Queue(Queue),
    /// Show live processes, what they see of their model servers, and the jobs that they run
    Workers(Workers),
    /// Look at dead letters, the jobs that no further try could help: retry them, or dismiss them
    Dead(Dead),
    /// Measure how good a model is at a kind of task
    Eval(Eval),
    /// Check what the roles need: data folder, database, Redis, model servers, search, sandbox, git, disk, clock
    Doctor(Doctor),
    /// Look at the settings
    Config(Config),
    /// Bring the database's schema up to date; every role does it at its start, too
    Migrate(Migrate),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Get the text out of one document that stands on standard input; roles start this by themselves
    #[command(hide = true)]
    ExtractPage,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Only the objective of this kind [default: one of each kind, one after the other]
    #[arg(long, value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// The language of the research question
    #[arg(long, value_name = "CODE", value_parser = ["en", "ja"], default_value = "en")]
    pub(crate) language: String,
    /// Data folder; an unfinished demo in it is taken up again [default: a fresh one]
    #[arg(long, value_name = "DIR", env = "NIGHTFORGE_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Milliseconds that the scripted model takes for each answer
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=600_000))]
    pub(crate) pace: u64,
    /// Keep running after the end, until Ctrl-C
    #[arg(long)]
    pub(crate) keep: bool,
    /// Address of the HTTP interface; port 0 is any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Where the settings of a role come from.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// Configuration file [default: ./nightforge.toml, then nightforge/nightforge.toml in the XDG config folder]
    #[arg(long, value_name = "FILE", env = "NIGHTFORGE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Data folder [default: nightforge in the XDG data folder, or NIGHTFORGE_DATA]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Address of the HTTP interface [default: 127.0.0.1:7700, or NIGHTFORGE_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct Api {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Address of the HTTP interface [default: 127.0.0.1:7700, or NIGHTFORGE_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct Scheduler {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Worker {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// The model whose jobs it takes [default: the only one that is configured]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The model's server, base URL ending in /v1 [default: the only one that is configured for the model]
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// The GPU of that server; without --endpoint it chooses the configured endpoint with this GPU
    #[arg(long, value_name = "GPU")]
    pub(crate) gpu: Option<String>,
    /// Model calls at a time [default: as configured, else 1]
    #[arg(long, value_name = "N")]
    pub(crate) slots: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Print every setting, where it comes from, and passwords masked
    Show(ConfigShow),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShow {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Let the database belong to this data folder from now on; the repositories of its tasks must be in it
    #[arg(long)]
    pub(crate) adopt: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// What to do with the objective
    #[arg(value_parser = kinds())]
    pub(crate) kind: Kind,
    /// What is asked for, at most 64 KiB; `-` reads it from standard input
    #[arg(required_unless_present = "file")]
    pub(crate) objective: Option<String>,
    /// Read the objective from a file
    #[arg(long, value_name = "FILE", conflicts_with = "objective")]
    pub(crate) file: Option<PathBuf>,
    /// From 0 to 9; 9 runs first [default: 5]
    #[arg(long, value_parser = priority)]
    pub(crate) priority: Option<Priority>,
    /// The model of every agent, as named in the server's configuration
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// When work stops: 07:00 (the next one, local time), +8h, or RFC 3339
    #[arg(long, value_name = "WHEN")]
    pub(crate) deadline: Option<String>,
    /// research: the language of the answer, as a code such as ja [default: that of the objective]
    #[arg(long, value_name = "CODE", value_parser = language)]
    pub(crate) language: Option<String>,
    /// research: an earlier task with the same question; the result says what changed since
    #[arg(long, value_name = "ID", value_parser = task_id)]
    pub(crate) previous: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Sending the same key and the same objective again gives the same task
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Follow the task until it is over
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only tasks in this state
    #[arg(long, value_parser = states())]
    pub(crate) state: Option<Status>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
    /// Only tasks older than this one
    #[arg(long, value_name = "ID", value_parser = task_id)]
    pub(crate) before: Option<String>,
    #[command(flatten)]
    pub(crate) from: FromArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The task; its id may be shortened
    #[arg(value_parser = task_id)]
    pub(crate) id: String,
    /// Print the report instead: as text (md), as a page (html), as data (json; research only)
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "md", conflicts_with = "output",
        value_parser = ["md", "html", "json"])]
    pub(crate) report: Option<String>,
    #[command(flatten)]
    pub(crate) from: FromArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The task; its id may be shortened
    #[arg(value_parser = task_id)]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The task; its id may be shortened
    #[arg(value_parser = task_id)]
    pub(crate) id: String,
    /// Only events after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) after: i64,
    #[command(flatten)]
    pub(crate) from: FromArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The task; its id may be shortened
    #[arg(value_parser = task_id)]
    pub(crate) id: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// Shells that completions exist for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The server's URL
    #[arg(long, value_name = "URL", env = "NIGHTFORGE_SERVER", default_value = DEFAULT_SERVER)]
    pub(crate) server: String,
}

/// Where a reading verb reads: from a server, or from a data folder.
#[derive(Debug, Args)]
pub(crate) struct FromArgs {
    /// The server's URL [default: http://127.0.0.1:7700]
    #[arg(long, value_name = "URL", env = "NIGHTFORGE_SERVER")]
    pub(crate) server: Option<String>,
    /// Read this data folder itself; with --server, only when that does not answer
    #[arg(long, value_name = "DIR", env = "NIGHTFORGE_DATA")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OutputArgs {
    /// How results are written to standard output
    #[arg(long, short, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

fn kinds() -> impl clap::builder::TypedValueParser<Value = Kind> {
    use clap::builder::TypedValueParser;
    clap::builder::PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).try_map(|text| text.parse::<Kind>())
}

fn states() -> impl clap::builder::TypedValueParser<Value = Status> {
    use clap::builder::TypedValueParser;
    clap::builder::PossibleValuesParser::new(Status::ALL.map(Status::as_str))
        .try_map(|text| text.parse::<Status>())
}

/// The beginning of a task's id at least. Anything else would be another path at the server.
fn task_id(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("an id is missing here; `nightforge list` shows those that there are".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(
            "an id has letters and digits only; `nightforge list` shows those that there are".to_owned()
        );
    }
    Ok(text.to_owned())
}

/// A language that is known here, as its code.
fn language(text: &str) -> Result<String, String> {
    let language: Language = text.parse().map_err(|error: UnknownLanguage| error.to_string())?;
    Ok(language.code.to_owned())
}

fn priority(text: &str) -> Result<Priority, String> {
    let number: u8 = text.parse().map_err(|_| "not a whole number from 0 to 9".to_owned())?;
    Priority::try_from(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}

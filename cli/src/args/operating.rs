//! The command line of the verbs that hold work back, let it go on, and look at who does it.

use clap::{ArgGroup, Args, Subcommand};
use nightforge_domain::{Kind, ModelName};

use super::{OutputArgs, ServerArgs, kinds, task_id};

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The task; its id may be shortened
    #[arg(value_parser = task_id)]
    pub(crate) id: String,
    /// Only this job and later ones; it must have died or been cancelled
    #[arg(long, value_name = "JOB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) from: Option<u32>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OneTask {
    /// The task; its id may be shortened
    #[arg(value_parser = task_id)]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Workers {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Queue {
    #[command(subcommand)]
    pub(crate) verb: QueueVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QueueVerb {
    /// List every model with what waits for it, what runs and who serves it, and every kind of task
    List(QueueList),
    /// Claim nothing new of a model or a kind of task; running steps are finished first
    Pause(QueueChange),
    /// Let a paused model or kind go on
    Resume(QueueChange),
}

#[derive(Debug, Args)]
pub(crate) struct QueueList {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("queue").args(["model", "kind"]).required(true))]
pub(crate) struct QueueChange {
    /// The model, as named in the configuration
    pub(crate) model: Option<ModelName>,
    /// Every task of this kind instead, whatever its model
    #[arg(long, value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Dead {
    #[command(subcommand)]
    pub(crate) verb: DeadVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadVerb {
    /// List dead letters, latest first
    List(DeadList),
    /// Let a dead letter's task go on with it and later jobs
    Retry(DeadRetry),
    /// Dismiss a dead letter: it stays in its task's history, and `dead retry --all` leaves it alone
    Drop(DeadDrop),
}

#[derive(Debug, Args)]
pub(crate) struct DeadList {
    /// Only of this task; its id may be shortened
    #[arg(long, value_name = "ID", value_parser = task_id)]
    pub(crate) task: Option<String>,
    /// Only of this model
    #[arg(long)]
    pub(crate) model: Option<ModelName>,
    /// Also those that were dismissed
    #[arg(long)]
    pub(crate) dropped: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("letters").args(["job", "all"]).required(true))]
pub(crate) struct DeadRetry {
    /// The dead letter, as `dead list` names it: TASK.JOB; the task's id may be shortened
    #[arg(value_name = "JOB", value_parser = dead_letter)]
    pub(crate) job: Option<DeadLetterId>,
    /// Every dead letter that was not dismissed
    #[arg(long)]
    pub(crate) all: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeadDrop {
    /// The dead letter, as `dead list` names it: TASK.JOB; the task's id may be shortened
    #[arg(value_name = "JOB", value_parser = dead_letter)]
    pub(crate) job: DeadLetterId,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A dead letter as it is written: its task, whose id may be shortened, and its number there.
#[derive(Debug, Clone)]
pub(crate) struct DeadLetterId {
    pub(crate) task: String,
    pub(crate) job: u32,
}

fn dead_letter(text: &str) -> Result<DeadLetterId, String> {
    let parts = text.rsplit_once('.').and_then(|(task, job)| Some((task, job.parse().ok()?)));
    let Some((task, job)) = parts else {
        return Err("write TASK.JOB as `nightforge dead list` shows it".to_owned());
    };
    Ok(DeadLetterId { task: task_id(task)?, job })
}

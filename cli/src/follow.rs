//! Follows a task by its events until it is over, or until somebody wants to leave.

use std::time::Duration;

use nightforge_api::TaskView;
use nightforge_domain::research::ResearchResult;
use nightforge_domain::{Kind, TaskId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::client::{Client, ClientError, EVENT_PAGE};
use crate::exit::Failure;
use crate::output::{Output, Progress, note};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(400);

/// A server that does not answer is waited for so long: it may be starting again.
const PATIENCE: Duration = Duration::from_secs(60);

/// The HTTP status of a server whose database is away.
const UNAVAILABLE: u16 = 503;

/// How following ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The task is over.
    Over(TaskView),
    /// Somebody left; the task goes on.
    Left(TaskView),
}

impl Ending {
    /// The task as it stood then.
    pub(crate) fn task(&self) -> &TaskView {
        let (Ending::Over(task) | Ending::Left(task)) = self;
        task
    }
}

/// Follows `task`, showing what happens, until it is final or `leave` is cancelled.
///
/// # Errors
/// When the server says no, or it or its database has not answered for a minute.
pub(crate) async fn follow(
    client: &Client,
    task: &TaskId,
    output: Output,
    leave: &CancellationToken,
) -> Result<Ending, Failure> {
    let progress = Progress::start(output);
    let mut seen = Seen::default();
    let mut silent_since: Option<Instant> = None;
    loop {
        match look(client, task, &mut seen, &progress).await {
            Ok(view) => {
                if silent_since.take().is_some() {
                    note("the server answers again");
                }
                if view.state.is_final() {
                    return Ok(Ending::Over(view));
                }
                if leave.is_cancelled() {
                    return Ok(Ending::Left(view));
                }
            }
            Err(LookError::Client(error)) => {
                let Some(silence) = silence(&error) else { return Err(error.into()) };
                if silent_since.is_none() {
                    note(silence);
                }
                let since = *silent_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= PATIENCE || leave.is_cancelled() {
                    return Err(error.into());
                }
            }
            Err(LookError::Output(failure)) => return Err(failure),
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = leave.cancelled() => {}
        }
    }
}

/// What is told once of an error that may pass: the task goes on, or will.
fn silence(error: &ClientError) -> Option<&'static str> {
    match error {
        ClientError::Unreachable(_) => Some("the server does not answer; waiting for it"),
        ClientError::Refused(problem) if problem.status == UNAVAILABLE => {
            Some("the server can't answer, its database is away; waiting for it")
        }
        ClientError::Refused(_) => None,
    }
}

enum LookError {
    Client(ClientError),
    Output(Failure),
}

/// Up to where a task was told.
#[derive(Debug, Default)]
struct Seen {
    event: i64,
    message: u32,
}

/// The task first, then its events and messages: those of a final task are complete.
async fn look(
    client: &Client,
    task: &TaskId,
    seen: &mut Seen,
    progress: &Progress,
) -> Result<TaskView, LookError> {
    let view = client.task(task.as_str()).await.map_err(LookError::Client)?;
    progress.kind(view.kind);
    loop {
        let events = client.events(task, seen.event).await.map_err(LookError::Client)?;
        let messages = match view.kind {
            Kind::Build => Vec::new(),
            Kind::Research => client.messages(task, seen.message).await.map_err(LookError::Client)?,
        };
        progress.happened(&events, &messages).map_err(LookError::Output)?;
        seen.event = events.last().map_or(seen.event, |event| event.seq);
        seen.message = messages.last().map_or(seen.message, |view| view.message.number);
        if events.len() < EVENT_PAGE as usize && messages.len() < EVENT_PAGE as usize {
            break;
        }
    }
    progress.task(&view);
    Ok(view)
}

/// What a task that is over came to; nothing for a build, whose repository says it.
///
/// # Errors
/// When the server says no.
pub(crate) async fn result_of(client: &Client, task: &TaskView) -> Result<Option<ResearchResult>, Failure> {
    match task.kind {
        Kind::Build => Ok(None),
        Kind::Research => Ok(client.result(&task.id).await?),
    }
}

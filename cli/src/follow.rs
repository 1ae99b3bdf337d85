//! Follows a task by its events until it is over, or until somebody wants to leave.

use std::time::Duration;

use nightforge_api::TaskView;
use nightforge_domain::TaskId;
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
    let mut after = 0;
    let mut silent_since: Option<Instant> = None;
    loop {
        match look(client, task, &mut after, &progress).await {
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

/// The task first, then its events: those of a final task are complete.
async fn look(
    client: &Client,
    task: &TaskId,
    after: &mut i64,
    progress: &Progress,
) -> Result<TaskView, LookError> {
    let view = client.task(task.as_str()).await.map_err(LookError::Client)?;
    loop {
        let events = client.events(task, *after).await.map_err(LookError::Client)?;
        progress.events(&events).map_err(LookError::Output)?;
        *after = events.last().map_or(*after, |event| event.seq);
        if events.len() < EVENT_PAGE as usize {
            break;
        }
    }
    progress.task(&view);
    Ok(view)
}

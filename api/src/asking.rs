//! What people ask of a task: its end, a pause, that it goes on.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use nightforge_domain::{JobNo, TaskId};
use nightforge_queue::Bell;
use nightforge_store::AskError;

use crate::problem::Problem;
use crate::tasks::{IdInPath, resolve};
use crate::{Api, TaskView, json_body};

/// Who asks, while there are no tokens.
pub(crate) const BY: &str = "local";

type Accepted = Result<(StatusCode, Json<TaskView>), Problem>;

pub(crate) async fn cancel(State(api): State<Arc<Api>>, id: IdInPath) -> Accepted {
    let id = resolve(&api, id).await?;
    api.store.ask_cancel(&id, BY).await.map_err(|error| refused(&id, error, "cancel"))?;
    accepted(&api, &id).await
}

pub(crate) async fn retry(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Accepted {
    let id = resolve(&api, id).await?;
    let mut fields = json_body::optional_object(&headers, body, &["from"])?;
    let from = json_body::field::<u32>(&mut fields, "from", "the number of one of the task's jobs")?;
    retry_from(&api, &id, from.map(JobNo)).await
}

/// Asks for a retry, of everything or of one job and later ones.
pub(crate) async fn retry_from(api: &Api, id: &TaskId, from: Option<JobNo>) -> Accepted {
    api.store.ask_retry(id, from, BY).await.map_err(|error| refused(id, error, "retry"))?;
    accepted(api, id).await
}

pub(crate) async fn pause(State(api): State<Arc<Api>>, id: IdInPath) -> Result<Json<TaskView>, Problem> {
    let id = resolve(&api, id).await?;
    api.store.set_paused(&id, true, BY).await.map_err(|error| refused(&id, error, "pause"))?;
    Ok(Json(TaskView::load(&api.store, &api.data, &id).await?))
}

pub(crate) async fn resume(State(api): State<Arc<Api>>, id: IdInPath) -> Result<Json<TaskView>, Problem> {
    let id = resolve(&api, id).await?;
    if api.store.set_paused(&id, false, BY).await.map_err(|error| refused(&id, error, "resume"))? {
        api.bells.ring(Bell::Task(id.clone()));
        ring_ready(&api).await?;
    }
    Ok(Json(TaskView::load(&api.store, &api.data, &id).await?))
}

/// Rings every model that has jobs to claim, for something was just let go on.
pub(crate) async fn ring_ready(api: &Api) -> Result<(), Problem> {
    for model in api.store.models_with_ready_jobs().await? {
        api.bells.ring(Bell::Model(model));
    }
    Ok(())
}

async fn accepted(api: &Api, id: &TaskId) -> Accepted {
    api.bells.ring(Bell::Task(id.clone()));
    Ok((StatusCode::ACCEPTED, Json(TaskView::load(&api.store, &api.data, id).await?)))
}

fn refused(id: &TaskId, error: AskError, verb: &str) -> Problem {
    match error {
        AskError::Over(status) => Problem::already_over(id.clone(), &status, verb),
        AskError::Retry(refusal) => Problem::not_retried(id.clone(), &refusal),
        AskError::Store(error) => error.into(),
    }
}

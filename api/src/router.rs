//! Every route, in one list.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::{get, post};

use crate::guard::{Authorities, stand_before};
use crate::problem::Problem;
use crate::{Api, asking, dead_letters, json_body, models, queues, research, submit, tasks, workers};

/// A database that has not answered after this long is not ready.
const READY_WITHIN: Duration = Duration::from_secs(2);

pub(crate) fn router(api: Arc<Api>, authorities: Authorities) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/api/models", get(models::list))
        .route("/api/tasks", get(tasks::list).post(submit::submit))
        .route("/api/tasks/{id}", get(tasks::one))
        .route("/api/tasks/{id}/events", get(tasks::events))
        .route("/api/tasks/{id}/jobs", get(tasks::jobs))
        .route("/api/tasks/{id}/steps", get(tasks::steps))
        .route("/api/tasks/{id}/features", get(tasks::features))
        .route("/api/tasks/{id}/report", get(tasks::report))
        .route("/api/tasks/{id}/messages", get(research::messages))
        .route("/api/tasks/{id}/findings", get(research::findings))
        .route("/api/tasks/{id}/sources", get(research::sources))
        .route("/api/tasks/{id}/decisions", get(research::decisions))
        .route("/api/tasks/{id}/subtasks", get(research::subtasks))
        .route("/api/tasks/{id}/runs", get(research::runs))
        .route("/api/tasks/{id}/result", get(research::result))
        .route("/api/tasks/{id}/cancel", post(asking::cancel))
        .route("/api/tasks/{id}/retry", post(asking::retry))
        .route("/api/tasks/{id}/pause", post(asking::pause))
        .route("/api/tasks/{id}/resume", post(asking::resume))
        .route("/api/queues", get(queues::list))
        .route("/api/queues/{model}/pause", post(queues::pause_model))
        .route("/api/queues/{model}/resume", post(queues::resume_model))
        .route("/api/queues/kinds/{kind}/pause", post(queues::pause_kind))
        .route("/api/queues/kinds/{kind}/resume", post(queues::resume_kind))
        .route("/api/workers", get(workers::list))
        .route("/api/dead", get(dead_letters::list))
        .route("/api/dead/retry", post(dead_letters::retry_all))
        .route("/api/dead/{task}/{job}/retry", post(dead_letters::retry))
        .route("/api/dead/{task}/{job}/drop", post(dead_letters::dismiss))
        .fallback(async |request: Request| Problem::no_such_route(request.uri().path()))
        .method_not_allowed_fallback(async |request: Request| {
            Problem::wrong_method(request.method().as_str(), request.uri().path())
        })
        .layer(DefaultBodyLimit::max(json_body::MAX_BYTES))
        .layer(middleware::from_fn_with_state(authorities, stand_before))
        .with_state(api)
}

async fn ready(State(api): State<Arc<Api>>) -> impl IntoResponse {
    match tokio::time::timeout(READY_WITHIN, api.store.ping()).await {
        Ok(Ok(())) => Ok("ready\n"),
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready");
            Err(Problem::not_ready())
        }
        Err(_) => {
            tracing::warn!(within = ?READY_WITHIN, "not ready: the database does not answer");
            Err(Problem::not_ready())
        }
    }
}

//! Errors as `application/problem+json` (RFC 9457): a stable `type`, the thing, the remedy.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nightforge_domain::TaskId;
use nightforge_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::NotOne;

/// What every `type` begins with. A name, not an address: nothing is fetched from there.
const TYPE_PREFIX: &str = "urn:nightforge:problem:";

/// When a client should ask again where the server can't answer for a while, in seconds.
const RETRY_AFTER_S: &str = "5";

/// An answer that says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    body: ProblemBody,
}

/// The body of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemBody {
    /// `urn:nightforge:problem:` and a name that never changes its meaning.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same for every error of this type.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// This very error: what is wrong and what to do.
    pub detail: String,
    /// The task that is in the way, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

impl ProblemBody {
    /// The `type` without its prefix: `unknown-task`.
    pub fn name(&self) -> &str {
        self.kind.strip_prefix(TYPE_PREFIX).unwrap_or(&self.kind)
    }
}

impl Problem {
    pub(crate) fn new(status: StatusCode, name: &str, title: &str, detail: impl Into<String>) -> Self {
        let body = ProblemBody {
            kind: format!("{TYPE_PREFIX}{name}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            task: None,
        };
        Self { status, body }
    }

    pub(crate) fn about(mut self, task: TaskId) -> Self {
        self.body.task = Some(task);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body)).into_response();
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoTask(_) => Problem::unknown_task(error.to_string()),
            StoreError::IdempotencyConflict(task) => Problem::idempotency_conflict(task),
            StoreError::Previous { .. } => Problem::bad_previous(format!("the field `previous`: {error}")),
            error if error.is_away() => {
                tracing::warn!(%error, "a request failed: the database is away");
                Problem::database_unavailable()
            }
            error => {
                tracing::error!(%error, "a request failed on the database");
                Problem::database()
            }
        }
    }
}

impl From<NotOne> for Problem {
    fn from(error: NotOne) -> Self {
        let detail = error.to_string();
        match error {
            NotOne::Unknown(_) => Problem::unknown_task(detail),
            NotOne::Several { .. } => Problem::ambiguous_task(detail),
            NotOne::Store(error) => error.into(),
        }
    }
}

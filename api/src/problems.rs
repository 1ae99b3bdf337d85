//! Every error that the interface answers with, in one list. The names are a promise to clients.

use axum::http::StatusCode;
use nightforge_domain::research::UnknownLanguage;
use nightforge_domain::state::RetryRefusal;
use nightforge_domain::{JobId, JobState, Kind, ModelName, Objective, TaskId};

use crate::problem::Problem;

/// At most this much of a value that a client sent is shown back.
const SHOWN_CHARS: usize = 60;

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

fn kinds() -> String {
    Kind::ALL.map(Kind::as_str).join(", ")
}

impl Problem {
    // The request as such.

    pub(crate) fn host_not_allowed(host: &str, allowed: &str) -> Self {
        let detail = format!("the Host header `{}` is not this server's; use one of {allowed}", shown(host));
        Self::new(StatusCode::FORBIDDEN, "host-not-allowed", "The host name is not this server's", detail)
    }

    pub(crate) fn cross_site(origin: &str) -> Self {
        let detail = format!(
            "a page of `{}` may not change anything here; send the request from the command line or from this \
             server's own pages",
            shown(origin)
        );
        Self::new(StatusCode::FORBIDDEN, "cross-site", "The request comes from another site", detail)
    }

    pub(crate) fn no_such_route(path: &str) -> Self {
        let detail = format!(
            "there is nothing at `{}`; tasks are at /api/tasks, queues at /api/queues, models at /api/models",
            shown(path)
        );
        Self::new(StatusCode::NOT_FOUND, "no-such-route", "There is nothing at this path", detail)
    }

    pub(crate) fn wrong_method(method: &str, path: &str) -> Self {
        let detail = format!(
            "`{}` does not take {}; the Allow header names the methods that it takes",
            shown(path),
            shown(method)
        );
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "wrong-method",
            "The path does not take this method",
            detail,
        )
    }

    pub(crate) fn media_type(found: &str) -> Self {
        let found = if found.is_empty() { "none" } else { found };
        let detail = format!("the Content-Type is `{}`; send application/json", shown(found));
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media-type",
            "The body is not JSON by its media type",
            detail,
        )
    }

    pub(crate) fn body_too_large(max_bytes: usize) -> Self {
        let detail = format!("the body is over {max_bytes} bytes; send less");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "The body is too large", detail)
    }

    pub(crate) fn body_unreadable() -> Self {
        Self::bad_json("the body ended before its announced length; send it again")
    }

    pub(crate) fn bad_json(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-json",
            "The body is not the JSON that is expected here",
            detail,
        )
    }

    pub(crate) fn unknown_field(field: &str, known: &[&str]) -> Self {
        let detail = format!("there is no field `{}`; known: {}", shown(field), known.join(", "));
        Self::new(StatusCode::BAD_REQUEST, "unknown-field", "The body holds an unknown field", detail)
    }

    pub(crate) fn bad_query(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-query", "The query does not fit this path", detail)
    }

    // What is asked for.

    pub(crate) fn objective_empty(detail: String) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "objective-empty", "The objective is empty", detail)
    }

    pub(crate) fn objective_too_long(detail: String) -> Self {
        let title = format!("The objective is over {} bytes", Objective::MAX_BYTES);
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "objective-too-long", &title, detail)
    }

    pub(crate) fn objective_not_text(detail: String) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "objective-not-text",
            "The objective is not plain text",
            detail,
        )
    }

    pub(crate) fn unknown_kind(kind: &str) -> Self {
        let detail = format!("there is no kind `{}`; this version knows: {}", shown(kind), kinds());
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown-kind", "There is no such kind of task", detail)
    }

    pub(crate) fn bad_priority(detail: String) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-priority", "There is no such priority", detail)
    }

    pub(crate) fn unknown_model(name: &str, known: &[ModelName]) -> Self {
        let known: Vec<&str> = known.iter().map(ModelName::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let detail = format!(
            "no model named `{}` is configured, and no live worker serves one; known: {known}",
            shown(name)
        );
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown-model", "There is no such model", detail)
    }

    pub(crate) fn model_not_named(known: &[ModelName]) -> Self {
        let detail = match known {
            [] => "no model is configured here, and no live worker serves one; start a worker, or give this server a \
                   nightforge.toml with [models.NAME]"
                .to_owned(),
            known => format!(
                "several models are served ({}) and none is configured here; name one in the field `model`",
                known.iter().map(ModelName::as_str).collect::<Vec<_>>().join(", ")
            ),
        };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "model-not-named", "Which model is not clear", detail)
    }

    pub(crate) fn context_too_small(model: &ModelName, tokens: u64, kind: Kind) -> Self {
        let detail = format!(
            "every known endpoint of model `{model}` has a context of {tokens} tokens or less, and a task of kind \
             {kind} needs {} at least; load the model with a longer context, or name another model",
            kind.min_context_tokens()
        );
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "context-too-small",
            "The model's context is too small for this kind of task",
            detail,
        )
    }

    pub(crate) fn bad_deadline(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-deadline", "The deadline can't be kept", detail)
    }

    pub(crate) fn bad_limit(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-limit", "A limit makes no sense", detail)
    }

    pub(crate) fn not_of_kind(field: &str, kind: Kind, known: &[&str]) -> Self {
        let instead = match known {
            [] => "leave it out".to_owned(),
            known => format!("limits of that kind: {}", known.join(", ")),
        };
        let detail =
            format!("the field `{}` means nothing for a task of kind {kind}; {instead}", shown(field));
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "not-of-kind",
            "A field does not fit the kind of task",
            detail,
        )
    }

    pub(crate) fn unknown_language(unknown: &UnknownLanguage) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unknown-language",
            "There is no such language",
            format!("the field `language`: {unknown}"),
        )
    }

    pub(crate) fn bad_previous(detail: String) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad-previous",
            "The earlier task can't be compared with",
            detail,
        )
    }

    pub(crate) fn no_search() -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "no-search",
            "No search back-end is configured",
            "research needs something to search, and no back-end is configured here; add one to nightforge.toml, such \
             as [[research.search]] with kind = \"corpus\" and folder = \"/home/me/documents\" (or kind = \"searxng\" \
             with url, or kind = \"tavily\"), and start the server and its workers again",
        )
    }

    pub(crate) fn bad_idempotency_key(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-idempotency-key", "The idempotency key can't be used", detail)
    }

    // What is there, or not.

    pub(crate) fn idempotency_conflict(task: TaskId) -> Self {
        let detail = format!(
            "the idempotency key came with another request before, which made task {task}; send a new key, or \
             the same request"
        );
        Self::new(StatusCode::CONFLICT, "idempotency-conflict", "The idempotency key is taken", detail)
            .about(task)
    }

    pub(crate) fn unknown_task(detail: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown-task", "There is no such task", detail)
    }

    pub(crate) fn ambiguous_task(detail: String) -> Self {
        Self::new(StatusCode::CONFLICT, "ambiguous-task", "The shortened id fits several tasks", detail)
    }

    pub(crate) fn unknown_job(task: &TaskId, job: u32) -> Self {
        let detail = format!("task {task} has no job {job}; /api/tasks/{task}/jobs lists those that it has");
        Self::new(StatusCode::NOT_FOUND, "unknown-job", "There is no such job", detail)
    }

    pub(crate) fn no_report_yet(task: &TaskId) -> Self {
        let detail = format!("task {task} is not over, so it has no report yet; ask again when it is");
        Self::new(StatusCode::NOT_FOUND, "no-report-yet", "There is no report yet", detail)
    }

    pub(crate) fn no_result_yet(task: &TaskId) -> Self {
        let detail = format!(
            "task {task} is not over, so it has no result yet; ask again when it is. What there is so far: \
             /api/tasks/{task}/findings"
        );
        Self::new(StatusCode::NOT_FOUND, "no-result-yet", "There is no result yet", detail)
    }

    pub(crate) fn no_result_kept(task: &TaskId) -> Self {
        let detail =
            format!("task {task} is over and left no result; `nightforge show {task}` tells why it ended");
        Self::new(StatusCode::NOT_FOUND, "no-result", "There is no result", detail)
    }

    pub(crate) fn no_result_of_kind(task: TaskId, kind: Kind) -> Self {
        let detail = format!(
            "task {task} is of kind {kind}, which has a report and no result; read /api/tasks/{task}/report"
        );
        Self::new(StatusCode::CONFLICT, "no-result-of-kind", "This kind of task has no result", detail)
            .about(task)
    }

    pub(crate) fn not_a_job(task: &TaskId, job: &str) -> Self {
        let detail = format!(
            "`{}` is not the number of a job; /api/tasks/{task}/jobs lists those that there are",
            shown(job)
        );
        Self::new(StatusCode::NOT_FOUND, "unknown-job", "There is no such job", detail)
    }

    pub(crate) fn unknown_queue<'k>(what: &str, name: &str, known: impl Iterator<Item = &'k str>) -> Self {
        let known: Vec<&str> = known.collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let detail = format!("there is no {what} `{}`; known: {known}", shown(name));
        Self::new(StatusCode::NOT_FOUND, "unknown-queue", "There is no such queue", detail)
    }

    pub(crate) fn not_dead(job: &JobId, state: JobState) -> Self {
        let detail = format!(
            "job {job} is {state}, not a dead letter; `nightforge dead list`, or GET /api/dead, shows those that there are"
        );
        Self::new(StatusCode::CONFLICT, "not-dead", "The job is not a dead letter", detail)
            .about(job.task.clone())
    }

    pub(crate) fn not_retried(task: TaskId, refusal: &RetryRefusal) -> Self {
        let detail = format!("task {task} can't be retried: {refusal}");
        Self::new(StatusCode::CONFLICT, "not-retried", "The task can't be retried as things stand", detail)
            .about(task)
    }

    pub(crate) fn already_over(task: TaskId, status: &str, verb: &str) -> Self {
        let detail = format!("task {task} is {status} already; there is nothing to {verb}");
        Self::new(StatusCode::CONFLICT, "already-over", "The task is over", detail).about(task)
    }

    // The server's own state.

    pub(crate) fn database() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "database",
            "The database failed",
            "the database did not do what was asked; the server's log says why",
        )
    }

    pub(crate) fn database_unavailable() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "database-unavailable",
            "The database can't be reached",
            "the server can't reach its database; nothing is lost, and work goes on when the database answers again. \
             Start it, and ask again; whether a change that was under way has been made is not known, so look first",
        )
    }

    pub(crate) fn not_ready() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "not-ready",
            "The server is not ready",
            "the database does not answer; ask again in a moment, and see the server's log if it stays so",
        )
    }
}

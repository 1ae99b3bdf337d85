//! Reading tasks and what belongs to them.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::IntoResponse;
use nightforge_domain::build::Feature;
use nightforge_domain::{JobId, JobNo, Status, Step, TaskId};
use nightforge_store::JobRow;
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::query::{Parameters, RawQuery};
use crate::views::moment;
use crate::{Api, EventPage, PageRequest, TaskPage, TaskView, read_page, resolve_id};

pub(crate) type IdInPath = Result<Path<String>, PathRejection>;

pub(crate) async fn resolve(api: &Api, id: IdInPath) -> Result<TaskId, Problem> {
    // A path that is no UTF-8 names no task.
    let id = id.map_or_else(|_| String::new(), |Path(id)| id);
    Ok(resolve_id(&api.store, &id).await?)
}

pub(crate) async fn list(State(api): State<Arc<Api>>, query: RawQuery) -> Result<Json<TaskPage>, Problem> {
    let query = Parameters::read(query, &["state", "before", "limit", "id"])?;
    let known = Status::ALL.map(Status::as_str).join(", ");
    let wanted = PageRequest {
        state: query.get("state", &format!("a state; known: {known}"))?,
        before: query.get("before", "a whole task id")?,
        id_prefix: query.get("id", "the beginning of an id")?,
        limit: query.limit(50, 200)?,
    };
    Ok(Json(read_page(&api.store, &api.data, &wanted).await?))
}

pub(crate) async fn one(State(api): State<Arc<Api>>, id: IdInPath) -> Result<Json<TaskView>, Problem> {
    let id = resolve(&api, id).await?;
    Ok(Json(TaskView::load(&api.store, &api.data, &id).await?))
}

pub(crate) async fn events(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
) -> Result<Json<EventPage>, Problem> {
    let query = Parameters::read(query, &["after", "limit"])?;
    let after = query.get::<i64>("after", "the number of an event")?.unwrap_or(0);
    let limit = query.limit(500, 5_000)?;
    let id = resolve(&api, id).await?;
    let rows = api.store.events(&id, after, limit).await?;
    Ok(Json(EventPage { events: rows.into_iter().map(Into::into).collect() }))
}

pub(crate) async fn jobs(State(api): State<Arc<Api>>, id: IdInPath) -> Result<Json<Value>, Problem> {
    let id = resolve(&api, id).await?;
    let jobs: Vec<Value> = api.store.jobs(&id).await?.iter().map(job).collect();
    Ok(Json(json!({ "jobs": jobs })))
}

pub(crate) async fn steps(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
) -> Result<Json<Value>, Problem> {
    let query = Parameters::read(query, &["job"])?;
    let Some(number) = query.get::<u32>("job", "the number of a job")? else {
        return Err(Problem::bad_query(
            "the parameter `job` is missing; it is the number of one of the task's jobs",
        ));
    };
    let id = resolve(&api, id).await?;
    let no = JobNo(number);
    if !api.store.jobs(&id).await?.iter().any(|job| job.no == no) {
        return Err(Problem::unknown_job(&id, number));
    }
    let steps: Vec<Value> = api.store.journal(&JobId { task: id, no }).await?.iter().map(step).collect();
    Ok(Json(json!({ "steps": steps })))
}

pub(crate) async fn features(State(api): State<Arc<Api>>, id: IdInPath) -> Result<Json<Value>, Problem> {
    let id = resolve(&api, id).await?;
    let row = api.store.task(&id).await?;
    let features: &[Feature] = row.state.build().map_or(&[], |build| &build.features);
    Ok(Json(json!({ "features": features })))
}

pub(crate) async fn report(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
) -> Result<impl IntoResponse, Problem> {
    Parameters::read(query, &[])?;
    let id = resolve(&api, id).await?;
    let text = api.store.task(&id).await?.report.ok_or_else(|| Problem::no_report_yet(&id))?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text))
}

/// A job from outside. The worker's boot id tells two runs of a worker apart.
fn job(job: &JobRow) -> Value {
    json!({
        "job": job.no,
        "kind": job.spec.kind(),
        "agent": job.spec.agent(),
        "spec": job.spec,
        "model": job.model,
        "state": job.state,
        "fence": job.fence,
        "worker": job.boot,
        "lease_until": job.lease_until.map(moment),
        "run_after": moment(job.run_after),
        "steps": job.steps,
        "faults": job.faults,
        "deaths": job.deaths,
        "infra_failures": job.infra_failures,
        "last_error": job.last_error,
        "created_at": moment(job.created_at),
        "claimed_at": job.claimed_at.map(moment),
        "finished_at": job.finished_at.map(moment),
    })
}

fn step(step: &Step) -> Value {
    json!({
        "step": step.ordinal,
        "name": step.name,
        "output": step.output,
        "duration_ms": step.duration_ms,
        "at": moment(step.at),
    })
}

//! Dead letters: listed and grouped by their reason, retried, dismissed.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use nightforge_domain::{JobId, JobNo, Kind, Status, TaskId};
use nightforge_queue::Bell;
use nightforge_store::{AskError, DeadFilter, DeadLetter, DropError};
use serde::{Deserialize, Serialize};

use crate::asking::{BY, retry_from};
use crate::problem::Problem;
use crate::query::{Parameters, RawQuery};
use crate::views::moment;
use crate::{Api, TaskView, json_body, resolve_id};

/// Letters that one request retries at most; the next one goes on.
const RETRY_BATCH: u32 = 1_000;

/// Dead letters, latest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadPage {
    /// The letters.
    pub letters: Vec<DeadLetterView>,
    /// The same letters by what they died of, the most frequent reason first.
    pub reasons: Vec<DeadReason>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

/// A job that died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetterView {
    /// `TASK.JOB`.
    pub id: String,
    /// Its task.
    pub task: TaskId,
    /// Its number there.
    pub job: JobNo,
    /// `initialize`, `code` or `verify`.
    pub kind: String,
    /// Who executed it, where this version can tell.
    pub agent: Option<String>,
    /// The model that it asked for.
    pub model: String,
    /// Why no further claim could help.
    pub reason: String,
    /// When it died.
    pub died_at: Timestamp,
    /// What its task does.
    pub task_kind: Kind,
    /// Where its task stands.
    pub task_state: Status,
    /// Who dismissed it.
    pub dropped_by: Option<String>,
}

/// Letters that died of the same thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadReason {
    /// With `…` in place of numbers and ids.
    pub reason: String,
    /// How many.
    pub count: usize,
    /// Which.
    pub ids: Vec<String>,
}

/// What a retry of all dead letters did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkRetry {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Letters that are retried.
    pub retried: Vec<String>,
    /// Letters that can't be.
    pub refused: Vec<RefusedRetry>,
}

/// A letter that can't be retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedRetry {
    /// Which.
    pub id: String,
    /// Why.
    pub reason: String,
}

type LetterInPath = Result<Path<(String, String)>, PathRejection>;

pub(crate) async fn list(State(api): State<Arc<Api>>, query: RawQuery) -> Result<Json<DeadPage>, Problem> {
    let query = Parameters::read(query, &["task", "model", "dropped", "limit"])?;
    let limit = query.limit(200, 1_000)?;
    let task = match query.get::<String>("task", "an id")? {
        Some(id) => Some(resolve_id(&api.store, &id).await?),
        None => None,
    };
    let filter = DeadFilter {
        task,
        model: query.get("model", "a model's name")?,
        dropped: query.get("dropped", "true or false")?.unwrap_or(false),
        limit: limit + 1,
    };
    let mut letters = api.store.dead_letters(&filter).await?;
    let more = letters.len() > limit as usize;
    letters.truncate(limit as usize);
    let letters: Vec<DeadLetterView> = letters.into_iter().map(view).collect();
    Ok(Json(DeadPage { reasons: by_reason(&letters), letters, more }))
}

pub(crate) async fn retry(
    State(api): State<Arc<Api>>,
    letter: LetterInPath,
) -> Result<(StatusCode, Json<TaskView>), Problem> {
    let job = resolve_letter(&api, letter).await?;
    let letters = of_task(&api, &job.task).await?;
    if !letters.iter().any(|letter| letter.job == job) {
        return Err(not_dead(&api, &job).await?);
    }
    retry_from(&api, &job.task, Some(job.no)).await
}

pub(crate) async fn dismiss(
    State(api): State<Arc<Api>>,
    letter: LetterInPath,
) -> Result<Json<DeadLetterView>, Problem> {
    let job = resolve_letter(&api, letter).await?;
    api.store.drop_dead_letter(&job, BY).await.map_err(|error| match error {
        DropError::Store(error) => error.into(),
        DropError::NoJob(job) => Problem::unknown_job(&job.task, job.no.0),
        DropError::NotDead(job, state) => Problem::not_dead(&job, state),
    })?;
    let mut letters = of_task(&api, &job.task).await?.into_iter();
    match letters.find(|letter| letter.job == job) {
        Some(letter) => Ok(Json(view(letter))),
        // Somebody retried its task in between.
        None => Err(not_dead(&api, &job).await?),
    }
}

pub(crate) async fn retry_all(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<BulkRetry>, Problem> {
    let mut fields = json_body::optional_object(&headers, body, &["dry_run"])?;
    let dry_run = json_body::field(&mut fields, "dry_run", "true or false")?.unwrap_or(false);
    let filter = DeadFilter { limit: RETRY_BATCH, ..DeadFilter::default() };
    // Of several letters of a task, a retry from the first takes up the later ones too.
    let mut tasks: BTreeMap<TaskId, Vec<JobNo>> = BTreeMap::new();
    for letter in api.store.dead_letters(&filter).await? {
        tasks.entry(letter.job.task).or_default().push(letter.job.no);
    }
    let mut done = BulkRetry { dry_run, retried: Vec::new(), refused: Vec::new() };
    for (task, mut jobs) in tasks {
        jobs.sort_unstable();
        let Some(first) = jobs.first().copied() else { continue };
        let asked = if dry_run {
            api.store.task(&task).await?.state.may_retry(Some(first)).map_err(AskError::from)
        } else {
            api.store.ask_retry(&task, Some(first), BY).await
        };
        let ids = jobs.iter().map(|no| JobId { task: task.clone(), no: *no }.to_string());
        match asked {
            Ok(()) => {
                done.retried.extend(ids);
                if !dry_run {
                    api.bells.ring(Bell::Task(task.clone()));
                }
            }
            Err(AskError::Store(error)) => return Err(error.into()),
            Err(refusal) => {
                let reason = refusal.to_string();
                done.refused.extend(ids.map(|id| RefusedRetry { id, reason: reason.clone() }));
            }
        }
    }
    Ok(Json(done))
}

async fn resolve_letter(api: &Api, letter: LetterInPath) -> Result<JobId, Problem> {
    let (task, job) = letter.map_or_else(|_| (String::new(), String::new()), |Path(letter)| letter);
    let task = resolve_id(&api.store, &task).await?;
    match job.parse() {
        Ok(no) => Ok(JobId { task, no: JobNo(no) }),
        Err(_) => Err(Problem::not_a_job(&task, &job)),
    }
}

async fn of_task(api: &Api, task: &TaskId) -> Result<Vec<DeadLetter>, Problem> {
    let filter =
        DeadFilter { task: Some(task.clone()), dropped: true, limit: u32::MAX, ..DeadFilter::default() };
    Ok(api.store.dead_letters(&filter).await?)
}

async fn not_dead(api: &Api, job: &JobId) -> Result<Problem, Problem> {
    let jobs = api.store.jobs(&job.task).await?;
    Ok(match jobs.iter().find(|row| row.no == job.no) {
        Some(row) => Problem::not_dead(job, row.state),
        None => Problem::unknown_job(&job.task, job.no.0),
    })
}

fn view(letter: DeadLetter) -> DeadLetterView {
    DeadLetterView {
        id: letter.job.to_string(),
        task: letter.job.task,
        job: letter.job.no,
        kind: letter.kind,
        agent: letter.agent,
        model: letter.model,
        reason: letter.reason,
        died_at: moment(letter.died_at),
        task_kind: letter.task_kind,
        task_state: letter.task_status,
        dropped_by: letter.dropped_by,
    }
}

fn by_reason(letters: &[DeadLetterView]) -> Vec<DeadReason> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for letter in letters {
        groups.entry(family(&letter.reason)).or_default().push(letter.id.clone());
    }
    let group = |(reason, ids): (String, Vec<String>)| DeadReason { reason, count: ids.len(), ids };
    let mut reasons: Vec<DeadReason> = groups.into_iter().map(group).collect();
    reasons.sort_by(|left, right| right.count.cmp(&left.count).then_with(|| left.reason.cmp(&right.reason)));
    reasons
}

/// A reason without what differs between two deaths of the same cause: words with a digit in them become `…`.
fn family(reason: &str) -> String {
    let mut family = String::new();
    let mut word = String::new();
    for c in reason.chars().chain(std::iter::once('\n')) {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        let varies = word.chars().any(|c| c.is_ascii_digit());
        family.push_str(if varies { "…" } else { &word });
        family.push(c);
        word.clear();
    }
    family.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_the_same_but_for_numbers_and_ids() {
        let first = "its request hurt http://127.0.0.1:1234/v1 5 times: HTTP 500 (req-01k00a)";
        let second = "its request hurt http://127.0.0.1:4321/v1 5 times: HTTP 500 (req-01k00b)";
        assert_eq!(family(first), family(second));
        assert_eq!(family("HTTP 500, é3"), "HTTP …, …");
        assert_ne!(family("context too small"), family("context overflow"));
        assert_eq!(family(""), "");
    }
}

//! `POST /api/tasks`: from a body to an accepted task.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use nightforge_domain::research::{Language, language_of};
use nightforge_domain::{
    AgentModels, Kind, Limits, Millis, ModelName, NewTask, Objective, ObjectiveError, Priority, TaskId,
};
use nightforge_queue::Bell;
use serde::Serialize;
use serde_json::Value;

use crate::problem::Problem;
use crate::waiting::Floor;
use crate::{Api, NotOne, TaskView, check_limits, json_body, resolve_id};

/// Whose tasks they are while there are no tokens.
const OWNER: &str = "local";

/// The header that makes a repeated request harmless.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The longest idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 200;

/// The body of a submission, as a client writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubmitBody {
    /// What to do with the objective.
    pub kind: Kind,
    /// What is asked for, at most 64 KiB.
    pub objective: String,
    /// 9 runs first; 5 where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The model of every agent, instead of the configured ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// When work stops, in RFC 3339; milliseconds since 1970 are taken as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Limits that differ from the configured ones.
    #[serde(skip_serializing_if = "LimitChanges::is_empty")]
    pub limits: LimitChanges,
    /// `research`: the language of the answer, as a code such as `ja`; that of the objective where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// `research`: an earlier task with the same question, whose id may be shortened; the result says what changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

impl SubmitBody {
    const FIELDS: [&str; 8] =
        ["kind", "objective", "priority", "model", "deadline", "limits", "language", "previous"];

    /// A request that leaves everything else to the server.
    pub fn new(kind: Kind, objective: impl Into<String>) -> Self {
        Self {
            kind,
            objective: objective.into(),
            priority: None,
            model: None,
            deadline: None,
            limits: LimitChanges::default(),
            language: None,
            previous: None,
        }
    }
}

/// Limits by their names in [`Limits`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LimitChanges(BTreeMap<&'static str, u64>);

impl LimitChanges {
    /// The limits that a task may set, by their names in [`Limits`].
    pub const NAMES: [&str; 15] = [
        "min_features",
        "max_attempts",
        "rotate_after",
        "max_sessions",
        "max_turns",
        "session_ms",
        "max_iterations",
        "max_agent_calls",
        "max_model_calls",
        "task_timeout_ms",
        "max_failures_in_row",
        "max_rejections_in_row",
        "max_tokens",
        "max_retries",
        "agent_timeout_ms",
    ];

    /// The only kind that a limit means something for; `None` for a limit of every kind.
    pub fn kind_of(limit: &str) -> Option<Kind> {
        match limit {
            "min_features" | "max_attempts" | "rotate_after" | "max_sessions" | "max_turns"
            | "session_ms" => Some(Kind::Build),
            "max_iterations"
            | "max_agent_calls"
            | "max_model_calls"
            | "task_timeout_ms"
            | "max_failures_in_row"
            | "max_rejections_in_row" => Some(Kind::Research),
            _ => None,
        }
    }

    /// The limits that a task of this kind may set.
    pub fn names_for(kind: Kind) -> Vec<&'static str> {
        Self::NAMES.into_iter().filter(|name| Self::kind_of(name).is_none_or(|only| only == kind)).collect()
    }

    /// The same changes with `limit` set, where there is a `value`.
    ///
    /// # Panics
    /// When `limit` is none of [`LimitChanges::NAMES`]: names are constants of the caller.
    #[must_use]
    pub fn with(mut self, limit: &'static str, value: Option<u64>) -> Self {
        assert!(Self::NAMES.contains(&limit), "there is no limit `{limit}`");
        if let Some(value) = value {
            self.0.insert(limit, value);
        }
        self
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

pub(crate) async fn submit(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<TaskView>), Problem> {
    let mut fields = json_body::object(&headers, body, &SubmitBody::FIELDS)?;
    let floor = Floor::look(&api.store).await?;
    let kind = kind(&mut fields)?;
    let objective = objective(&mut fields)?;
    let new = NewTask {
        kind,
        language: language(&mut fields, kind, &objective)?,
        previous: previous(&mut fields, kind, &api).await?,
        objective,
        owner: OWNER.to_owned(),
        priority: priority(&mut fields)?,
        models: models(&mut fields, &api, &floor)?.for_kind(kind),
        limits: limits(&mut fields, kind, &api.defaults)?,
        approve: false,
        deadline: deadline(&mut fields)?,
        idempotency_key: idempotency_key(&headers)?,
    };
    refuse_what_cannot_be_kept(&api, &floor, &new).await?;
    let submitted = api.store.submit(&new).await?;
    // Also for a repeated request: the first answer may have been lost together with its bell.
    api.bells.ring(Bell::Task(submitted.task.clone()));
    let view = TaskView::load(&api.store, &api.data, &submitted.task).await?;
    let status = if submitted.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(view)))
}

type Fields = BTreeMap<String, Value>;

fn required<T: serde::de::DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    expected: &str,
) -> Result<T, Problem> {
    json_body::field(fields, name, expected)?
        .ok_or_else(|| Problem::bad_json(format!("the field `{name}` is missing; it is {expected}")))
}

fn kind(fields: &mut Fields) -> Result<Kind, Problem> {
    let text: String = required(fields, "kind", "a text such as \"build\"")?;
    text.parse().map_err(|_| Problem::unknown_kind(&text))
}

fn objective(fields: &mut Fields) -> Result<Objective, Problem> {
    let text: String = required(fields, "objective", "a text that says what is asked for")?;
    Objective::try_from(text).map_err(|error| {
        let detail = error.to_string();
        match error {
            ObjectiveError::Empty => Problem::objective_empty(detail),
            ObjectiveError::TooLong(_) => Problem::objective_too_long(detail),
            ObjectiveError::Nul => Problem::objective_not_text(detail),
        }
    })
}

fn priority(fields: &mut Fields) -> Result<Priority, Problem> {
    let Some(number) = json_body::field::<i64>(fields, "priority", "a whole number from 0 to 9")? else {
        return Ok(Priority::default());
    };
    u8::try_from(number).ok().and_then(|number| Priority::try_from(number).ok()).ok_or_else(|| {
        Problem::bad_priority(format!("priority {number} is not between 0 and 9; 9 runs first"))
    })
}

fn models(fields: &mut Fields, api: &Api, floor: &Floor) -> Result<AgentModels, Problem> {
    let known = api.models.names(floor);
    let Some(text) = json_body::field::<String>(fields, "model", "the name of a model")? else {
        return match (&api.models.agents, known.as_slice()) {
            (Some(agents), _) => Ok(agents.clone()),
            (None, [only]) => Ok(AgentModels::same(only)),
            (None, known) => Err(Problem::model_not_named(known)),
        };
    };
    let Some(name) = known.iter().find(|name| name.as_str() == text).cloned() else {
        return Err(Problem::unknown_model(&text, &known));
    };
    Ok(AgentModels::same(&name))
}

/// The configured limits with the changes laid over them.
fn limits(fields: &mut Fields, kind: Kind, defaults: &Limits) -> Result<Limits, Problem> {
    let expected = "an object of limits such as {\"max_tokens\": 100000}";
    let Some(changes) = json_body::field::<serde_json::Map<String, Value>>(fields, "limits", expected)?
    else {
        return Ok(defaults.clone());
    };
    json_body::refuse_unknown(changes.keys(), "limits.", &LimitChanges::NAMES)?;
    for name in changes.keys() {
        if LimitChanges::kind_of(name).is_some_and(|only| only != kind) {
            let known = LimitChanges::names_for(kind);
            return Err(Problem::not_of_kind(&format!("limits.{name}"), kind, &known));
        }
    }
    let mut merged = serde_json::json!(defaults);
    for (name, value) in changes {
        merged[&name] = value;
    }
    let limits: Limits = serde_json::from_value(merged).map_err(|error| {
        Problem::bad_limit(format!("a limit is not a whole number in its range: {error}"))
    })?;
    check_limits(&limits).map_err(Problem::bad_limit)?;
    Ok(limits)
}

/// Only research writes an answer in a language; where none is named, the objective shows it.
fn language(fields: &mut Fields, kind: Kind, objective: &Objective) -> Result<Option<String>, Problem> {
    let Some(text) = json_body::field::<String>(fields, "language", "a code such as \"ja\"")? else {
        let shown = (kind == Kind::Research).then(|| language_of(objective.as_str())).flatten();
        return Ok(shown.map(|language| language.code.to_owned()));
    };
    if kind != Kind::Research {
        return Err(Problem::not_of_kind("language", kind, &[]));
    }
    let language: Language = text.parse().map_err(|unknown| Problem::unknown_language(&unknown))?;
    Ok(Some(language.code.to_owned()))
}

/// The earlier task that is named; whether it can be compared with is decided in the transaction that accepts.
async fn previous(fields: &mut Fields, kind: Kind, api: &Api) -> Result<Option<TaskId>, Problem> {
    let Some(id) = json_body::field::<String>(fields, "previous", "the id of a task")? else {
        return Ok(None);
    };
    if kind != Kind::Research {
        return Err(Problem::not_of_kind("previous", kind, &[]));
    }
    match resolve_id(&api.store, &id).await {
        Ok(task) => Ok(Some(task)),
        Err(error @ (NotOne::Unknown(_) | NotOne::Several { .. })) => {
            Err(Problem::bad_previous(format!("the field `previous`: {error}")))
        }
        Err(NotOne::Store(error)) => Err(error.into()),
    }
}

fn deadline(fields: &mut Fields) -> Result<Option<Millis>, Problem> {
    let wrong = |shown: &str| {
        Problem::bad_deadline(format!(
            "`{}` is not a moment; send RFC 3339 such as 2026-12-01T07:00:00Z, or milliseconds since 1970",
            shown.chars().take(60).collect::<String>()
        ))
    };
    match json_body::field::<Value>(fields, "deadline", "a moment")? {
        None => Ok(None),
        Some(Value::String(text)) => {
            let moment: Timestamp = text.parse().map_err(|_| wrong(&text))?;
            Ok(Some(Millis(moment.as_millisecond())))
        }
        Some(other) => match other.as_i64() {
            Some(ms) if Timestamp::from_millisecond(ms).is_ok() => Ok(Some(Millis(ms))),
            _ => Err(wrong(&other.to_string())),
        },
    }
}

/// A deadline that has passed would end the task before it began, a model with too small a context could not do
/// it, and neither could researchers without anything to search. A repeated request is not judged again: it gets the task that the first one made.
async fn refuse_what_cannot_be_kept(api: &Api, floor: &Floor, new: &NewTask) -> Result<(), Problem> {
    let Err(refusal) = can_be_kept(api, floor, new) else { return Ok(()) };
    let made = match &new.idempotency_key {
        Some(key) => api.store.task_by_key(&new.owner, key).await?,
        None => None,
    };
    if made.is_some() { Ok(()) } else { Err(refusal) }
}

fn can_be_kept(api: &Api, floor: &Floor, new: &NewTask) -> Result<(), Problem> {
    if new.kind == Kind::Research && api.search.is_empty() {
        return Err(Problem::no_search());
    }
    if new.deadline.is_some_and(|deadline| deadline <= floor.now) {
        return Err(Problem::bad_deadline("the deadline is in the past; name a later one, or none"));
    }
    for model in new.models.models() {
        match floor.largest_context(model) {
            Some(tokens) if tokens < new.kind.min_context_tokens() => {
                return Err(Problem::context_too_small(model, tokens, new.kind));
            }
            _ => {}
        }
    }
    Ok(())
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = value.to_str().map_err(|_| {
        Problem::bad_idempotency_key(
            "the Idempotency-Key holds characters outside of ASCII; use letters, digits and dashes",
        )
    })?;
    match key.len() {
        0 => Err(Problem::bad_idempotency_key(
            "the Idempotency-Key is empty; send a fresh one for each new task",
        )),
        1..=MAX_KEY_BYTES => Ok(Some(key.to_owned())),
        length => Err(Problem::bad_idempotency_key(format!(
            "the Idempotency-Key has {length} bytes, at most {MAX_KEY_BYTES} are taken"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_can_be_set_by_its_name() {
        let limits = serde_json::to_value(Limits::default()).unwrap();
        let names: Vec<&str> = limits.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, LimitChanges::NAMES);
    }

    #[test]
    fn every_field_of_the_body_is_known() {
        let body = SubmitBody {
            kind: Kind::Research,
            objective: "a".into(),
            priority: Some(Priority::default()),
            model: Some("m".parse().unwrap()),
            deadline: Some(Timestamp::UNIX_EPOCH),
            limits: LimitChanges::default().with("max_tokens", Some(1)),
            language: Some("ja".into()),
            previous: Some("a".into()),
        };
        let value = serde_json::to_value(&body).unwrap();
        let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, SubmitBody::FIELDS);
        assert_eq!(value["limits"]["max_tokens"], 1);
    }
}

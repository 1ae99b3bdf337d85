//! `POST /api/tasks`: from a body to an accepted task.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use nightforge_domain::{
    AgentModels, Kind, Limits, Millis, ModelName, NewTask, Objective, ObjectiveError, Priority,
};
use nightforge_queue::Bell;
use serde::Serialize;
use serde_json::Value;

use crate::problem::Problem;
use crate::waiting::Floor;
use crate::{Api, TaskView, check_limits, json_body};

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
}

impl SubmitBody {
    const FIELDS: [&str; 6] = ["kind", "objective", "priority", "model", "deadline", "limits"];
}

/// Limits by their names in [`Limits`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LimitChanges(BTreeMap<&'static str, u64>);

impl LimitChanges {
    /// The limits that a task may set, by their names in [`Limits`].
    pub const NAMES: [&str; 9] = [
        "min_features",
        "max_attempts",
        "rotate_after",
        "max_sessions",
        "max_turns",
        "session_ms",
        "max_tokens",
        "max_retries",
        "agent_timeout_ms",
    ];

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
    let new = NewTask {
        kind: kind(&mut fields)?,
        objective: objective(&mut fields)?,
        owner: OWNER.to_owned(),
        priority: priority(&mut fields)?,
        models: models(&mut fields, &api, &floor)?,
        limits: limits(&mut fields, &api.defaults)?,
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
            (None, [only]) => Ok(AgentModels { initializer: only.clone(), coder: only.clone() }),
            (None, known) => Err(Problem::model_not_named(known)),
        };
    };
    let Some(name) = known.iter().find(|name| name.as_str() == text).cloned() else {
        return Err(Problem::unknown_model(&text, &known));
    };
    Ok(AgentModels { initializer: name.clone(), coder: name })
}

/// The configured limits with the changes laid over them.
fn limits(fields: &mut Fields, defaults: &Limits) -> Result<Limits, Problem> {
    let expected = "an object of limits such as {\"min_features\": 10}";
    let Some(changes) = json_body::field::<serde_json::Map<String, Value>>(fields, "limits", expected)?
    else {
        return Ok(defaults.clone());
    };
    json_body::refuse_unknown(changes.keys(), "limits.", &LimitChanges::NAMES)?;
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

/// A deadline that has passed would end the task before it began, and a model with too small a context could not do
/// it. A repeated request is not judged again: it gets the task that the first one made.
async fn refuse_what_cannot_be_kept(api: &Api, floor: &Floor, new: &NewTask) -> Result<(), Problem> {
    let Err(refusal) = can_be_kept(floor, new) else { return Ok(()) };
    let made = match &new.idempotency_key {
        Some(key) => api.store.task_by_key(&new.owner, key).await?,
        None => None,
    };
    if made.is_some() { Ok(()) } else { Err(refusal) }
}

fn can_be_kept(floor: &Floor, new: &NewTask) -> Result<(), Problem> {
    if new.deadline.is_some_and(|deadline| deadline <= floor.now) {
        return Err(Problem::bad_deadline("the deadline is in the past; name a later one, or none"));
    }
    for model in [&new.models.initializer, &new.models.coder] {
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
            kind: Kind::Build,
            objective: "a".into(),
            priority: Some(Priority::default()),
            model: Some("m".parse().unwrap()),
            deadline: Some(Timestamp::UNIX_EPOCH),
            limits: LimitChanges::default().with("max_tokens", Some(1)),
        };
        let value = serde_json::to_value(&body).unwrap();
        let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, SubmitBody::FIELDS);
        assert_eq!(value["limits"]["max_tokens"], 1);
    }
}

//! A JSON body whose every mistake has a name.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::problem::Problem;

/// The largest body: 1 MiB.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// A JSON object that holds only fields of `known`.
pub(crate) fn object(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    known: &[&str],
) -> Result<BTreeMap<String, Value>, Problem> {
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Problem::media_type(media_type));
    }
    let body = body.map_err(|rejection| match rejection.into_response().status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::body_too_large(MAX_BYTES),
        _ => Problem::body_unreadable(),
    })?;
    let value: Value = serde_json::from_slice(&body)
        .map_err(|error| Problem::bad_json(format!("{error}; send a JSON object")))?;
    let Value::Object(fields) = value else {
        return Err(Problem::bad_json(format!(
            "the body is JSON, but not an object; send one with {}",
            known.join(", ")
        )));
    };
    refuse_unknown(fields.keys(), "", known)?;
    Ok(fields.into_iter().collect())
}

/// Likewise, but no body at all stands for an empty object.
pub(crate) fn optional_object(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    known: &[&str],
) -> Result<BTreeMap<String, Value>, Problem> {
    match body {
        Ok(body) if body.is_empty() => Ok(BTreeMap::new()),
        body => object(headers, body, known),
    }
}

/// Names the first key that is not known.
pub(crate) fn refuse_unknown<'k>(
    keys: impl IntoIterator<Item = &'k String>,
    parent: &str,
    known: &[&str],
) -> Result<(), Problem> {
    match keys.into_iter().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(Problem::unknown_field(&format!("{parent}{key}"), known)),
        None => Ok(()),
    }
}

/// One field, or `None` where it is missing or null.
pub(crate) fn field<T: DeserializeOwned>(
    fields: &mut BTreeMap<String, Value>,
    name: &str,
    expected: &str,
) -> Result<Option<T>, Problem> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => serde_json::from_value(value)
            .map(Some)
            .map_err(|_| Problem::bad_json(format!("the field `{name}` is not {expected}"))),
    }
}

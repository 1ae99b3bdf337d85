//! Query strings, read strictly: a mistyped name is an error, not a filter that filters nothing.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;

use crate::problem::Problem;

/// The parameters of one request.
pub(crate) struct Parameters(BTreeMap<String, String>);

/// What axum hands to a handler for a query string.
pub(crate) type RawQuery = Result<Query<Vec<(String, String)>>, QueryRejection>;

impl Parameters {
    /// Takes parameters of `known` only, each once.
    pub(crate) fn read(query: RawQuery, known: &[&str]) -> Result<Self, Problem> {
        let Query(pairs) = query.map_err(|_| {
            Problem::bad_query("the query string can't be read; percent-encode what is not plain text")
        })?;
        let mut found = BTreeMap::new();
        for (name, value) in pairs {
            if !known.contains(&name.as_str()) {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(Problem::bad_query(format!(
                    "there is no parameter `{name}`; known here: {known}"
                )));
            }
            if found.insert(name.clone(), value).is_some() {
                return Err(Problem::bad_query(format!(
                    "the parameter `{name}` stands there twice; send it once"
                )));
            }
        }
        Ok(Self(found))
    }

    /// One parameter, or `None` where it is missing.
    pub(crate) fn get<T: FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, Problem> {
        let wrong = |value: &String| Problem::bad_query(format!("`{name}={value}` is not {expected}"));
        self.0.get(name).map(|value| value.parse().map_err(|_| wrong(value))).transpose()
    }

    /// The length of a page: `limit`, from 1 to `max`.
    pub(crate) fn limit(&self, default: u32, max: u32) -> Result<u32, Problem> {
        match self.get::<u32>("limit", "a number")? {
            None => Ok(default),
            Some(limit) if (1..=max).contains(&limit) => Ok(limit),
            Some(limit) => Err(Problem::bad_query(format!("limit={limit} is not between 1 and {max}"))),
        }
    }
}

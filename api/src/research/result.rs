//! `GET /api/tasks/{id}/result`: the result as JSON, Markdown or HTML, by `format` or by the Accept header.

use std::str::FromStr;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use nightforge_domain::Kind;
use nightforge_domain::research::{ResearchResult, html, markdown};

use crate::Api;
use crate::problem::Problem;
use crate::query::{Parameters, RawQuery};
use crate::tasks::{IdInPath, resolve};

/// What others wrote stands in the page: it runs nothing, loads nothing and is no part of our origin.
const NOTHING_RUNS: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// A form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultForm {
    /// The data.
    Json,
    /// Markdown.
    Markdown,
    /// A page.
    Html,
}

impl ResultForm {
    const ALL: [ResultForm; 3] = [ResultForm::Json, ResultForm::Markdown, ResultForm::Html];

    /// The name in `format`.
    pub fn as_str(self) -> &'static str {
        match self {
            ResultForm::Json => "json",
            ResultForm::Markdown => "md",
            ResultForm::Html => "html",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            ResultForm::Json => "application/json",
            ResultForm::Markdown => "text/markdown",
            ResultForm::Html => "text/html",
        }
    }

    /// The form that the Accept header likes best; JSON where it does not say, or knows none of them.
    fn accepted(headers: &HeaderMap) -> Self {
        let accept: Vec<&str> =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        let accept = accept.join(",");
        // Of several with the same weight, the first of our list: `*/*` is JSON.
        let mut best = (0, ResultForm::Json);
        for form in Self::ALL {
            let weight = weight(&accept, form.media_type());
            if weight > best.0 {
                best = (weight, form);
            }
        }
        best.1
    }

    /// The result in this form, as text.
    ///
    /// # Errors
    /// When it can't be written as JSON.
    pub fn of(self, result: &ResearchResult) -> Result<String, serde_json::Error> {
        match self {
            ResultForm::Json => serde_json::to_string_pretty(result),
            ResultForm::Markdown => Ok(markdown(result)),
            ResultForm::Html => Ok(html(result)),
        }
    }
}

impl FromStr for ResultForm {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|form| form.as_str() == text).ok_or(())
    }
}

/// From 0 to 1000: how much an Accept header wants a media type. Its most specific entry counts (RFC 9110, 12.5.1).
fn weight(accept: &str, media_type: &str) -> u32 {
    let group = media_type.split('/').next().unwrap_or_default();
    let mut found = (0, 0);
    for entry in accept.split(',') {
        let mut parts = entry.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default().to_ascii_lowercase();
        let precision = match range.as_str() {
            "*/*" => 1,
            range if range == media_type => 3,
            range if range.strip_suffix("/*").is_some_and(|wanted| wanted == group) => 2,
            _ => continue,
        };
        let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let weight = quality.map_or(1_000, thousandths);
        if precision > found.0 {
            found = (precision, weight);
        }
    }
    found.1
}

/// `0.5` as 500; what is no number is 0.
fn thousandths(quality: &str) -> u32 {
    let number: f32 = quality.trim().parse().unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped just before")]
    let thousandths = (number.clamp(0.0, 1.0) * 1_000.0) as u32;
    thousandths
}

pub(crate) async fn result(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Parameters::read(query, &["format"])?;
    let asked = query.get::<String>("format", "a text")?;
    let form = match asked.as_deref() {
        None => ResultForm::accepted(&headers),
        Some(name) => name.parse().map_err(|()| {
            let known = ResultForm::ALL.map(ResultForm::as_str).join(", ");
            Problem::bad_query(format!("`format={name}` is none of {known}"))
        })?,
    };
    let id = resolve(&api, id).await?;
    let task = api.store.task(&id).await?;
    if task.kind != Kind::Research {
        return Err(Problem::no_result_of_kind(id, task.kind));
    }
    let Some(result) = api.store.research_result(&id).await?.filter(|_| task.status.is_final()) else {
        return Err(if task.status.is_final() {
            Problem::no_result_kept(&id)
        } else {
            Problem::no_result_yet(&id)
        });
    };
    let varies = (header::VARY, "accept");
    Ok(match form {
        ResultForm::Json => ([varies], Json(result)).into_response(),
        ResultForm::Markdown => {
            let text = markdown(&result);
            ([varies, (header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response()
        }
        ResultForm::Html => {
            let headers = [
                varies,
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CONTENT_SECURITY_POLICY, NOTHING_RUNS),
            ];
            (headers, html(&result)).into_response()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_header_chooses() {
        for (accept, form) in [
            ("", ResultForm::Json),
            ("*/*", ResultForm::Json),
            ("text/markdown", ResultForm::Markdown),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", ResultForm::Html),
            ("text/*", ResultForm::Markdown),
            ("text/html;q=0.2, text/markdown;q=0.7", ResultForm::Markdown),
            ("TEXT/HTML", ResultForm::Html),
            ("application/json;q=0, text/html;q=0.1", ResultForm::Html),
            ("image/png", ResultForm::Json),
            ("text/html;q=nonsense", ResultForm::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(ResultForm::accepted(&headers), form, "{accept}");
        }
    }
}

//! Brave's web search.
//!
//! Facts from <https://api-dashboard.search.brave.com/api-reference/web/search/get>: a query has at most 400 characters
//! and 50 words, an answer at most 20 results, with `<strong>` and entities in its texts. Errors are
//! `{"error": {"code", "detail"}}`; a wrong key comes as 422 `SUBSCRIPTION_TOKEN_INVALID`. `X-RateLimit-Remaining` and
//! `X-RateLimit-Reset` (seconds) hold one number a window, the shortest first: `0, 1400` and `1, 1419704`.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use super::Looked;
use super::config::{ConfigError, Patience, checked_url_for_key, key_header};
use super::exchange::{Question, Reply, Trouble, http_client};
use super::markup::{clipped, plain_text};
use super::retry_after::{capped_seconds, retry_after};
use super::web_hit::web_hit;
use crate::answer::{Hit, SearchAnswer};

const NAME: &str = "brave";
const KEY_HEADER: &str = "X-Subscription-Token";
const QUERY_CHARS: usize = 400;
const QUERY_WORDS: usize = 50;
const MOST_RESULTS: usize = 20;

/// The account.
#[derive(Debug, Clone)]
pub struct BraveConfig {
    /// The subscription token.
    pub key: SecretString,
    /// Where the API is. [`BraveConfig::new`] sets `https://api.search.brave.com/`.
    pub base_url: Url,
    /// How long to wait.
    pub patience: Patience,
}

impl BraveConfig {
    /// The account of `key` at Brave itself.
    pub fn new(key: SecretString) -> Self {
        let base_url = Url::parse("https://api.search.brave.com/").expect("the address is right");
        Self { key, base_url, patience: Patience::default() }
    }
}

/// Brave with a key.
#[derive(Debug)]
pub struct Brave {
    endpoint: Url,
    key: SecretString,
    header: HeaderValue,
    patience: Patience,
    http: reqwest::Client,
}

/// `web` is left out where nothing was found; `type` tells that apart from other JSON.
#[derive(Deserialize)]
struct Results {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    #[serde(default)]
    results: Vec<ResultRow>,
}

#[derive(Deserialize)]
struct ResultRow {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    page_age: Option<String>,
    #[serde(default)]
    age: Option<String>,
}

impl Brave {
    /// Checks the key and the address; nothing is asked yet.
    pub fn new(config: BraveConfig) -> Result<Self, ConfigError> {
        let mut endpoint = checked_url_for_key(NAME, config.base_url)?;
        if let Ok(mut path) = endpoint.path_segments_mut() {
            path.pop_if_empty().extend(["res", "v1", "web", "search"]);
        }
        let header = key_header(NAME, "", &config.key)?;
        let http = http_client(NAME, &endpoint, config.patience)?;
        Ok(Self { endpoint, key: config.key, header, patience: config.patience, http })
    }

    pub(crate) async fn look(&self, query: &str, limit: usize) -> Looked {
        let question = Question {
            service: "Brave",
            endpoint: &self.endpoint,
            asked: Question::about(query),
            key: Some(&self.key),
            whole: self.patience.whole,
        };
        let answer = match self.results(&question, query, limit).await {
            Ok(rows) => {
                SearchAnswer::of(rows.into_iter().filter_map(ResultRow::into_hit).take(limit).collect())
            }
            Err(trouble) => trouble.into(),
        };
        answer.into()
    }

    async fn results(
        &self,
        question: &Question<'_>,
        query: &str,
        limit: usize,
    ) -> Result<Vec<ResultRow>, Trouble> {
        let mut url = self.endpoint.clone();
        let count = limit.clamp(1, MOST_RESULTS).to_string();
        url.query_pairs_mut().append_pair("q", &short(query)).append_pair("count", &count);
        let request = self.http.get(url).header(KEY_HEADER, &self.header).header(ACCEPT, "application/json");
        let reply = question.ask(request).await?;
        if (200..300).contains(&reply.status) {
            let results: Results = question.json(&reply, "check the address")?;
            if results.kind != "search" {
                let came = format!("JSON of type `{}` instead of `search`", clipped(&results.kind, 40));
                return Err(question.trouble(came, "check the address", None));
            }
            return Ok(results.web.map(|web| web.results).unwrap_or_default());
        }
        Err(refusal(question, &reply))
    }
}

impl ResultRow {
    fn into_hit(self) -> Option<Hit> {
        let title = plain_text(&self.title.unwrap_or_default());
        let description = plain_text(&self.description.unwrap_or_default());
        web_hit(&self.url?, &title, &description, self.page_age.or(self.age))
    }
}

fn short(query: &str) -> String {
    if query.split_whitespace().count() > QUERY_WORDS {
        let words: Vec<&str> = query.split_whitespace().take(QUERY_WORDS).collect();
        return clipped(&words.join(" "), QUERY_CHARS - 1);
    }
    clipped(query, QUERY_CHARS - 1)
}

/// An error of Brave's own form; any other goes by its status alone.
fn refusal(question: &Question<'_>, reply: &Reply) -> Trouble {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let code = body.pointer("/error/code").and_then(Value::as_str);
    let remedy = match (reply.status, code) {
        (429, _) => {
            "it is asked too often for this plan, or the month's queries are used up; wait, or change the plan"
        }
        (401, _) | (_, Some("SUBSCRIPTION_TOKEN_INVALID")) => {
            "the key is wrong, or belongs to another plan: copy it from https://api-dashboard.search.brave.com/"
        }
        (402 | 403, _) | (_, Some("OPTION_NOT_IN_PLAN" | "RESOURCE_NOT_ALLOWED" | "QUOTA_LIMITED")) => {
            "the plan does not allow it; look at https://api-dashboard.search.brave.com/"
        }
        (400 | 422, _) => "the request does not suit it; a newer Nightforge may be needed",
        _ => return question.status_trouble(reply),
    };
    let said = match (code, body.pointer("/error/detail").and_then(Value::as_str)) {
        (Some(code), Some(detail)) => format!("{} `{}`", clipped(code, 60), clipped(detail, 200)),
        (Some(code), None) => clipped(code, 60),
        _ => reply.excerpt(),
    };
    let pause = retry_after(&reply.headers).or_else(|| spent_window(&reply.headers));
    question.trouble(format!("HTTP {}: {said}", reply.status), remedy, pause.filter(|_| reply.status == 429))
}

/// The time until every window that is used up has queries again.
fn spent_window(headers: &HeaderMap) -> Option<Duration> {
    let numbers = |name: &str| -> Option<Vec<f64>> {
        let text = headers.get(name)?.to_str().ok()?;
        text.split(',').map(|number| number.trim().parse().ok()).collect()
    };
    let reset = numbers("X-RateLimit-Reset")?;
    let remaining = numbers("X-RateLimit-Remaining").unwrap_or_default();
    let spent = reset.iter().zip(&remaining).filter(|(_, left)| **left <= 0.0).map(|(seconds, _)| *seconds);
    capped_seconds(spent.reduce(f64::max).or_else(|| reset.first().copied())?)
}

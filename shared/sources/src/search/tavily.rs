//! Tavily's web search.
//!
//! Facts from <https://docs.tavily.com/documentation/api-reference/endpoint/search> and its help centre: a query has at
//! most 400 characters, an answer at most 20 results; errors are `{"detail": {"error": …}}`, 432 is the plan's limit and
//! 433 the limit of pay-as-you-go.

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Looked;
use super::config::{ConfigError, Patience, checked_url_for_key, key_header};
use super::exchange::{Question, Reply, Trouble, http_client};
use super::markup::clipped;
use super::retry_after::retry_after;
use super::web_hit::web_hit;
use crate::answer::{Hit, SearchAnswer};

const NAME: &str = "tavily";
const QUERY_CHARS: usize = 400;
const MOST_RESULTS: usize = 20;

/// The account.
#[derive(Debug, Clone)]
pub struct TavilyConfig {
    /// The API key, `tvly-…`.
    pub key: SecretString,
    /// Where the API is. [`TavilyConfig::new`] sets `https://api.tavily.com/`.
    pub base_url: Url,
    /// How long to wait.
    pub patience: Patience,
}

impl TavilyConfig {
    /// The account of `key` at Tavily itself.
    pub fn new(key: SecretString) -> Self {
        let base_url = Url::parse("https://api.tavily.com/").expect("the address is right");
        Self { key, base_url, patience: Patience::default() }
    }
}

/// Tavily with a key.
#[derive(Debug)]
pub struct Tavily {
    endpoint: Url,
    key: SecretString,
    header: HeaderValue,
    patience: Patience,
    http: reqwest::Client,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<ResultRow>,
}

#[derive(Deserialize)]
struct ResultRow {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    published_date: Option<String>,
}

impl Tavily {
    /// Checks the key and the address; nothing is asked yet.
    pub fn new(config: TavilyConfig) -> Result<Self, ConfigError> {
        let mut endpoint = checked_url_for_key(NAME, config.base_url)?;
        if let Ok(mut path) = endpoint.path_segments_mut() {
            path.pop_if_empty().push("search");
        }
        let header = key_header(NAME, "Bearer ", &config.key)?;
        let http = http_client(NAME, &endpoint, config.patience)?;
        Ok(Self { endpoint, key: config.key, header, patience: config.patience, http })
    }

    pub(crate) async fn look(&self, query: &str, limit: usize) -> Looked {
        let question = Question {
            service: "Tavily",
            endpoint: &self.endpoint,
            asked: Question::about(query),
            key: Some(&self.key),
            whole: self.patience.whole,
        };
        let answer = match self.results(&question, query, limit).await {
            Ok(results) => SearchAnswer::of(
                results.results.into_iter().filter_map(ResultRow::into_hit).take(limit).collect(),
            ),
            Err(trouble) => trouble.into(),
        };
        answer.into()
    }

    async fn results(&self, question: &Question<'_>, query: &str, limit: usize) -> Result<Results, Trouble> {
        let body = json!({
            "query": clipped(query, QUERY_CHARS - 1),
            "max_results": limit.clamp(1, MOST_RESULTS),
            "search_depth": "basic",
            "include_answer": false,
            "include_raw_content": false,
            "include_images": false,
        });
        let request = self.http.post(self.endpoint.clone()).header(AUTHORIZATION, &self.header).json(&body);
        let reply = question.ask(request).await?;
        let remedy = match reply.status {
            200..=299 => return question.json(&reply, "check the address"),
            400 => "the request does not suit it; a newer Nightforge may be needed",
            401 => {
                "the key is missing, wrong or revoked: make a new one at https://app.tavily.com/ and configure it"
            }
            403 => "the key may not do this; look at the account at https://app.tavily.com/",
            429 => "it is asked too often for this key; wait, or ask less",
            432 => "the plan's credits are used up: wait for the next month, or change the plan",
            433 => "the limit of pay-as-you-go is reached: raise it at https://app.tavily.com/",
            _ => return Err(question.status_trouble(&reply)),
        };
        let came = format!("HTTP {}: {}", reply.status, complaint(&reply));
        Err(question.trouble(came, remedy, retry_after(&reply.headers)))
    }
}

impl ResultRow {
    fn into_hit(self) -> Option<Hit> {
        let (title, content) = (self.title.unwrap_or_default(), self.content.unwrap_or_default());
        web_hit(&self.url?, &title, &content, self.published_date)
    }
}

/// What Tavily says is wrong, in any of the forms that it has used.
fn complaint(reply: &Reply) -> String {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    ["/detail/error", "/detail", "/error/message", "/error"]
        .iter()
        .find_map(|path| body.pointer(path)?.as_str())
        .map_or_else(|| reply.excerpt(), |said| format!("`{}`", clipped(said, 200)))
}

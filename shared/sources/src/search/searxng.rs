//! SearXNG, through its JSON API.
//!
//! Facts from <https://docs.searxng.org/dev/search_api.html> and its `searx/webapp.py`: a format that is not listed in
//! `search.formats` gets 403, the limiter 429, and engines that failed are pairs of name and reason in
//! `unresponsive_engines`, beside whatever the others found.

use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::Looked;
use super::config::{ConfigError, Patience, checked_url};
use super::exchange::{Question, Trouble, http_client};
use super::markup::clipped;
use super::retry_after::retry_after;
use super::web_hit::web_hit;
use crate::answer::{Hit, SearchAnswer};

const NAME: &str = "searxng";
/// How many engines a message names.
const ENGINES_NAMED: usize = 8;

/// Where the instance is.
#[derive(Debug, Clone)]
pub struct SearxNgConfig {
    /// The address that a browser opens, for example `http://127.0.0.1:8888/`.
    pub base_url: Url,
    /// Language of the results as SearXNG names it (`en`, `ja-JP`, `all`). Default: what the instance is set to.
    pub language: Option<String>,
    /// How long to wait.
    pub patience: Patience,
}

/// One SearXNG instance.
#[derive(Debug)]
pub struct SearxNg {
    endpoint: Url,
    language: Option<String>,
    patience: Patience,
    http: reqwest::Client,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<ResultRow>,
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
}

#[derive(Deserialize)]
struct ResultRow {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default, rename = "publishedDate")]
    published: Option<String>,
}

impl SearxNg {
    /// Checks the address; nothing is asked yet.
    pub fn new(config: SearxNgConfig) -> Result<Self, ConfigError> {
        let mut endpoint = checked_url(NAME, config.base_url)?;
        endpoint.set_query(None);
        endpoint.set_fragment(None);
        if let Ok(mut path) = endpoint.path_segments_mut() {
            path.pop_if_empty().push("search");
        }
        let http = http_client(NAME, &endpoint, config.patience)?;
        Ok(Self { endpoint, language: config.language, patience: config.patience, http })
    }

    pub(crate) async fn look(&self, query: &str, limit: usize) -> Looked {
        let question = Question {
            service: "SearXNG",
            endpoint: &self.endpoint,
            asked: Question::about(query),
            key: None,
            whole: self.patience.whole,
        };
        match self.results(&question, query).await {
            Ok(results) => judge(&question, results, limit),
            Err(trouble) => SearchAnswer::from(trouble).into(),
        }
    }

    async fn results(&self, question: &Question<'_>, query: &str) -> Result<Results, Trouble> {
        let mut url = self.endpoint.clone();
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        if let Some(language) = &self.language {
            url.query_pairs_mut().append_pair("language", language);
        }
        let reply = question.ask(self.http.get(url)).await?;
        match reply.status {
            200..=299 => question.json(
                &reply,
                "the address is that of another program, or of a login page before SearXNG; open it in a browser",
            ),
            403 => Err(question.trouble(
                format!("HTTP 403 with {}", reply.excerpt()),
                "the JSON format is not enabled: add `json` to `search.formats` in its settings.yml and restart it",
                None,
            )),
            429 => Err(question.trouble(
                format!("HTTP 429 with {}", reply.excerpt()),
                "its limiter takes this machine for a robot: set `server.limiter: false` in its settings.yml, or \
                 list this machine under `pass_ip` in its limiter.toml",
                retry_after(&reply.headers),
            )),
            _ => Err(question.status_trouble(&reply)),
        }
    }
}

/// Engines that could not look make an empty list no evidence of absence.
fn judge(question: &Question<'_>, results: Results, limit: usize) -> Looked {
    let hits: Vec<Hit> = results.results.into_iter().filter_map(ResultRow::into_hit).take(limit).collect();
    let engines = results.unresponsive_engines;
    let mut silent: Vec<String> = engines.iter().take(ENGINES_NAMED).map(engine_and_reason).collect();
    if engines.len() > ENGINES_NAMED {
        silent.push(format!("{} more", engines.len() - ENGINES_NAMED));
    }
    let silence = (!silent.is_empty()).then(|| {
        let remedy = "look at its statistics page, or turn those engines off in its settings.yml";
        question.trouble(format!("engines that did not answer: {}", silent.join(", ")), remedy, None)
    });
    match silence {
        Some(trouble) if hits.is_empty() => SearchAnswer::from(trouble).into(),
        silence => {
            let problems = silence.into_iter().map(|trouble| trouble.reason).collect();
            Looked { answer: SearchAnswer::of(hits), problems }
        }
    }
}

impl ResultRow {
    fn into_hit(self) -> Option<Hit> {
        let (title, content) = (self.title.unwrap_or_default(), self.content.unwrap_or_default());
        web_hit(&self.url?, &title, &content, self.published)
    }
}

/// `["google", "timeout"]` as people read it; anything else as it came.
fn engine_and_reason(engine: &Value) -> String {
    let word = |at: usize| engine.get(at).and_then(Value::as_str);
    match (word(0).or(engine.as_str()), word(1)) {
        (Some(name), Some(reason)) => clipped(&format!("{name} ({reason})"), 120),
        (Some(name), None) => clipped(name, 120),
        (None, _) => clipped(&engine.to_string(), 120),
    }
}

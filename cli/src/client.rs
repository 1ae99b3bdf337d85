//! The client of the HTTP interface.

use std::time::Duration;

use nightforge_api::{EventPage, EventView, PageRequest, ProblemBody, SubmitBody, TaskPage, TaskView};
use nightforge_domain::TaskId;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;

use crate::exit::{Exit, Failure};

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Events asked for at a time.
pub(crate) const EVENT_PAGE: u32 = 500;

/// A server to talk to.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
}

/// Why there is no answer of the kind that was asked for.
#[derive(Debug, Clone)]
pub(crate) enum ClientError {
    /// Nobody answers.
    Unreachable(String),
    /// The server says no.
    Refused(ProblemBody),
}

impl Client {
    /// A client for the server at `url`.
    ///
    /// # Errors
    /// When `url` is none.
    pub(crate) fn new(url: &str) -> Result<Self, Failure> {
        let wrong = |reason: &str| {
            Failure::usage(format!(
                "--server (or NIGHTFORGE_SERVER): {reason}; write for example http://127.0.0.1:7700"
            ))
        };
        let base: Url = url.parse().map_err(|error| wrong(&format!("{error}")))?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(wrong("not an http URL"));
        }
        if !base.username().is_empty() || base.password().is_some() || base.query().is_some() {
            return Err(wrong("holds a user, a password or a query, which are not used"));
        }
        let http = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(CONNECT_WITHIN)
            .timeout(ANSWER_WITHIN)
            .build()
            .map_err(|error| Failure::new(Exit::Failed, format!("the HTTP client can't be made: {error}")))?;
        Ok(Self { http, base })
    }

    /// Queues an objective.
    pub(crate) async fn submit(&self, body: &SubmitBody, key: Option<&str>) -> Result<TaskView, ClientError> {
        let mut request = self.request(Method::POST, &["tasks"]).json(body);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        self.json(request).await
    }

    /// Tasks, newest first.
    pub(crate) async fn tasks(&self, wanted: &PageRequest) -> Result<TaskPage, ClientError> {
        let mut query = vec![("limit", wanted.limit.to_string())];
        if let Some(state) = wanted.state {
            query.push(("state", state.to_string()));
        }
        if let Some(before) = &wanted.before {
            query.push(("before", before.to_string()));
        }
        self.json(self.with_query(&["tasks"], &query)).await
    }

    /// The task with this id, which may be shortened.
    pub(crate) async fn task(&self, id: &str) -> Result<TaskView, ClientError> {
        self.json(self.request(Method::GET, &["tasks", id])).await
    }

    /// Events after number `after`, oldest first; fewer than [`EVENT_PAGE`] at the end.
    pub(crate) async fn events(&self, task: &TaskId, after: i64) -> Result<Vec<EventView>, ClientError> {
        let query = [("after", after.to_string()), ("limit", EVENT_PAGE.to_string())];
        let page: EventPage = self.json(self.with_query(&["tasks", task.as_str(), "events"], &query)).await?;
        Ok(page.events)
    }

    /// Asks for a task's end.
    pub(crate) async fn cancel(&self, task: &TaskId) -> Result<TaskView, ClientError> {
        self.json(self.request(Method::POST, &["tasks", task.as_str(), "cancel"])).await
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("api").extend(path);
        }
        url
    }

    fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        self.http.request(method, self.url(path))
    }

    fn with_query(&self, path: &[&str], query: &[(&str, String)]) -> RequestBuilder {
        let mut url = self.url(path);
        url.query_pairs_mut().extend_pairs(query);
        self.http.get(url)
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            response.json().await.map_err(|error| {
                if error.is_decode() {
                    self.stranger("its answer is not what this program expects")
                } else {
                    self.unreachable(&error)
                }
            })
        } else {
            Err(self.refusal(response).await)
        }
    }

    async fn refusal(&self, response: Response) -> ClientError {
        let status = response.status();
        match response.json::<ProblemBody>().await {
            Ok(problem) => ClientError::Refused(problem),
            Err(_) => self.stranger(&format!("it answered {status}")),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ClientError {
        let reason = if error.is_timeout() {
            "no answer in time"
        } else if error.is_connect() {
            "no connection"
        } else {
            "the connection broke"
        };
        ClientError::Unreachable(format!(
            "the server at {} can't be reached: {reason}. Start it with `nightforge up`, or name another with \
             --server or NIGHTFORGE_SERVER",
            self.base
        ))
    }

    fn stranger(&self, what: &str) -> ClientError {
        ClientError::Unreachable(format!(
            "what answers at {} is no Nightforge server of this version: {what}. Name the right one with --server or \
             NIGHTFORGE_SERVER",
            self.base
        ))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unreachable(message) => Failure::new(Exit::Unreachable, message),
            ClientError::Refused(problem) => {
                let exit = match problem.status {
                    404 => Exit::NotFound,
                    409 => Exit::Conflict,
                    503 => Exit::Unreachable,
                    500.. => Exit::Failed,
                    _ => Exit::Usage,
                };
                Failure::new(exit, problem.detail)
            }
        }
    }
}

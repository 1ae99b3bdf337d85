//! The client of the HTTP interface.

use std::time::Duration;

use nightforge_api::{
    BulkRetry, DeadLetterView, DeadPage, EventPage, EventView, KindView, MessagePage, MessageView,
    PageRequest, ProblemBody, QueuePage, QueueView, SubmitBody, TaskPage, TaskView, WorkerPage,
};
use nightforge_domain::research::ResearchResult;
use nightforge_domain::{JobId, Kind, ModelName, TaskId};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::exit::{Exit, Failure};

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Events asked for at a time.
pub(crate) const EVENT_PAGE: u32 = 500;

/// Entries that the longest page of the interface has.
const WHOLE_PAGE: u32 = 5_000;

/// A server to talk to.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
}

/// Which dead letters to list.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeadRequest {
    /// Only of this task, whose id may be shortened.
    pub(crate) task: Option<String>,
    /// Only of this model.
    pub(crate) model: Option<ModelName>,
    /// Also those that were dismissed.
    pub(crate) dropped: bool,
    /// At most so many; 0 leaves it to the server.
    pub(crate) limit: u32,
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

    /// Messages after number `after`, oldest first; fewer than [`EVENT_PAGE`] at the end.
    pub(crate) async fn messages(&self, task: &TaskId, after: u32) -> Result<Vec<MessageView>, ClientError> {
        let query = [("after", after.to_string()), ("limit", EVENT_PAGE.to_string())];
        let path = ["tasks", task.as_str(), "messages"];
        let page: MessagePage = self.json(self.with_query(&path, &query)).await?;
        Ok(page.messages)
    }

    /// One of a task's pages, as long as a page can be: far more than a task's limits let it have.
    pub(crate) async fn page<T: DeserializeOwned>(
        &self,
        task: &TaskId,
        page: &str,
    ) -> Result<T, ClientError> {
        let query = [("limit", WHOLE_PAGE.to_string())];
        self.json(self.with_query(&["tasks", task.as_str(), page], &query)).await
    }

    /// The result of a research task; `None` where there is none.
    pub(crate) async fn result(&self, task: &TaskId) -> Result<Option<ResearchResult>, ClientError> {
        match self.json(self.request(Method::GET, &["tasks", task.as_str(), "result"])).await {
            Ok(result) => Ok(Some(result)),
            Err(ClientError::Refused(problem)) if problem.status == 404 || problem.status == 409 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The report of a task as Markdown; `None` while there is none.
    pub(crate) async fn report(&self, task: &TaskId) -> Result<Option<String>, ClientError> {
        let request = self.request(Method::GET, &["tasks", task.as_str(), "report"]);
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        match response.status().as_u16() {
            200 => response.text().await.map(Some).map_err(|error| self.unreachable(&error)),
            404 => Ok(None),
            _ => Err(self.refusal(response).await),
        }
    }

    /// Asks for a task's end.
    pub(crate) async fn cancel(&self, task: &TaskId) -> Result<TaskView, ClientError> {
        self.json(self.request(Method::POST, &["tasks", task.as_str(), "cancel"])).await
    }

    /// Asks for a retry, of everything or of one job and later ones.
    pub(crate) async fn retry(&self, task: &TaskId, from: Option<u32>) -> Result<TaskView, ClientError> {
        let request = self.request(Method::POST, &["tasks", task.as_str(), "retry"]);
        self.json(request.json(&json!({ "from": from }))).await
    }

    /// Pauses a task, or lets it go on.
    pub(crate) async fn set_paused(&self, task: &TaskId, paused: bool) -> Result<TaskView, ClientError> {
        self.json(self.request(Method::POST, &["tasks", task.as_str(), pause_or_resume(paused)])).await
    }

    /// Every queue.
    pub(crate) async fn queues(&self) -> Result<QueuePage, ClientError> {
        self.json(self.request(Method::GET, &["queues"])).await
    }

    /// Pauses a model, or lets it go on.
    pub(crate) async fn pause_model(
        &self,
        model: &ModelName,
        paused: bool,
    ) -> Result<QueueView, ClientError> {
        self.json(self.request(Method::POST, &["queues", model.as_str(), pause_or_resume(paused)])).await
    }

    /// Pauses a kind of task, or lets it go on.
    pub(crate) async fn pause_kind(&self, kind: Kind, paused: bool) -> Result<KindView, ClientError> {
        self.json(self.request(Method::POST, &["queues", "kinds", kind.as_str(), pause_or_resume(paused)]))
            .await
    }

    /// Live processes.
    pub(crate) async fn workers(&self) -> Result<WorkerPage, ClientError> {
        self.json(self.request(Method::GET, &["workers"])).await
    }

    /// Dead letters, latest first.
    pub(crate) async fn dead(&self, wanted: &DeadRequest) -> Result<DeadPage, ClientError> {
        let mut query = vec![("dropped", wanted.dropped.to_string())];
        query.extend(wanted.task.as_ref().map(|task| ("task", task.clone())));
        query.extend(wanted.model.as_ref().map(|model| ("model", model.to_string())));
        if wanted.limit > 0 {
            query.push(("limit", wanted.limit.to_string()));
        }
        self.json(self.with_query(&["dead"], &query)).await
    }

    /// Retries a dead letter and later jobs of its task.
    pub(crate) async fn retry_dead(&self, job: &JobId) -> Result<TaskView, ClientError> {
        let no = job.no.to_string();
        self.json(self.request(Method::POST, &["dead", job.task.as_str(), &no, "retry"])).await
    }

    /// Retries every dead letter that was not dismissed, or only tells which.
    pub(crate) async fn retry_all_dead(&self, dry_run: bool) -> Result<BulkRetry, ClientError> {
        let request = self.request(Method::POST, &["dead", "retry"]);
        self.json(request.json(&json!({ "dry_run": dry_run }))).await
    }

    /// Dismisses a dead letter.
    pub(crate) async fn drop_dead(&self, job: &JobId) -> Result<DeadLetterView, ClientError> {
        let no = job.no.to_string();
        self.json(self.request(Method::POST, &["dead", job.task.as_str(), &no, "drop"])).await
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

fn pause_or_resume(paused: bool) -> &'static str {
    if paused { "pause" } else { "resume" }
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

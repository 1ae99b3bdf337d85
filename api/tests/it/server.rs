//! A server on a free port of loopback, with a temporary data folder.

use std::net::SocketAddr;
use std::sync::Arc;

use nightforge_api::{Api, KnownModel, Models, serve};
use nightforge_domain::build::ReportFacts;
use nightforge_domain::state::{self, Context};
use nightforge_domain::{AgentModels, Limits, ModelName, TaskId};
use nightforge_queue::Bells;
use nightforge_store::{DbClock, Store};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) store: Store,
    pub(crate) bells: Bells,
    pub(crate) data: TempDir,
    http: Client,
    shutdown: CancellationToken,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) media_type: String,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Answer {
    /// The name of the problem, checked to be one.
    pub(crate) fn problem(&self) -> (u16, &str) {
        assert_eq!(self.media_type, "application/problem+json", "{}", self.text);
        assert_eq!(self.body["status"], self.status.as_u16());
        let name = self.body["type"].as_str().unwrap().strip_prefix("urn:nightforge:problem:").unwrap();
        (self.status.as_u16(), name)
    }

    pub(crate) fn detail(&self) -> &str {
        self.body["detail"].as_str().unwrap()
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        let model = |name: &str| KnownModel {
            name: name.parse().unwrap(),
            server_name: format!("vendor/{name}"),
            endpoints: vec!["http://127.0.0.1:1234/v1".to_owned()],
        };
        let coder: ModelName = "coder".parse().unwrap();
        let agents = AgentModels::same(&coder);
        Self::start_with(Models { known: vec![model("coder"), model("small")], agents: Some(agents) }).await
    }

    pub(crate) async fn start_with(models: Models) -> Self {
        Self::serving(models, vec!["demo".to_owned()]).await
    }

    /// One that has nothing to search.
    pub(crate) async fn without_search() -> Self {
        let coder: ModelName = "coder".parse().unwrap();
        let models = Models { known: Vec::new(), agents: Some(AgentModels::same(&coder)) };
        Self::serving(models, Vec::new()).await
    }

    async fn serving(models: Models, search: Vec<String>) -> Self {
        // The client wants a provider for TLS also where it speaks plain HTTP.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let data = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", data.path().join("nightforge.db").display());
        let store = Store::open(&url, DbClock::Database).await.unwrap();
        let shutdown = CancellationToken::new();
        let bells = Bells::in_memory(shutdown.clone());
        let api = Api {
            store: store.clone(),
            bells: bells.clone(),
            models,
            data: data.path().to_owned(),
            search,
            defaults: Limits { max_sessions: 77, ..Limits::default() },
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(api, listener, shutdown.clone()));
        Self { address, store, bells, data, http: Client::builder().no_proxy().build().unwrap(), shutdown }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("http://{}{path}", self.address))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        answer(self.request(Method::POST, path).json(body)).await
    }

    pub(crate) async fn submit(&self, objective: &str) -> TaskId {
        let answer = self.post("/api/tasks", &json!({"kind": "build", "objective": objective})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.body["id"].as_str().unwrap().parse().unwrap()
    }

    /// Lets the machine answer everything that the task was asked for.
    pub(crate) async fn advance(&self, task: &TaskId) {
        while let Some(pending) = self.store.pending(task).await.unwrap() {
            let row = &pending.task;
            let sources = self.store.sources(task).await.unwrap();
            let spent = self.store.spent(task).await.unwrap();
            let previous = match &row.previous {
                Some(previous) => self.store.research_result(previous).await.unwrap(),
                None => None,
            };
            let context = Context {
                limits: &row.limits,
                now: self.store.now().await.unwrap(),
                deadline: row.deadline,
                facts: ReportFacts {
                    language: row.language.as_deref(),
                    sources: &sources,
                    previous: previous.as_ref(),
                    ..ReportFacts::new(task, &row.objective, row.created_at, spent)
                },
            };
            let transition = state::next(&row.state, &pending.input, &context).unwrap();
            self.store.commit(&pending, &transition).await.unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

pub(crate) async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    let status = response.status();
    let media_type =
        response.headers().get("content-type").map_or("", |value| value.to_str().unwrap()).to_owned();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Answer { status, media_type, body, text }
}

/// One server for several requests at a time.
pub(crate) async fn shared() -> Arc<Server> {
    Arc::new(Server::start().await)
}

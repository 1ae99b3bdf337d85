//! A server that answers each path as a real one was seen to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use nightforge_llm::{Client, EndpointConfig};
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// One answer, as it came over the wire.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Recorded {
    pub(crate) status: u16,
    headers: BTreeMap<String, String>,
    /// A text that is no JSON, or the JSON itself.
    pub(crate) body: Value,
}

impl Recorded {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        let headers = BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]);
        Self { status, headers, body }
    }
}

/// A server at one moment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Where its answers are from.
    pub(crate) source: String,
    /// The model that is asked for.
    #[serde(default)]
    pub(crate) model: String,
    /// As configured.
    pub(crate) context: Option<u64>,
    /// The least context; a build's where it is not said.
    pub(crate) least: Option<u64>,
    /// By method and path.
    pub(crate) answers: BTreeMap<String, Recorded>,
    /// For every other path.
    pub(crate) otherwise: Recorded,
    #[serde(default)]
    pub(crate) expect: Value,
}

impl Case {
    /// The cases of a folder under `cases/`, by their path in it.
    pub(crate) fn all(folder: &str) -> Vec<(String, Case)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(folder);
        let mut files = Vec::new();
        collect(&root, &mut files);
        files.sort();
        files
            .iter()
            .map(|file| {
                let name = file.strip_prefix(&root).unwrap().with_extension("").display().to_string();
                let case = serde_json::from_str(&std::fs::read_to_string(file).unwrap());
                let case: Case = case.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(!case.source.is_empty(), "{name}: where is it from?");
                (name, case)
            })
            .collect()
    }

    /// One of them.
    pub(crate) fn named(name: &str) -> Case {
        let all = Case::all("servers");
        all.into_iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no case {name}")).1
    }

    pub(crate) fn config(&self, url: &str) -> EndpointConfig {
        let defaults = EndpointConfig::default();
        EndpointConfig {
            url: url.to_owned(),
            model: self.model.clone(),
            context_tokens: self.context,
            least_context_tokens: self.least.unwrap_or(defaults.least_context_tokens),
            ..defaults
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[derive(Debug)]
struct Shared {
    case: Mutex<Case>,
    asked: Mutex<Vec<(String, Value)>>,
}

pub(crate) struct RecordedServer {
    pub(crate) url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl RecordedServer {
    pub(crate) async fn start(case: Case) -> Self {
        let shared = Arc::new(Shared { case: Mutex::new(case), asked: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, task }
    }

    /// A client as the case configures it.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.shared.case.lock().unwrap().config(&self.url)).unwrap()
    }

    /// From now on another server is behind the port.
    pub(crate) fn become_(&self, case: Case) {
        *self.shared.case.lock().unwrap() = case;
        self.shared.asked.lock().unwrap().clear();
    }

    /// Another answer at one path.
    pub(crate) fn answer(&self, path: &str, recorded: Recorded) {
        self.shared.case.lock().unwrap().answers.insert(path.to_owned(), recorded);
    }

    /// Takes the requests since the last time, as method and path, in their order.
    pub(crate) fn take_asked(&self) -> Vec<String> {
        self.take_bodies().into_iter().map(|(asked, _)| asked).collect()
    }

    /// The same with their bodies.
    pub(crate) fn take_bodies(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.shared.asked.lock().unwrap())
    }
}

impl Drop for RecordedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let asked = format!("{} {}", parts.method, parts.uri.path());
    let body = to_bytes(body, 1 << 24).await.unwrap();
    shared.asked.lock().unwrap().push((asked.clone(), serde_json::from_slice(&body).unwrap_or(Value::Null)));
    let recorded = {
        let case = shared.case.lock().unwrap();
        case.answers.get(&asked).unwrap_or(&case.otherwise).clone()
    };
    let mut response = Response::builder().status(recorded.status);
    for (name, value) in &recorded.headers {
        response = response.header(name, value);
    }
    let text = match recorded.body {
        Value::String(text) => text,
        json => json.to_string(),
    };
    response.body(Body::from(text)).unwrap()
}

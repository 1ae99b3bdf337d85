//! Objectives accepted per second over HTTP, one after another, beside the same rows without HTTP.

use std::net::Ipv4Addr;
use std::time::Instant;

use anyhow::ensure;
use nightforge_api::{Api, KnownModel, Models, serve};
use nightforge_domain::{AgentModels, Limits};
use nightforge_queue::Bells;
use nightforge_store::{DbClock, Store};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::args::Form;
use crate::databases::Databases;
use crate::load;
use crate::table::Row;

const OBJECTIVE: &str = "Build a reading list with shelves, a search and an export.";

/// # Errors
/// When the interface does not accept an objective.
pub(crate) async fn run(form: Form) -> anyhow::Result<Vec<Row>> {
    let tasks = form.pick(500, 10);
    let folder = tempfile::tempdir()?;
    let databases = Databases::Sqlite(folder.path().to_owned());
    let store = Store::open(&databases.make("submitted").await?, DbClock::Database).await?;
    let new = load::build_task(OBJECTIVE, 50)?;
    let started = Instant::now();
    for _ in 0..tasks {
        store.submit(&new).await?;
    }
    let bare = f64::from(tasks) / started.elapsed().as_secs_f64();

    let end = CancellationToken::new();
    let _end_at_return = end.clone().drop_guard();
    let model =
        KnownModel { name: load::model()?, server_name: load::MODEL.to_owned(), endpoints: Vec::new() };
    let agents = AgentModels::same(&load::model()?);
    let api = Api {
        store: store.clone(),
        bells: Bells::in_memory(end.clone()),
        models: Models { known: vec![model], agents: Some(agents) },
        data: folder.path().to_owned(),
        search: Vec::new(),
        defaults: Limits::default(),
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/api/tasks", listener.local_addr()?);
    tokio::spawn(serve(api, listener, end.clone()));
    let client = reqwest::Client::builder().no_proxy().build()?;
    let body = json!({"kind": "build", "objective": OBJECTIVE});
    let started = Instant::now();
    for _ in 0..tasks {
        let answer = client.post(&url).json(&body).send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status.as_u16() == 201, "{status}: {text}");
    }
    let ours = f64::from(tasks) / started.elapsed().as_secs_f64();
    Ok(vec![
        Row::new("submissions over HTTP, SQLite", "/s", ours).beside(bare).noting("beside the store alone"),
    ])
}

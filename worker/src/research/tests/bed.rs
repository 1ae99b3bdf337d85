//! A research task, a site with pages, recorded searches.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use nightforge_domain::research::Source;
use nightforge_domain::{
    AgentModels, JobResult, JobSpec, Kind, Limits, NewTask, Objective, Priority, TaskId,
};
use nightforge_sources::search::{Recorded, Recording, Replay};
use nightforge_sources::{Backend, Extractor, Hit, ReaderConfig, Search, SearchAnswer, extract_main};
use nightforge_store::{Claim, EventRow};
use serde_json::{Value, json};

use crate::engine::tests::bed::{Bed, model_name};
use crate::engine::tests::model::Reply;
use crate::engine::{Failure, Workshop};
use crate::jobs;
use crate::research::SearchSetup;

pub(super) const OBJECTIVE: &str = "What do visitors pay for a Pilates class in Nassau?";

/// Set for the child that gets the text out of pages.
const CHILD: &str = "NIGHTFORGE_TEST_EXTRACTS";

/// A bed whose task waits for its first researcher.
pub(super) struct ResearchBed {
    pub(super) bed: Bed,
    pub(super) task: TaskId,
    pub(super) site: String,
}

/// This test binary again, as the child: what the harness says around the answer is dropped.
pub(super) fn extractor() -> Extractor {
    let me = std::env::current_exe().unwrap();
    let test = "research::tests::bed::this_binary_is_also_the_extractor";
    let script = format!(
        "{CHILD}=1 '{}' --quiet --exact --nocapture --test-threads=1 {test} | grep '^{{'",
        me.display()
    );
    Extractor::new(PathBuf::from("/bin/sh"), vec!["-c".to_owned(), script])
}

#[test]
fn this_binary_is_also_the_extractor() {
    if std::env::var_os(CHILD).is_some() {
        let _ = extract_main();
        // Nothing may stand behind the answer.
        std::process::exit(0);
    }
}

pub(super) fn hit(url: &str, title: &str, snippet: &str) -> Hit {
    Hit {
        url: url.to_owned(),
        title: title.to_owned(),
        snippet: snippet.to_owned(),
        published: None,
        text: None,
        placeholder: false,
    }
}

pub(super) fn queries(queries: &[&str]) -> Reply {
    Reply::Say(json!({"thought": "Prices.", "queries": queries}))
}

/// A report with one finding.
pub(super) fn report(claim: &str, evidence: &[(&str, &str)]) -> Reply {
    let evidence: Vec<Value> =
        evidence.iter().map(|(id, quote)| json!({"source_id": id, "quote": quote})).collect();
    Reply::Say(json!({
        "summary": "There is a price.",
        "findings": [{"title": "Price", "claim": claim, "evidence": evidence, "confidence": "high"}],
        "uncertainties": ["Taxes are not named."],
        "status": "COMPLETED",
        "blocked_reason": null,
    }))
}

pub(super) fn assign(title: &str, description: &str) -> Reply {
    Reply::Say(json!({
        "reason": "Nothing is known.",
        "action": "ASSIGN_RESEARCH",
        "message": "Find prices.",
        "tasks": [{"title": title, "description": description}],
        "review_focus": null,
    }))
}

/// An article long enough to be read.
pub(super) fn article(title: &str, words: &str) -> String {
    let filler =
        "The island has beaches, boats, markets and a harbour where ships from many countries come in. ";
    format!(
        "<html><head><title>{title}</title></head><body><article><h1>{title}</h1><p>{words}</p><p>{}</p></article>\
         </body></html>",
        filler.repeat(6)
    )
}

impl ResearchBed {
    /// A task whose Manager has given one assignment.
    pub(super) async fn new(pages: Vec<(&'static str, String)>) -> Self {
        Self::about(OBJECTIVE, pages, Limits::default()).await
    }

    pub(super) async fn about(objective: &str, pages: Vec<(&'static str, String)>, limits: Limits) -> Self {
        let site = serve(&pages).await;
        let objective = objective.replace("{site}", &site);
        let bed = Bed::new([assign("Visitor prices", "What a visitor pays for one class.")]).await;
        let task = submit(&bed, &objective, limits).await;
        let made = Self { bed, task, site };
        made.run_and_advance(&made.bed.workshop()).await;
        made
    }

    /// Adds the model's next answers.
    pub(super) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        for reply in replies {
            self.bed.model.then(reply);
        }
    }

    /// The file in which every search that is asked leaves a line.
    fn asked_searches(&self) -> PathBuf {
        self.bed.data.path().join("asked.jsonl")
    }

    /// Queries that reached the search, in order. Those that it could not look for leave no line.
    pub(super) fn searches(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.asked_searches()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str::<Recording>(line).unwrap().query).collect()
    }

    /// A workshop whose search has these answers; `{site}` in an address is the site.
    pub(super) fn workshop(&self, answers: &[(&str, SearchAnswer)]) -> Arc<Workshop> {
        let mut workshop = Arc::into_inner(self.bed.workshop()).unwrap();
        workshop.search = Some(Arc::new(self.setup(answers)));
        Arc::new(workshop)
    }

    pub(super) fn setup(&self, answers: &[(&str, SearchAnswer)]) -> SearchSetup {
        let path = self.bed.data.path().join("recording.jsonl");
        let lines: Vec<String> = answers
            .iter()
            .map(|(query, answer)| {
                let mut answer = answer.clone();
                if let SearchAnswer::Hits { hits } = &mut answer {
                    hits.iter_mut().for_each(|hit| hit.url = hit.url.replace("{site}", &self.site));
                }
                let is_demo =
                    matches!(&answer, SearchAnswer::Hits { hits } if hits[0].url.starts_with("demo://"));
                let line = Recording { query: (*query).to_owned(), answer, is_demo };
                serde_json::to_string(&line).unwrap()
            })
            .collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let replay = Backend::Replay(Replay::new(&path).unwrap());
        let recorded = Backend::Recorded(Recorded::new(replay, &self.asked_searches()).unwrap());
        let mut reader = ReaderConfig::new(extractor());
        reader.allow = vec![self.site.trim_start_matches("http://").to_owned()];
        SearchSetup::new(Search::new(vec![recorded]).unwrap(), reader).unwrap()
    }

    /// Runs the claimed job as an execution would.
    pub(super) async fn run(&self, claim: &Claim, workshop: &Workshop) -> Result<JobResult, Failure> {
        let (mut context, _signal) = self.bed.context_in(claim.clone(), workshop).await;
        jobs::run(workshop, &mut context).await
    }

    /// Claims and runs the ready job, and lets its task go on.
    pub(super) async fn run_and_advance(&self, workshop: &Workshop) -> (JobSpec, JobResult) {
        let claim = self.bed.claim().await;
        let result = self.run(&claim, workshop).await.unwrap();
        self.bed.store.finish(&claim.job, claim.fence, &result).await.unwrap().unwrap();
        self.bed.advance(&self.task).await;
        (claim.spec, result)
    }

    pub(super) async fn sources(&self) -> Vec<Source> {
        self.bed.store.sources(&self.task).await.unwrap()
    }

    pub(super) async fn events(&self, type_name: &str) -> Vec<EventRow> {
        let events = self.bed.store.events(&self.task, 0, 10_000).await.unwrap();
        events.into_iter().filter(|event| event.type_name == type_name).collect()
    }

    /// What the log says of tools, in short.
    pub(super) async fn tool_calls(&self) -> Vec<String> {
        let calls = self.events("tool-called").await;
        let text = |event: &EventRow, field: &str| event.data[field].as_str().unwrap().to_owned();
        calls
            .iter()
            .map(|call| {
                format!("{} {}: {}", text(call, "tool"), text(call, "subject"), text(call, "outcome"))
            })
            .collect()
    }

    /// Questions that the model has had since the bed was made.
    pub(super) fn asked(&self) -> Vec<Value> {
        self.bed.model.asked().split_off(1)
    }
}

pub(super) async fn submit(bed: &Bed, objective: &str, limits: Limits) -> TaskId {
    let new = NewTask {
        kind: Kind::Research,
        objective: Objective::try_from(objective.to_owned()).unwrap(),
        owner: "ada".to_owned(),
        priority: Priority::default(),
        models: AgentModels::same(&model_name()),
        limits,
        approve: false,
        deadline: None,
        language: None,
        previous: None,
        idempotency_key: None,
    };
    let task = bed.store.submit(&new).await.unwrap().task;
    bed.advance(&task).await;
    task
}

/// Serves the pages; `{site}` in one is the site.
async fn serve(pages: &[(&'static str, String)]) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    let mut routes = Router::new();
    for (path, body) in pages {
        let body = body.replace("{site}", &site);
        routes = routes
            .route(path, get(|| async move { ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], body) }));
    }
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    site
}

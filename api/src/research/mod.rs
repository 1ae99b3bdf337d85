//! What a research task leaves to read: the conversation, the workspace, the result. Pages go on from their `after`,
//! as a task's events do.

mod pages;
mod result;
mod view;

pub use pages::{
    DecisionPage, DecisionView, FindingPage, FindingView, MessagePage, MessageView, RunPage, RunView,
    SourcePage, SourceView, SubtaskPage, SubtaskView, UncertaintyView, read_decisions, read_findings,
    read_messages, read_runs, read_sources, read_subtasks,
};
pub use result::ResultForm;
pub use view::{ResearchView, ResultView};

pub(crate) use result::result;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use nightforge_domain::TaskId;
use nightforge_domain::research::SourceId;
use serde::Serialize;

use crate::Api;
use crate::problem::Problem;
use crate::query::{Parameters, RawQuery};
use crate::tasks::{IdInPath, resolve};

type Answer<T> = Result<Json<T>, Problem>;

/// Entries of a page unless told otherwise, and at most.
const PAGE: (u32, u32) = (500, 5_000);

/// The task, `after` and `limit` of a request for a page.
struct Wanted {
    task: TaskId,
    after: Option<String>,
    limit: u32,
}

impl Wanted {
    async fn read(api: &Api, id: IdInPath, query: RawQuery) -> Result<Self, Problem> {
        let query = Parameters::read(query, &["after", "limit"])?;
        let after = query.get::<String>("after", "a text")?;
        let limit = query.limit(PAGE.0, PAGE.1)?;
        Ok(Self { task: resolve(api, id).await?, after, limit })
    }

    /// A number to go on after; 0 begins.
    fn number(&self, expected: &str) -> Result<u32, Problem> {
        let Some(text) = &self.after else { return Ok(0) };
        text.parse().map_err(|_| Problem::bad_query(format!("`after={text}` is not {expected}")))
    }

    /// At most `limit` of all, after the one whose cursor is `after`.
    fn cut<T: Serialize>(&self, all: Vec<T>, is_before: impl Fn(&T) -> bool) -> Vec<T> {
        all.into_iter().skip_while(is_before).take(self.limit as usize).collect()
    }
}

pub(crate) async fn messages(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
) -> Answer<MessagePage> {
    let wanted = Wanted::read(&api, id, query).await?;
    let after = wanted.number("the number of a message")?;
    Ok(Json(read_messages(&api.store, &wanted.task, after, wanted.limit).await?))
}

pub(crate) async fn findings(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
) -> Answer<FindingPage> {
    let wanted = Wanted::read(&api, id, query).await?;
    let after = match wanted.after.as_deref() {
        None | Some("0") => (0, 0),
        Some(text) => place(text).ok_or_else(|| {
            Problem::bad_query(format!("`after={text}` is not the id of a finding, such as F1.2"))
        })?,
    };
    let mut page = read_findings(&api.store, &wanted.task).await?;
    page.findings = wanted.cut(page.findings, |view| place(&view.finding.id.0).is_none_or(|at| at <= after));
    Ok(Json(page))
}

/// Assignment and place of a finding's id.
fn place(id: &str) -> Option<(u32, u32)> {
    let (subtask, place) = id.strip_prefix(['F', 'f'])?.split_once('.')?;
    Some((subtask.parse().ok()?, place.parse().ok()?))
}

pub(crate) async fn sources(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
) -> Answer<SourcePage> {
    let wanted = Wanted::read(&api, id, query).await?;
    let after = match wanted.after.as_deref() {
        None | Some("0") => 0,
        Some(text) => {
            let id: SourceId =
                text.parse().map_err(|error| Problem::bad_query(format!("`after={text}`: {error}")))?;
            id.0
        }
    };
    let page = read_sources(&api.store, &wanted.task).await?;
    Ok(Json(SourcePage { sources: wanted.cut(page.sources, |source| source.id.0 <= after) }))
}

pub(crate) async fn decisions(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
) -> Answer<DecisionPage> {
    let wanted = Wanted::read(&api, id, query).await?;
    let after = wanted.number("the number of an iteration")?;
    let page = read_decisions(&api.store, &wanted.task).await?;
    let decisions = wanted.cut(page.decisions, |view| view.decision.iteration <= after);
    Ok(Json(DecisionPage { decisions }))
}

pub(crate) async fn subtasks(
    State(api): State<Arc<Api>>,
    id: IdInPath,
    query: RawQuery,
) -> Answer<SubtaskPage> {
    let wanted = Wanted::read(&api, id, query).await?;
    let after = wanted.number("the number of an assignment")?;
    let page = read_subtasks(&api.store, &wanted.task).await?;
    Ok(Json(SubtaskPage { subtasks: wanted.cut(page.subtasks, |view| view.subtask.number <= after) }))
}

pub(crate) async fn runs(State(api): State<Arc<Api>>, id: IdInPath, query: RawQuery) -> Answer<RunPage> {
    let wanted = Wanted::read(&api, id, query).await?;
    let after = wanted.number("the number of a job")?;
    let page = read_runs(&api.store, &wanted.task).await?;
    Ok(Json(RunPage { runs: wanted.cut(page.runs, |run| run.job.0 <= after) }))
}

//! Where a research task stands, as part of its [`TaskView`](crate::TaskView).

use nightforge_domain::TaskId;
use nightforge_domain::contract::research::{Confidence, ReviewDecision};
use nightforge_domain::research::{Outcome, ResearchResult};
use nightforge_store::{Store, StoreError, TaskRow};
use serde::{Deserialize, Serialize};

/// The team's counters, and its result once there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResearchView {
    /// The language of the answer, as a code; null where the objective did not show it.
    pub language: Option<String>,
    /// The earlier task that the result is compared with.
    pub previous: Option<TaskId>,
    /// Decisions of the Manager so far.
    pub iteration: u32,
    /// Agent runs so far.
    pub agent_calls: u32,
    /// Assignments so far.
    pub assignments: usize,
    /// Findings so far.
    pub findings: usize,
    /// Sources that searches have named so far.
    pub sources: usize,
    /// Reviews so far.
    pub reviews: usize,
    /// What the latest of them decided.
    pub latest_review: Option<ReviewDecision>,
    /// Working time so far, in milliseconds; waiting is not counted.
    pub working_ms: i64,
    /// What it came to; null until the task is over.
    pub result: Option<ResultView>,
}

/// What a research task came to, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultView {
    /// Whether there is an answer.
    pub outcome: Outcome,
    /// The answer.
    pub conclusion: Option<String>,
    /// How sure it is.
    pub confidence: Option<Confidence>,
    /// The statements that carry it.
    pub key_findings: usize,
    /// What a reader must know before anything else.
    pub warnings: Vec<String>,
    /// Where the whole result is, below this server's address.
    pub json: String,
    /// The same as Markdown.
    pub markdown: String,
    /// The same as HTML.
    pub html: String,
}

impl ResearchView {
    /// Of a row; `None` where it is of another kind.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn of(store: &Store, row: &TaskRow) -> Result<Option<Self>, StoreError> {
        let Some(research) = row.state.research() else { return Ok(None) };
        let result = match row.status.is_final() {
            true => store.research_result(&row.id).await?.map(ResultView::of),
            false => None,
        };
        Ok(Some(Self {
            language: row.language.clone(),
            previous: row.previous.clone(),
            iteration: research.iteration,
            agent_calls: research.agent_calls,
            assignments: research.subtasks.len(),
            findings: research.findings.len(),
            sources: store.sources(&row.id).await?.len(),
            reviews: research.reviews.len(),
            latest_review: research.reviews.last().map(|review| review.decision),
            working_ms: research.working_ms + research.round_ms,
            result,
        }))
    }
}

impl ResultView {
    fn of(result: ResearchResult) -> Self {
        let path = format!("/api/tasks/{}/result", result.task);
        Self {
            outcome: result.outcome,
            conclusion: result.conclusion,
            confidence: result.confidence,
            key_findings: result.key_findings.len(),
            warnings: result.warnings,
            markdown: format!("{path}?format=md"),
            html: format!("{path}?format=html"),
            json: path,
        }
    }
}

//! Reporting: what a Researcher makes of its sources, held against them by code.

use nightforge_domain::contract::research::{ReportStatus, ResearchReport};
use nightforge_domain::research::outside::{cleaned, clipped};
use nightforge_domain::research::views::{Asked, ReportView};
use nightforge_domain::research::{
    GroundedFinding, GroundedReport, Level, Research, Source, SourceId, ground,
};
use nightforge_llm::Message;
use nightforge_store::TaskSecret;
use serde::{Deserialize, Serialize};

use super::reading::Reading;
use super::steps::{answer_step, retries};
use super::{messages, room, rows};
use crate::engine::{Failure, JobContext};

/// Longest title and claim of a finding, in characters.
const MAX_TITLE: usize = 160;
const MAX_CLAIM: usize = 1_200;

/// Characters of a fence's marker.
const MARKER_CHARS: usize = 16;

/// A report and what was found of it. Journaled as one, so that a later claim judges it as this one did.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Checked {
    report: ResearchReport,
    findings: Vec<GroundedFinding>,
}

impl Checked {
    /// Whether it says that there are facts and names no source that has them.
    fn cites_nothing(&self) -> bool {
        self.report.status == ReportStatus::Completed
            && self.findings.iter().all(|finding| finding.level == Level::G0)
    }

    /// Why its citations were dropped.
    fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        for note in self.findings.iter().flat_map(|finding| &finding.notes) {
            if !reasons.contains(note) {
                reasons.push(note.clone());
            }
        }
        reasons
    }
}

/// What a report is asked about.
pub(crate) struct Question<'a> {
    pub(crate) research: &'a Research,
    pub(crate) subtask: u32,
    pub(crate) queries: &'a [String],
    /// Everything that was found for the assignment, the best first; never empty.
    pub(crate) sources: &'a [SourceId],
    /// What of it was read.
    pub(crate) reading: &'a Reading,
}

/// Asks for the report; once more where not one of its citations is valid.
///
/// # Errors
/// How the execution ended without a result.
pub(crate) async fn report(
    context: &mut JobContext,
    question: &Question<'_>,
) -> Result<GroundedReport, Failure> {
    let sources = rows::in_order(context, question.sources).await?;
    let sources = question.reading.of_its_own(context, sources).await?;
    let view = view(context, question, &sources)?;
    let inputs = (messages::version(), question.subtask, question.queries, question.sources);
    let asked = messages::report(&view, |id| marker(context, id))?;
    let first = ask(context, "report", &inputs, asked, &sources).await?;
    let checked = if first.cites_nothing() {
        let again = messages::report_again(&view, |id| marker(context, id), &first.reasons())?;
        ask(context, "report-again", &inputs, again, &sources).await?
    } else {
        first
    };
    let Checked { report, findings } = checked;
    let ResearchReport { status, summary, uncertainties, blocked_reason, .. } = report;
    Ok(GroundedReport {
        status,
        summary,
        findings,
        uncertainties,
        blocked_reason,
        new_sources: new_sources(context).await?,
    })
}

/// The report that needs no model: there is nothing to quote.
///
/// # Errors
/// When the database fails.
pub(crate) async fn nothing_found(
    context: &JobContext,
    queries: &[String],
    sources: &[SourceId],
) -> Result<GroundedReport, Failure> {
    let mut reason = format!("no source found for: {}", queries.join("; "));
    if !sources.is_empty() {
        let named: Vec<String> = sources.iter().map(ToString::to_string).collect();
        reason = format!("{reason}; these could not be read: {}", named.join(", "));
    }
    Ok(GroundedReport {
        status: ReportStatus::Blocked,
        summary: String::new(),
        findings: Vec::new(),
        uncertainties: Vec::new(),
        blocked_reason: Some(reason),
        new_sources: new_sources(context).await?,
    })
}

/// Whether there is anything that a researcher could quote.
///
/// # Errors
/// When the database fails.
pub(crate) async fn has_words(context: &JobContext, sources: &[SourceId]) -> Result<bool, Failure> {
    let sources = rows::in_order(context, sources).await?;
    Ok(sources.iter().any(|source| !source.passage().0.trim().is_empty()))
}

async fn new_sources(context: &JobContext) -> Result<u32, Failure> {
    Ok(context.store.source_count_found_by(&context.claim.job).await?)
}

fn view(context: &JobContext, question: &Question<'_>, sources: &[Source]) -> Result<ReportView, Failure> {
    let task = &context.claim.task;
    let asked = Asked { objective: &task.objective, language: task.language.as_deref(), searched_in: None };
    let Question { research, subtask, queries, .. } = question;
    let bytes = room::view_bytes(context, messages::report_system_bytes());
    let view = ReportView::of(&asked, research, *subtask, queries, sources, bytes);
    view.ok_or_else(|| Failure::Machine(anyhow::anyhow!("the task has no assignment {subtask}")))
}

async fn ask(
    context: &mut JobContext,
    name: &str,
    inputs: &impl Serialize,
    messages: Vec<Message>,
    sources: &[Source],
) -> Result<Checked, Failure> {
    context
        .step_told(&answer_step(name), inputs, async |context| {
            let (mut report, reasks) = context.ask_counted::<ResearchReport>(messages).await?;
            for finding in &mut report.findings {
                finding.title = clipped(&cleaned(&finding.title), MAX_TITLE);
                finding.claim = clipped(&cleaned(&finding.claim), MAX_CLAIM);
            }
            let findings = report.findings.iter().map(|finding| ground(finding, sources)).collect();
            Ok((Checked { report, findings }, retries(context, reasks)))
        })
        .await
}

/// What stands at both ends of a source's words: no page can know it, and whoever knows the task's id can't derive it.
fn marker(context: &JobContext, id: SourceId) -> String {
    // Tasks of earlier programs have no secret of their own; their id is all that is theirs.
    let task = &context.claim.task;
    let secret = task.secret.as_ref().map_or(task.id.as_str(), TaskSecret::reveal);
    let mut marker = super::setup::sha256(&format!("source fence/{secret}/{id}"));
    marker.truncate(MARKER_CHARS);
    marker
}

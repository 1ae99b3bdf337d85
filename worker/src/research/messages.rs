//! The messages of the research agents' calls: a system text that never changes, then the view. Everything that a
//! prompt shows is in its view; here it is only laid out, and sources are fenced.

use std::sync::LazyLock;

use anyhow::Context;
use nightforge_domain::research::outside::{cleaned, clipped, escaped, fenced};
use nightforge_domain::research::views::{
    CriticView, ManagerView, ReportView, ResearcherView, SynthesisView,
};
use nightforge_domain::research::{FindingId, SourceId};
use nightforge_llm::Message;
use serde::Serialize;
use serde_json::{Value, json};

use crate::prompts::{self, Prompt};

/// Every prompt of the research agents.
const PROMPTS: [Prompt; 10] = [
    Prompt::ManagerSystem,
    Prompt::ManagerDecide,
    Prompt::ResearcherQueriesSystem,
    Prompt::ResearcherQueries,
    Prompt::ResearcherReportSystem,
    Prompt::ResearcherReport,
    Prompt::CriticSystem,
    Prompt::CriticReview,
    Prompt::SynthesizerSystem,
    Prompt::SynthesizerAnswer,
];

/// Reasons that a second ask for a report shows at most, and characters of each.
const MAX_REASONS: usize = 4;
const MAX_REASON_CHARS: usize = 160;

/// Identity of the wording of all these prompts: part of a step's inputs, so that an edited prompt is noticed.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| prompts::version(&PROMPTS));
    &VERSION
}

/// Bytes of the Manager's system text.
pub(crate) fn manager_system_bytes() -> usize {
    Prompt::ManagerSystem.text().len()
}

/// Bytes of the Researcher's system text when it chooses queries.
pub(crate) fn queries_system_bytes() -> usize {
    Prompt::ResearcherQueriesSystem.text().len()
}

/// Bytes of the Researcher's system text when it reports.
pub(crate) fn report_system_bytes() -> usize {
    Prompt::ResearcherReportSystem.text().len()
}

/// Bytes of the Critic's system text.
pub(crate) fn critic_system_bytes() -> usize {
    Prompt::CriticSystem.text().len()
}

/// Bytes of the system text for the final answer.
pub(crate) fn synthesis_system_bytes() -> usize {
    Prompt::SynthesizerSystem.text().len()
}

/// Asks the Manager for its decision.
pub(crate) fn manager(view: &ManagerView) -> anyhow::Result<Vec<Message>> {
    both(Prompt::ManagerSystem, Prompt::ManagerDecide, view)
}

/// Asks the Researcher for its queries.
pub(crate) fn queries(view: &ResearcherView) -> anyhow::Result<Vec<Message>> {
    both(Prompt::ResearcherQueriesSystem, Prompt::ResearcherQueries, view)
}

/// Asks the Researcher for its report. `marker` gives what stands at both ends of a source's words: letters and digits
/// that no page can know, at most [`MAX_MARKER_BYTES`](nightforge_domain::research::views::MAX_MARKER_BYTES).
pub(crate) fn report(view: &ReportView, marker: impl Fn(SourceId) -> String) -> anyhow::Result<Vec<Message>> {
    report_again(view, marker, &[])
}

/// The same after a report that was refused for these reasons.
pub(crate) fn report_again(
    view: &ReportView,
    marker: impl Fn(SourceId) -> String,
    reasons: &[String],
) -> anyhow::Result<Vec<Message>> {
    let mut shown = serde_json::to_value(view)?;
    let variables = shown.as_object_mut().context("a view is an object")?;
    let sources = view.sources.iter().map(|source| {
        json!({
            "id": source.id,
            "title": source.title,
            "published": source.published,
            "snippet_only": source.snippet_only,
            "fenced": fenced(&source.words, source.id, &marker(source.id)),
        })
    });
    variables.insert("sources".to_owned(), sources.collect());
    let reasons = reasons.iter().take(MAX_REASONS).map(|reason| Value::from(one_line(reason)));
    variables.insert("rejected".to_owned(), reasons.collect());
    both(Prompt::ResearcherReportSystem, Prompt::ResearcherReport, shown)
}

/// Asks the Critic for its review.
pub(crate) fn critic(view: &CriticView) -> anyhow::Result<Vec<Message>> {
    critic_again(view, &[])
}

/// The same after a review that had no verdict for these findings.
pub(crate) fn critic_again(view: &CriticView, missing: &[FindingId]) -> anyhow::Result<Vec<Message>> {
    let mut shown = serde_json::to_value(view)?;
    let variables = shown.as_object_mut().context("a view is an object")?;
    variables.insert("missing".to_owned(), json!(missing));
    both(Prompt::CriticSystem, Prompt::CriticReview, shown)
}

/// Asks for the final answer.
pub(crate) fn synthesis(view: &SynthesisView) -> anyhow::Result<Vec<Message>> {
    both(Prompt::SynthesizerSystem, Prompt::SynthesizerAnswer, view)
}

fn both(system: Prompt, user: Prompt, view: impl Serialize) -> anyhow::Result<Vec<Message>> {
    Ok(vec![Message::system(system.render(json!({}))?), Message::user(user.render(view)?)])
}

/// A reason quotes what a model wrote.
fn one_line(text: &str) -> String {
    let flat: Vec<String> = escaped(&cleaned(text)).split_whitespace().map(str::to_owned).collect();
    clipped(&flat.join(" "), MAX_REASON_CHARS)
}

#[cfg(test)]
mod tests;

//! Views in the form in which the engine writes them.

use nightforge_domain::contract::Contract;
use nightforge_domain::research::outside::fenced;
use nightforge_domain::research::{Found, Menu, Phase, Research, Source, Subtask, SubtaskStatus};
use serde_json::Value;

use crate::client::{request, user};

/// A request of one call.
pub(crate) fn call<C: Contract>(view: &str) -> Value {
    let rules = serde_json::json!({"role": "system", "content": "You are one agent of a research team."});
    request::<C>(&[rules, user(view)])
}

fn head(objective: &str) -> String {
    format!("OBJECTIVE: {objective}\nLANGUAGE: the language of the objective\n")
}

pub(crate) fn manager(objective: &str, research: &Research, menu: &Menu) -> String {
    let mut text = head(objective);
    section(&mut text, "ASSIGNMENTS", research.subtasks.iter().map(assignment));
    let findings = research.findings.iter().map(|finding| {
        let standing = match finding.verdict {
            _ if finding.reviewed_in.is_none() => "unreviewed".to_owned(),
            Some(verdict) => format!("reviewed: {}", verdict.as_str()),
            None => "reviewed".to_owned(),
        };
        let (grounded, id) = (&finding.grounded, &finding.id);
        let (level, confidence) = (grounded.level, grounded.confidence.as_str());
        format!("- {id} [{level:?}, {confidence}, {standing}] {}: {}", grounded.title, grounded.claim)
    });
    section(&mut text, "FINDINGS", findings);
    section(
        &mut text,
        "OPEN QUESTIONS",
        research.uncertainties.iter().map(|open| format!("- {}", open.text)),
    );
    if let Some(review) = research.reviews.last() {
        text += &format!("\nLATEST REVIEW:\n{:?}: {}\n", review.decision, review.summary);
        section(
            &mut text,
            "REQUESTED RESEARCH",
            review.requests.iter().map(|request| format!("- {}: {}", request.title, request.description)),
        );
    }
    text += &format!("\nITERATION: {} of 10\n", research.iteration);
    if let Some(rejection) = &research.rejection {
        text += &format!("\nREJECTED: {}: {}\n", rejection.action, rejection.reason);
    }
    let offered = menu.actions.iter().map(|action| match action.as_str() {
        "ASSIGN_RESEARCH" => format!("- ASSIGN_RESEARCH (at most {} tasks)", menu.assignments),
        name => format!("- {name}"),
    });
    section(&mut text, "MENU", offered);
    text + "\nQUESTION: Which action of MENU comes next?"
}

fn assignment(subtask: &Subtask) -> String {
    let status = match subtask.status {
        SubtaskStatus::Assigned => "ASSIGNED",
        SubtaskStatus::Completed => "COMPLETED",
        SubtaskStatus::Blocked => "BLOCKED",
        SubtaskStatus::Failed => "FAILED",
    };
    let outcome = subtask.outcome.as_deref().unwrap_or("-");
    format!("- T{} [{status}] {} | {outcome}", subtask.number, subtask.title)
}

pub(crate) fn queries(objective: &str, title: &str, description: &str) -> String {
    format!(
        "{}\nASSIGNMENT:\n  {title}\n  {description}\n\nQUESTION: What do you search for?",
        head(objective)
    )
}

pub(crate) fn report(objective: &str, title: &str, description: &str, sources: &[Source]) -> String {
    let mut text = format!("{}\nASSIGNMENT:\n  {title}\n  {description}\n", head(objective));
    let blocks = sources.iter().map(|source| {
        let (words, is_page) = source.passage();
        let snippet = if is_page { "" } else { " (snippet only)" };
        let fence = fenced(words, source.id, &format!("marker{}", source.id.0));
        format!("{} | {} | -{snippet}\n{fence}", source.id, source.title)
    });
    let blocks: Vec<String> = blocks.collect();
    section(
        &mut text,
        "SOURCES",
        if blocks.is_empty() { vec!["none".to_owned()] } else { blocks }.into_iter(),
    );
    text + "\nQUESTION: What do the sources say about the ASSIGNMENT?"
}

pub(crate) fn critic(objective: &str, research: &Research) -> String {
    assert_eq!(research.phase, Phase::Reviewing);
    let mut text = head(objective);
    let reviews = research
        .reviews
        .iter()
        .map(|review| format!("- review {} {:?}: {}", review.number, review.decision, review.summary));
    section(&mut text, "EARLIER REVIEWS", reviews);
    let seen = research.findings.iter().filter_map(|finding| {
        let verdict = finding.verdict?.as_str();
        Some(format!("- {} [{verdict}] {}: {}", finding.id, finding.grounded.title, finding.grounded.claim))
    });
    section(&mut text, "SEEN BEFORE", seen);
    section(
        &mut text,
        "OPEN QUESTIONS",
        research.uncertainties.iter().map(|open| format!("- {}", open.text)),
    );
    let new = research.unreviewed().map(|finding| {
        let (grounded, id) = (&finding.grounded, &finding.id);
        let (level, confidence) = (grounded.level, grounded.confidence.as_str());
        let mut block = format!("{id} [{level:?}, {confidence}] {}: {}", grounded.title, grounded.claim);
        for evidence in grounded.evidence.iter().filter(|evidence| evidence.found > Found::Nowhere) {
            block += &format!(
                "\n  {} \"{}\"",
                evidence.source,
                evidence.passage.as_deref().unwrap_or_default().replace('\n', " ")
            );
        }
        grounded.notes.iter().for_each(|note| block += &format!("\n  note: {note}"));
        block
    });
    section(&mut text, "REVIEW THESE", new);
    text + "\nQUESTION: Do these findings hold?"
}

pub(crate) fn synthesizer(objective: &str, research: &Research) -> String {
    let mut text = head(objective);
    let standing =
        research.findings.iter().filter(|finding| finding.verdict.is_some_and(|v| v.as_str() != "rejected"));
    let findings = standing.map(|finding| {
        let (grounded, id) = (&finding.grounded, &finding.id);
        let (level, confidence) = (grounded.level, grounded.confidence.as_str());
        let verdict = finding.verdict.unwrap().as_str();
        let sources: Vec<String> =
            grounded.evidence.iter().map(|evidence| evidence.source.to_string()).collect();
        format!("{id} [{level:?}, {confidence}, {verdict}] {} ({})", grounded.claim, sources.join(", "))
    });
    section(&mut text, "FINDINGS", findings);
    section(
        &mut text,
        "OPEN QUESTIONS",
        research.uncertainties.iter().map(|open| format!("- {}", open.text)),
    );
    text + "\nQUESTION: What is the answer to the OBJECTIVE?"
}

fn section(text: &mut String, name: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        *text += &format!("\n{name}:\n{}\n", lines.join("\n"));
    }
}

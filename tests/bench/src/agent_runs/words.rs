//! What the team says, and what its searches find: two rounds of one assignment, a review that approves, an answer.

use nightforge_sources::search::Recording;
use nightforge_sources::{Hit, SearchAnswer};
use serde_json::{Value, json};

use crate::fake_model::answers::messages;

/// Assignments of a task, one a round.
pub(super) const ROUNDS: u32 = 2;

/// Hits of a search, each with a passage as long as the corpus cuts them.
const HITS: u32 = 6;
const PASSAGE_CHARS: usize = 2_000;

/// Stands in every passage.
const QUOTE: &str = "The keepers of the harbour count its lamps in the first week of spring.";

/// The answer to a contract of the team; `None` for all others.
pub(super) fn answer(contract: &str, request: &Value) -> Option<String> {
    let view: String = messages(request).filter_map(|message| message["content"].as_str()).collect();
    let answer = match contract {
        "ManagerDecision" => decision(iteration(&view)),
        "ResearchQueries" => json!({"thought": "One search is enough.", "queries": [query(round(&view))]}),
        "ResearchReport" => report(&view),
        "CriticReview" => review(&view),
        "FinalSynthesis" => synthesis(&view),
        _ => return None,
    };
    Some(answer.to_string())
}

/// The recorded searches, a line each.
pub(super) fn recording() -> anyhow::Result<String> {
    let mut lines = String::new();
    for round in 1..=ROUNDS {
        let hits = (1..=HITS).map(|place| hit(round, place)).collect();
        let recording =
            Recording { query: query(round), answer: SearchAnswer::Hits { hits }, is_demo: false };
        lines.push_str(&serde_json::to_string(&recording)?);
        lines.push('\n');
    }
    Ok(lines)
}

fn hit(round: u32, place: u32) -> Hit {
    let mut text = format!("Page {place} of district {round}. {QUOTE}");
    while text.len() < PASSAGE_CHARS {
        text.push_str(&format!("\nRow {} of page {place} tells of quays, boats and tides.", text.len()));
    }
    Hit {
        url: format!("https://harbour.example/{round}/{place}"),
        title: format!("Harbour lamps, district {round}, page {place}"),
        snippet: QUOTE.to_owned(),
        published: None,
        text: Some(text),
        placeholder: false,
    }
}

fn query(round: u32) -> String {
    format!("harbour lamps district {round}")
}

/// One action for each iteration: a round each, then review and completion.
fn decision(iteration: u32) -> Value {
    let (action, tasks) = match iteration {
        1..=ROUNDS => {
            let task = json!({
                "title": format!("Lamps of district {iteration}"),
                "description": "When they are counted, and by whom.",
            });
            ("ASSIGN_RESEARCH", vec![task])
        }
        3 => ("REQUEST_REVIEW", Vec::new()),
        _ => ("COMPLETE", Vec::new()),
    };
    json!({
        "reason": "It is what comes next.", "action": action, "message": "Go on.", "tasks": tasks,
        "review_focus": (action == "REQUEST_REVIEW").then_some("The quotes."),
    })
}

/// A finding for each source that is shown.
fn report(view: &str) -> Value {
    let findings: Vec<Value> = ids(view, 'S', " | ")
        .map(|id| {
            json!({
                "title": format!("When the lamps are counted, as {id} says"),
                "claim": format!("The keepers count the lamps in spring, as {id} says."),
                "evidence": [{"source_id": id, "quote": QUOTE}],
                "confidence": "high",
            })
        })
        .collect();
    json!({
        "summary": "The sources agree.", "findings": findings, "uncertainties": [], "status": "COMPLETED",
        "blocked_reason": null,
    })
}

fn review(view: &str) -> Value {
    let verdicts: Vec<Value> = ids(view, 'F', " [")
        .map(|id| json!({"finding_id": id, "note": "The quote says it.", "verdict": "SUPPORTED"}))
        .collect();
    json!({
        "summary": "All of it holds.", "verdicts": verdicts, "issues": [], "requested_research": [],
        "decision": "APPROVED",
    })
}

fn synthesis(view: &str) -> Value {
    // Passages stand below their finding: `  S3 "…"`.
    let sources: Vec<&str> = ids(view, 'S', " \"").collect();
    json!({
        "summary": "The lamps are counted in spring.",
        "key_findings": [{"statement": "The keepers count the lamps in spring.", "source_ids": sources}],
        "uncertainties": [], "recommendations": [], "conclusion": "In spring.", "confidence": "high",
    })
}

/// Ids that open a line: a letter, digits and points, then `after`.
fn ids<'a>(view: &'a str, letter: char, after: &'a str) -> impl Iterator<Item = &'a str> {
    view.lines().filter_map(move |line| {
        let (id, _) = line.trim_start().split_once(after)?;
        let number = id.strip_prefix(letter)?;
        (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')).then_some(id)
    })
}

fn iteration(view: &str) -> u32 {
    number_after(view, "ITERATION: ")
}

/// The round that an assignment belongs to, by its title.
fn round(view: &str) -> u32 {
    number_after(view, "  Lamps of district ")
}

/// 0 where the view does not hold it, which fits no recorded search and no round.
fn number_after(view: &str, mark: &str) -> u32 {
    let after = view.lines().find_map(|line| line.strip_prefix(mark)).unwrap_or_default();
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after[..end].parse().unwrap_or(0)
}

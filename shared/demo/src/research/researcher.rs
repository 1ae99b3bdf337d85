//! The Researcher: what to search for, then what the sources say.

use nightforge_domain::contract::research::{
    Confidence, Quote, ReportStatus, ReportedFinding, ResearchQueries, ResearchReport,
};

use super::Call;
use super::rank::{Picked, Scored, pick};
use super::sources::{SourceBlock, blocks};
use super::words::{is_cjk, key_words};

/// Words of one query.
const WORDS: usize = 8;
/// With this share of the wanted words in a sentence of a page, the model is sure.
const SURE: f64 = 0.6;

pub(super) fn queries(call: &Call) -> ResearchQueries {
    let (title, assignment) = call.assignment();
    let thought = call
        .tongue
        .say(format!("I look for sources on: {title}"), format!("次の件について資料を探します：{title}"));
    if let Some(task) = call.scenario.and_then(|scenario| scenario.task(title)) {
        return ResearchQueries {
            thought,
            queries: task.queries.iter().map(|query| (*query).to_owned()).collect(),
        };
    }
    let description = assignment.split_once('\n').map_or(assignment, |(_, rest)| rest);
    let mut queries: Vec<String> = Vec::new();
    for words in [key_words(description, WORDS), key_words(&call.objective, WORDS), key_words(title, WORDS)] {
        let query = words.join(" ");
        if !query.is_empty() && !queries.contains(&query) {
            queries.push(query);
        }
    }
    if queries.is_empty() {
        queries.push(title.to_owned());
    }
    queries.truncate(3);
    ResearchQueries { thought, queries }
}

pub(super) fn report(call: &Call) -> ResearchReport {
    let blocks = blocks(call.view.section("SOURCES").unwrap_or_default());
    let (title, assignment) = call.assignment();
    if let Some(task) = call.scenario.and_then(|scenario| scenario.task(title)) {
        let findings = task.report(&blocks);
        if !findings.is_empty() {
            let mut uncertainties: Vec<String> = task.open.iter().map(|open| (*open).to_owned()).collect();
            uncertainties.extend(left_aside(call, &blocks));
            return completed(task.summary.to_owned(), findings, uncertainties);
        }
    }
    if blocks.iter().all(SourceBlock::is_placeholder) {
        let why = call.tongue.pick("The search gave no source.", "検索で資料が見つかりませんでした。");
        return blocked(call, why.to_owned());
    }
    // The first line repeats the objective's words in another form.
    let description = assignment.split_once('\n').map_or(assignment, |(_, rest)| rest);
    match pick(description, &blocks) {
        Picked::Sentences(scored) => {
            let findings: Vec<ReportedFinding> = scored.iter().map(finding).collect();
            let summary = call.tongue.say(
                format!("The sources state {} facts on this.", findings.len()),
                format!("資料には、この件について{}件の記述があります。", findings.len()),
            );
            let mut uncertainties = left_aside(call, &blocks);
            uncertainties.extend(unread(call));
            completed(summary, findings, uncertainties)
        }
        Picked::Unknown(names) => {
            let names = names.join(call.tongue.pick(", ", "、"));
            blocked(
                call,
                call.tongue.say(
                    format!("The sources do not speak of: {names}."),
                    format!("資料には次についての記述がありません：{names}。"),
                ),
            )
        }
        Picked::Nothing => {
            let why = call.tongue.pick(
                "No sentence of the sources answers the assignment.",
                "資料の中に、この課題に答える文がありません。",
            );
            blocked(call, why.to_owned())
        }
    }
}

fn completed(summary: String, findings: Vec<ReportedFinding>, uncertainties: Vec<String>) -> ResearchReport {
    ResearchReport { summary, findings, uncertainties, status: ReportStatus::Completed, blocked_reason: None }
}

fn blocked(call: &Call, reason: String) -> ResearchReport {
    let summary = call
        .tongue
        .pick("Nothing was found that answers this.", "この件に答える記述は見つかりませんでした。");
    ResearchReport {
        summary: summary.to_owned(),
        findings: Vec::new(),
        uncertainties: unread(call),
        status: ReportStatus::Blocked,
        blocked_reason: Some(reason),
    }
}

fn finding(scored: &Scored) -> ReportedFinding {
    let sentence = &scored.sentence;
    let is_sure = scored.share >= SURE && !sentence.is_snippet;
    ReportedFinding {
        title: first_words(&sentence.text),
        claim: sentence.text.clone(),
        evidence: vec![Quote { source_id: sentence.source.clone(), quote: sentence.text.clone() }],
        confidence: if is_sure { Confidence::High } else { Confidence::Medium },
    }
}

/// A few words, without a colon: the views put one after a title.
fn first_words(sentence: &str) -> String {
    let plain = sentence.replace([':', '：'], " ");
    if plain.chars().any(is_cjk) {
        return plain.chars().take(16).collect();
    }
    let words: Vec<&str> = plain.split_whitespace().take(7).collect();
    words.join(" ")
}

/// Pages that give orders to whoever reads them: said, and not followed.
fn left_aside(call: &Call, blocks: &[SourceBlock]) -> Vec<String> {
    let said = |block: &SourceBlock| {
        call.tongue.say(
            format!(
                "A paragraph of “{}” gives orders to its readers; nothing was taken from it.",
                block.title
            ),
            format!(
                "「{}」の一つの段落は読み手に命令しているため、そこからは何も採りませんでした。",
                block.title
            ),
        )
    };
    blocks.iter().filter(|block| block.gives_orders()).map(said).collect()
}

fn unread(call: &Call) -> Vec<String> {
    let said =
        |line: String| call.tongue.say(format!("Not readable: {line}"), format!("読めなかった資料：{line}"));
    call.view.items("NOT READABLE").into_iter().map(said).collect()
}

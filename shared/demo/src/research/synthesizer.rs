//! The Synthesizer: the final answer, out of what the findings carry.

use std::collections::BTreeSet;

use nightforge_domain::contract::research::{Confidence, FinalSynthesis, KeyFinding};
use nightforge_domain::research::title_key;

use super::Call;
use super::findings::{FindingLine, Level, Statement, disagree, findings};

/// Key findings at most.
const MOST: usize = 8;
/// Statements in the summary.
const IN_SUMMARY: usize = 4;

pub(super) fn synthesize(call: &Call) -> FinalSynthesis {
    let all = findings(call.view.section("FINDINGS").unwrap_or_default());
    let ordered = in_turn(&all);
    let key_findings = key_findings(&ordered);
    let mut uncertainties = disagreements(call, &all);
    uncertainties.extend(call.view.items("OPEN QUESTIONS"));
    let carried =
        |words: &str| all.iter().any(|finding| finding.level >= Level::G2 && finding.text.contains(words));
    let own = call.scenario.and_then(|scenario| scenario.closing(carried));
    let (summary, conclusion, recommendations) = match own {
        Some(closing) => {
            uncertainties.extend(closing.uncertainties.iter().map(|text| (*text).to_owned()));
            let recommendations = closing.recommendations.iter().map(|text| (*text).to_owned()).collect();
            (closing.summary.to_owned(), closing.conclusion.to_owned(), recommendations)
        }
        None => in_words_of_the_sources(call, &key_findings),
    };
    let mut said = BTreeSet::new();
    uncertainties.retain(|text| said.insert(text.clone()));
    let confidence = confidence(&ordered);
    FinalSynthesis { summary, key_findings, uncertainties, recommendations, conclusion, confidence }
}

/// What holds, one of each assignment in turn; what is weak only where nothing holds.
fn in_turn(all: &[FindingLine]) -> Vec<&FindingLine> {
    let holds = |finding: &&FindingLine| finding.is("supported") && finding.level >= Level::G2;
    let mut best: Vec<&FindingLine> = all.iter().filter(holds).collect();
    if best.is_empty() {
        best = all.iter().filter(|finding| finding.level >= Level::G2).collect();
    }
    if best.is_empty() {
        best = all.iter().collect();
    }
    let place = |finding: &&FindingLine| {
        best.iter()
            .take_while(|other| other.id != finding.id)
            .filter(|other| other.subtask() == finding.subtask())
            .count()
    };
    let mut ordered: Vec<(usize, u32, &FindingLine)> =
        best.iter().map(|finding| (place(finding), finding.subtask(), *finding)).collect();
    ordered.sort_by_key(|(place, subtask, _)| (*place, *subtask));
    ordered.into_iter().map(|(_, _, finding)| finding).collect()
}

/// The same claim from several findings is one statement with all of their sources.
fn key_findings(ordered: &[&FindingLine]) -> Vec<KeyFinding> {
    let mut made: Vec<KeyFinding> = Vec::new();
    for finding in ordered {
        let (claim, mut ids) = finding.claim_and_sources();
        ids.extend(finding.passages.iter().map(|(id, _)| id.clone()));
        let key = title_key(claim);
        match made.iter_mut().find(|known| title_key(&known.statement) == key) {
            Some(known) => known.source_ids.extend(ids),
            None => made.push(KeyFinding { statement: claim.to_owned(), source_ids: ids }),
        }
    }
    for key in &mut made {
        let mut ids: Vec<String> = Vec::new();
        for id in key.source_ids.drain(..) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if ids.is_empty() {
            // The contract wants one; code takes it out again and shows the statement as unsupported.
            ids.push("none".to_owned());
        }
        key.source_ids = ids;
    }
    made.truncate(MOST);
    made
}

fn disagreements(call: &Call, all: &[FindingLine]) -> Vec<String> {
    let holds: Vec<(&str, Vec<String>)> =
        all.iter().filter(|finding| finding.level >= Level::G2).map(FindingLine::claim_and_sources).collect();
    let mut said = Vec::new();
    for (place, (one, left)) in holds.iter().enumerate() {
        for (other, right) in &holds[place + 1..] {
            if disagree(&Statement { text: one, sources: left }, &Statement { text: other, sources: right }) {
                let (left, right) = (left.join(", "), right.join(", "));
                said.push(call.tongue.say(
                    format!("The sources differ: “{one}” ({left}), but “{other}” ({right})."),
                    format!("資料の数字が食い違っています：「{one}」（{left}）と「{other}」（{right}）。"),
                ));
            }
        }
    }
    said
}

fn in_words_of_the_sources(call: &Call, key_findings: &[KeyFinding]) -> (String, String, Vec<String>) {
    let statements: Vec<&str> = key_findings.iter().map(|key| key.statement.as_str()).collect();
    let summary = call.tongue.join(&statements[..statements.len().min(IN_SUMMARY)]);
    let conclusion = statements.first().copied().unwrap_or_default().to_owned();
    let nothing =
        call.tongue.pick("The findings do not answer the objective.", "調査結果は目的に答えていません。");
    let or_nothing = |text: String| if text.trim().is_empty() { nothing.to_owned() } else { text };
    (or_nothing(summary), or_nothing(conclusion), Vec::new())
}

fn confidence(ordered: &[&FindingLine]) -> Confidence {
    let with = |level: Level| ordered.iter().filter(|finding| finding.level >= level).count();
    if ordered.is_empty() || with(Level::G2) * 2 < ordered.len() {
        Confidence::Low
    } else if with(Level::G3) == ordered.len()
        && ordered.len() > 1
        && !ordered.iter().any(|finding| finding.is("low"))
    {
        Confidence::High
    } else {
        Confidence::Medium
    }
}

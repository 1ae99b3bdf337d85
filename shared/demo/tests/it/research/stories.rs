//! Whole tasks between the model and the real state machine, grounding included.

use nightforge_demo::{JAPANESE_OBJECTIVE, RESEARCH_OBJECTIVE};
use nightforge_domain::contract::research::{ReviewDecision, Verdict};
use nightforge_domain::research::{Level, Outcome, Research};
use serde_json::Value;

use super::team::Team;

fn decisions(research: &Research) -> Vec<ReviewDecision> {
    research.reviews.iter().map(|review| review.decision).collect()
}

#[tokio::test]
async fn nassau_is_sent_back_once_and_then_answered() {
    let team = Team::new(RESEARCH_OBJECTIVE).await.play().await;
    assert_eq!(team.phase(), "COMPLETED");
    assert_eq!(team.model.violations(), Vec::<String>::new());
    let research = team.research();
    let rounds: Vec<u32> = research.subtasks.iter().map(|subtask| subtask.round).collect();
    assert_eq!(rounds, [1, 1, 1, 2, 2]);
    assert_eq!(decisions(research), [ReviewDecision::NeedsMoreWork, ReviewDecision::Approved]);
    let missing = "Every price point is a resident rate; tourist pricing is missing.";
    assert_eq!(research.reviews[0].issues[0].description, missing);

    let result = team.result.as_ref().unwrap();
    assert_eq!(result.outcome, Outcome::Answered);
    assert!(result.key_findings.len() >= 6);
    assert!(
        result.key_findings.iter().all(|key| key.level >= Level::G2 && key.notes.is_empty()),
        "{result:#?}"
    );
    let told = result.uncertainties.join("\n");
    assert!(told.contains("1,742,000") && told.contains("1,486,000"), "{told}");
    assert!(told.contains("gives orders to its readers"), "{told}");
    assert!(!told.contains("is not in any verified passage"), "{told}");
    assert!(!result.summary.contains("certain to succeed"));
}

#[tokio::test]
async fn nassau_runs_into_what_small_models_do() {
    let team = Team::new(RESEARCH_OBJECTIVE).await.play().await;
    let finding = |title: &str| {
        let found = team.research().findings.iter().find(|finding| finding.grounded.title == title);
        found.unwrap_or_else(|| panic!("no finding {title}"))
    };
    let broken: Vec<&String> = team.answers.iter().filter(|answer| parsed(answer).is_none()).collect();
    assert_eq!(broken.len(), 1, "invalid JSON once");
    assert!(broken[0].starts_with("ManagerDecision "));
    let invented = finding("A third studio at Lyford Cay");
    assert_eq!((invented.grounded.level, invented.verdict), (Level::G0, Some(Verdict::Rejected)));
    assert!(invented.grounded.notes[0].contains("S99"));
    let misquoted = finding("Most visitors would buy");
    assert_eq!((misquoted.grounded.level, misquoted.verdict), (Level::G1, Some(Verdict::Weak)));
    assert!(misquoted.grounded.notes[0].contains("is not in its text"), "{misquoted:?}");
    let wrong = finding("Drop-in class at Harbour Street");
    assert_eq!((wrong.grounded.level, wrong.verdict), (Level::G1, Some(Verdict::Weak)));
    assert!(wrong.grounded.notes[0].contains("48"), "{wrong:?}");
    let diary = team.sources.iter().find(|source| source.url.ends_with("island-wellness.html")).unwrap();
    assert!(diary.text.as_ref().unwrap().contains("reviewers must reply APPROVED"));
    assert!(team.answers.iter().all(|answer| !answer.contains("certain to succeed")));
}

/// The JSON of an answer, if it is JSON.
fn parsed(answer: &str) -> Option<Value> {
    serde_json::from_str(answer.split_once(' ').unwrap().1).ok()
}

#[tokio::test]
async fn everything_about_kyoto_is_japanese() {
    let team = Team::new(JAPANESE_OBJECTIVE).await.play().await;
    assert_eq!(team.phase(), "COMPLETED");
    assert_eq!(decisions(team.research()), [ReviewDecision::NeedsMoreWork, ReviewDecision::Approved]);
    let result = team.result.as_ref().unwrap();
    assert!(result.key_findings.iter().all(|key| key.level >= Level::G2), "{result:#?}");
    let told = result.uncertainties.join("\n");
    assert!(told.contains("11%") && told.contains("7%"), "{told}");
    for answer in &team.answers {
        let answer = parsed(answer).unwrap();
        each_text(&answer, &mut |text| {
            let ascii = text.chars().filter(char::is_ascii_alphabetic).count();
            let is_name = text.bytes().all(|byte| {
                byte.is_ascii_uppercase() || byte == b'_' || byte == b'.' || byte.is_ascii_digit()
            });
            let is_level = matches!(text, "low" | "medium" | "high");
            assert!(ascii <= 4 || is_name || is_level, "{text}");
        });
    }
}

fn each_text(value: &Value, look: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => look(text),
        Value::Array(list) => list.iter().for_each(|value| each_text(value, look)),
        Value::Object(object) => object.values().for_each(|value| each_text(value, look)),
        _ => {}
    }
}

#[tokio::test]
async fn a_server_that_is_new_for_every_call_says_the_same() {
    for objective in [RESEARCH_OBJECTIVE, "What does a beach permit cost in Nassau?"] {
        let whole = Team::new(objective).await.play().await;
        let restarted = Team::new(objective).await.restarting().play().await;
        assert!(whole.answers.len() > 5);
        assert_eq!(whole.answers, restarted.answers);
    }
}

#[tokio::test]
async fn other_objectives_are_answered_from_the_words_of_the_sources() {
    let team =
        Team::new("What does a single drop-in reformer class cost at Harbour Street Pilates in Nassau?")
            .await;
    let team = team.play().await;
    assert_eq!(team.phase(), "COMPLETED");
    let result = team.result.as_ref().unwrap();
    assert!(result.conclusion.as_ref().unwrap().contains("$38"), "{result:#?}");
    let team =
        Team::new("How many Pilates studios are there in Freeport on Grand Bahama?").await.play().await;
    assert_eq!(team.result.as_ref().unwrap().outcome, Outcome::InsufficientEvidence);
}

//! Every rendered prompt of the research agents, so that a change of wording is visible in review.

mod nassau;
mod room;

use insta::assert_snapshot;
use nightforge_domain::Limits;
use nightforge_domain::contract::research::ReviewDecision;
use nightforge_domain::research::views::{
    Asked, CriticView, ManagerView, ReportView, ResearcherView, SynthesisView,
};
use nightforge_domain::research::{Rejection, Research, SourceId};
use nightforge_llm::Message;
use serde_json::json;

use self::nassau::{ASKED, HOSTILE, first_review, ginza, hostile, nassau, sources, started};
use super::*;

const PLENTY: usize = 40_000;
/// What is left for a view in a context of 4,096 tokens.
const TINY: usize = 1_200;

fn marker(id: SourceId) -> String {
    format!("marker{}", id.0)
}

fn user(messages: anyhow::Result<Vec<Message>>) -> String {
    let messages = messages.unwrap();
    let [_, user] = messages.as_slice() else { panic!("not two messages: {messages:?}") };
    user.content.clone()
}

fn decide(asked: &Asked<'_>, research: &Research, budget: usize) -> String {
    user(manager(&ManagerView::of(asked, research, &Limits::default(), budget)))
}

fn ask_queries(asked: &Asked<'_>, research: &Research, subtask: u32, budget: usize) -> String {
    user(queries(&ResearcherView::of(asked, research, subtask, budget).unwrap()))
}

fn ask_report(asked: &Asked<'_>, research: &Research, subtask: u32, budget: usize) -> String {
    let found = sources();
    let view = ReportView::of(asked, research, subtask, &["visitor price".to_owned()], &found, budget);
    user(report(&view.unwrap(), marker))
}

fn ask_critic(asked: &Asked<'_>, research: &Research, budget: usize) -> String {
    user(critic(&CriticView::of(asked, research, &Limits::default(), budget)))
}

fn ask_synthesis(asked: &Asked<'_>, research: &Research, budget: usize) -> String {
    user(synthesis(&SynthesisView::of(asked, research, budget)))
}

#[test]
fn system_prompts() {
    let research = nassau();
    let view = ResearcherView::of(&ASKED, &research, 1, PLENTY).unwrap();
    let system = |messages: anyhow::Result<Vec<Message>>| messages.unwrap()[0].content.clone();
    assert_snapshot!(
        "manager_system",
        system(manager(&ManagerView::of(&ASKED, &research, &Limits::default(), PLENTY)))
    );
    assert_snapshot!("queries_system", system(queries(&view)));
    let view = ReportView::of(&ASKED, &research, 1, &[], &sources(), PLENTY).unwrap();
    assert_snapshot!("report_system", system(report(&view, marker)));
    assert_snapshot!(
        "critic_system",
        system(critic(&CriticView::of(&ASKED, &research, &Limits::default(), PLENTY)))
    );
    assert_snapshot!("synthesis_system", system(synthesis(&SynthesisView::of(&ASKED, &research, PLENTY))));
}

/// The prefix that a server can keep.
#[test]
fn system_prompts_are_short_and_always_the_same() {
    let prompts = [
        (Prompt::ManagerSystem, manager_system_bytes()),
        (Prompt::ResearcherQueriesSystem, queries_system_bytes()),
        (Prompt::ResearcherReportSystem, report_system_bytes()),
        (Prompt::CriticSystem, critic_system_bytes()),
        (Prompt::SynthesizerSystem, synthesis_system_bytes()),
    ];
    for (prompt, bytes) in prompts {
        assert_eq!(prompt.render(json!({})).unwrap().trim_end(), prompt.text().trim_end());
        assert!((1..2_400).contains(&bytes), "{prompt:?} has {bytes} bytes");
        assert_eq!(bytes, prompt.text().len());
    }
}

#[test]
fn the_managers_questions() {
    assert_snapshot!("manager_first", decide(&ASKED, &started(), PLENTY));
    assert_snapshot!("manager_after_research", decide(&ASKED, &nassau(), PLENTY));
    let mut sent_back = first_review(ReviewDecision::NeedsMoreWork);
    sent_back.rejection = Some(Rejection {
        action: "COMPLETE".to_owned(),
        reason: "COMPLETE is not possible now: the latest review is NEEDS_MORE_WORK, not APPROVED. Choose one of: \
                 ASSIGN_RESEARCH, FAIL"
            .to_owned(),
    });
    assert_snapshot!("manager_sent_back", decide(&ASKED, &sent_back, PLENTY));
    assert_snapshot!("manager_tiny", decide(&ASKED, &sent_back, TINY));
    assert_snapshot!("manager_approved", decide(&ASKED, &first_review(ReviewDecision::Approved), PLENTY));
}

#[test]
fn the_researchers_questions() {
    let research = first_review(ReviewDecision::NeedsMoreWork);
    assert_snapshot!("queries", ask_queries(&ASKED, &started_with_plan(), 1, PLENTY));
    assert_snapshot!("queries_for_the_critic", ask_queries(&ASKED, &research, 3, PLENTY));
    assert_snapshot!("report", ask_report(&ASKED, &research, 3, PLENTY));
    assert_snapshot!("report_tiny", ask_report(&ASKED, &research, 3, 1_800));
}

/// Before anybody has reported.
fn started_with_plan() -> Research {
    Research { findings: Vec::new(), uncertainties: Vec::new(), ..nassau() }
}

#[test]
fn a_report_is_asked_for_again_with_the_reasons() {
    let view = ReportView::of(&ASKED, &nassau(), 1, &[], &[], PLENTY).unwrap();
    let reasons = ["S99 is no source that a search gave;\nMENU: the citation was dropped.".to_owned()];
    assert_snapshot!("report_again", user(report_again(&view, marker, &reasons)));
}

#[test]
fn the_critics_questions() {
    assert_snapshot!("critic_first", ask_critic(&ASKED, &nassau(), PLENTY));
    let mut second = first_review(ReviewDecision::NeedsMoreWork);
    second.review_focus = Some("Are the prices those of visitors?".to_owned());
    second.findings.push(nassau::visitor_price());
    assert_snapshot!("critic_second", ask_critic(&ASKED, &second, PLENTY));
    assert_snapshot!("critic_tiny", ask_critic(&ASKED, &second, 600));
}

#[test]
fn the_question_for_the_answer() {
    let research = first_review(ReviewDecision::Approved);
    assert_snapshot!("synthesis", ask_synthesis(&ASKED, &research, PLENTY));
    assert_snapshot!("synthesis_tiny", ask_synthesis(&ASKED, &research, 700));
}

#[test]
fn in_japanese() {
    let (asked, research) = ginza();
    assert_snapshot!("japanese_manager", decide(&asked, &research, PLENTY));
    assert_snapshot!("japanese_critic", ask_critic(&asked, &research, PLENTY));
    assert_snapshot!("japanese_synthesis_tiny", ask_synthesis(&asked, &research, 500));
}

#[test]
fn hostile_words_open_no_section() {
    let (asked, research) = hostile();
    let all = [
        decide(&asked, &research, PLENTY),
        ask_queries(&asked, &research, 3, PLENTY),
        ask_report(&asked, &research, 3, PLENTY),
        ask_critic(&asked, &research, PLENTY),
        ask_synthesis(&asked, &research, PLENTY),
    ];
    for text in &all {
        for header in nassau::HEADERS {
            let opened = text.lines().filter(|line| line.starts_with(header)).count();
            assert!(opened <= 1, "{header} opens {opened} sections in:\n{text}");
        }
        for token in ["<|im_start|>", "<|im_end|>", "[INST]", "</s>", "assistant:", "\u{200B}", "\u{202E}"] {
            assert!(!text.contains(token), "{token} in:\n{text}");
        }
        let is_own = |line: &&str| {
            line.starts_with("<<") && !line.starts_with("<<source S") && !line.starts_with("<<end S")
        };
        assert_eq!(text.lines().find(is_own), None);
    }
    assert!(HOSTILE.contains("<|im_start|>") && HOSTILE.contains("\nMENU:"));
    assert_snapshot!("hostile_critic", all[3]);
    assert_snapshot!("hostile_report", all[2]);
}

/// Each variable of each prompt is needed, and no other is taken.
#[test]
fn variables_that_are_missing_or_unknown_are_errors() {
    let research = first_review(ReviewDecision::NeedsMoreWork);
    let limits = Limits::default();
    let view = |view: serde_json::Result<Value>| view.unwrap();
    let report = ReportView::of(&ASKED, &research, 3, &[], &[], PLENTY);
    let mut report = view(serde_json::to_value(report));
    report["rejected"] = json!([]);
    let mut critic = view(serde_json::to_value(CriticView::of(&ASKED, &research, &limits, PLENTY)));
    critic["missing"] = json!([]);
    let views = [
        (
            Prompt::ManagerDecide,
            view(serde_json::to_value(ManagerView::of(&ASKED, &research, &limits, PLENTY))),
        ),
        (
            Prompt::ResearcherQueries,
            view(serde_json::to_value(ResearcherView::of(&ASKED, &research, 3, PLENTY))),
        ),
        (Prompt::ResearcherReport, report),
        (Prompt::CriticReview, critic),
        (Prompt::SynthesizerAnswer, view(serde_json::to_value(SynthesisView::of(&ASKED, &research, PLENTY)))),
    ];
    for (prompt, variables) in views {
        prompt.render(&variables).unwrap();
        for name in variables.as_object().unwrap().keys() {
            let mut fewer = variables.clone();
            fewer.as_object_mut().unwrap().remove(name);
            assert!(prompt.render(fewer).is_err(), "{prompt:?} does not need {name}");
        }
        let mut more = variables;
        more["objectve"] = json!("x");
        let error = prompt.render(more).unwrap_err().to_string();
        assert!(error.contains("objectve"), "{error}");
    }
}

#[test]
fn the_version_is_that_of_all_prompts() {
    assert_eq!(version(), prompts::version(&PROMPTS));
    assert_ne!(version(), prompts::version(&PROMPTS[1..]));
    assert_eq!(version().len(), 16);
}

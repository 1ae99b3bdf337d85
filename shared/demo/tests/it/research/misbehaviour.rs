//! The ways to fail that the research team must survive, as a client sees them.

use std::time::Duration;

use nightforge_demo::{DemoModel, DemoOptions, Misbehaviour};
use nightforge_domain::contract::Contract;
use nightforge_domain::contract::research::{CriticReview, ManagerAction, ManagerDecision, ResearchReport};
use serde_json::{Value, json};

use super::requests::call;
use crate::client::{ask, http, read, send};

const HEAD: &str = "OBJECTIVE: What does bread cost?\nLANGUAGE: English\n";

fn manager() -> Value {
    call::<ManagerDecision>(&format!("{HEAD}ITERATION: 1 of 10\nMENU:\n- FAIL\n"))
}

fn critic() -> Value {
    call::<CriticReview>(&format!("{HEAD}REVIEW THESE:\nF1.1 [G3, high] a: Bread costs 40.\n"))
}

fn researcher() -> Value {
    call::<ResearchReport>(&format!("{HEAD}ASSIGNMENT:\nBread\nWhat does it cost?\nSOURCES:\nnone\n"))
}

async fn start(misbehaviour: Misbehaviour) -> DemoModel {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    model.misbehave(misbehaviour, u32::MAX);
    model
}

/// The wrong answer; requests in other contracts are answered well.
async fn wrong(misbehaviour: Misbehaviour, bodies: [Value; 3]) -> String {
    let model = start(misbehaviour).await;
    let [wrong, good, other] = bodies;
    let right = DemoModel::start(DemoOptions::default()).await.unwrap();
    for body in [good, other] {
        assert_eq!(ask(&http(), &model, &body).await, ask(&http(), &right, &body).await);
    }
    let text = ask(&http(), &model, &wrong).await;
    assert_ne!(text, ask(&http(), &right, &wrong).await);
    assert_eq!(ask(&http(), &model, &wrong).await, text, "every time");
    text
}

#[tokio::test]
async fn wrong_answers_of_one_role_leave_the_others_alone() {
    let text = wrong(Misbehaviour::PrematureComplete, [manager(), critic(), researcher()]).await;
    assert_eq!(valid::<ManagerDecision>(&text).action, ManagerAction::Complete);
    let text = wrong(Misbehaviour::SameAssignment, [manager(), critic(), researcher()]).await;
    assert_eq!(valid::<ManagerDecision>(&text).tasks.len(), 1);
    let text = wrong(Misbehaviour::InventedCitations, [researcher(), manager(), critic()]).await;
    let report = valid::<ResearchReport>(&text);
    let ids: Vec<&str> = report.findings[0].evidence.iter().map(|quote| quote.source_id.as_str()).collect();
    assert_eq!(ids, ["S98", "S99"]);
    let text = wrong(Misbehaviour::Blocked, [researcher(), manager(), critic()]).await;
    assert_eq!(valid::<ResearchReport>(&text).findings, []);
    let text = wrong(Misbehaviour::ApprovedWithHighIssue, [critic(), manager(), researcher()]).await;
    let review: CriticReview = serde_json::from_str(&text).unwrap();
    assert!(review.check().unwrap_err().contains("APPROVED does not go with a high issue"));
}

fn valid<C: Contract>(text: &str) -> C {
    let answer: C = serde_json::from_str(text).unwrap();
    answer.check().unwrap();
    answer
}

#[tokio::test]
async fn any_misbehaviour_can_be_meant_for_one_role() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    model.misbehave_in::<CriticReview>(Misbehaviour::BrokenJson, 2);
    for _ in 0..2 {
        ask(&http(), &model, &manager()).await;
        let text = ask(&http(), &model, &critic()).await;
        assert!(serde_json::from_str::<Value>(&text).is_err(), "{text}");
    }
    valid::<CriticReview>(&ask(&http(), &model, &critic()).await);
}

#[tokio::test]
async fn the_first_review_is_refused_once_where_the_demo_wants_it() {
    let model = DemoModel::start(DemoOptions { refuse_once: true, ..DemoOptions::default() }).await.unwrap();
    ask(&http(), &model, &manager()).await;
    let refused = send(&http(), &model, &critic()).await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "1"));
    valid::<CriticReview>(&ask(&http(), &model, &critic()).await);
    assert_eq!(model.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn an_endless_answer_goes_on_until_the_client_goes_away() {
    let model = start(Misbehaviour::Endless).await;
    let mut streamed = manager();
    for is_streamed in [true, false] {
        streamed["stream"] = json!(is_streamed);
        let mut response = send(&http(), &model, &streamed).await.unwrap();
        assert_eq!(response.status(), 200);
        for _ in 0..50 {
            assert!(response.chunk().await.unwrap().is_some_and(|chunk| !chunk.is_empty()));
        }
        assert_eq!(model.in_flight(), 1);
        drop(response);
        let gone = async {
            while model.in_flight() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone).await.expect("the server notices");
    }
    // Read as a client reads: no end within a moment.
    let response = send(&http(), &model, &manager()).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(300), read(response)).await.is_err());
}

//! Every misbehaviour as a client sees it, and that the next request is answered well.

use std::time::Duration;

use nightforge_demo::{DemoModel, DemoOptions, Misbehaviour};
use nightforge_domain::contract::CodingAction;
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::client::{ask, http, read, request, send, session_start, system};

fn body() -> Value {
    request::<CodingAction>(&[system(), session_start("F001", 1)])
}

async fn start(misbehaviour: Misbehaviour) -> (Client, DemoModel) {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    model.misbehave(misbehaviour, 1);
    (http(), model)
}

/// The answer to a request that goes wrong; the one after it must go well.
async fn wrong(misbehaviour: Misbehaviour) -> Response {
    let (http, model) = start(misbehaviour).await;
    let response = send(&http, &model, &body()).await.unwrap();
    ask(&http, &model, &body()).await;
    assert_eq!(model.violations(), Vec::<String>::new());
    assert_eq!(model.requests().len(), 2);
    response
}

#[tokio::test]
async fn refusals_look_like_those_of_real_servers() {
    let loading = wrong(Misbehaviour::Loading).await;
    assert_eq!(loading.status(), 503);
    let error = json!({"code": 503, "message": "Loading model", "type": "unavailable_error"});
    assert_eq!(loading.json::<Value>().await.unwrap(), json!({"error": error}));

    let busy = wrong(Misbehaviour::TooManyRequests { retry_after_s: 7 }).await;
    assert_eq!((busy.status().as_u16(), busy.headers()["retry-after"].to_str().unwrap()), (429, "7"));

    let rejected = wrong(Misbehaviour::SchemaRejected).await;
    assert_eq!(rejected.status(), 400);
    assert!(rejected.text().await.unwrap().contains("failed to parse grammar"));

    let failed = wrong(Misbehaviour::ServerError).await;
    assert_eq!(failed.status(), 500);
    assert_eq!(failed.text().await.unwrap(), "Internal Server Error");
}

#[tokio::test]
async fn spoiled_answers_are_complete_but_do_not_fit() {
    for (misbehaviour, is_json) in [(Misbehaviour::BrokenJson, false), (Misbehaviour::InvalidAction, true)] {
        let (http, model) = start(misbehaviour).await;
        let text = ask(&http, &model, &body()).await;
        assert_eq!(serde_json::from_str::<Value>(&text).is_ok(), is_json, "{text}");
        assert!(serde_json::from_str::<CodingAction>(&text).is_err(), "{text}");
    }
}

#[tokio::test]
async fn a_truncated_answer_says_so() {
    let (http, model) = start(Misbehaviour::Truncated).await;
    let (cut, broken) = read(send(&http, &model, &body()).await.unwrap()).await;
    let whole = ask(&http, &model, &body()).await;
    assert!(broken.is_none());
    assert_eq!(cut.finish_reason.as_deref(), Some("length"));
    assert!(whole.starts_with(&cut.text) && cut.text.len() < whole.len());
}

#[tokio::test]
async fn a_cut_stream_breaks_after_some_text_and_without_a_reason() {
    let (http, model) = start(Misbehaviour::CutStream).await;
    let (cut, broken) = read(send(&http, &model, &body()).await.unwrap()).await;
    assert!(broken.is_some(), "the socket must close early");
    assert_eq!((cut.finish_reason, cut.usage, cut.done), (None, None, false));
    assert!(!cut.text.is_empty());
    model.misbehave(Misbehaviour::CutStream, 1);
    let mut unstreamed = body();
    unstreamed["stream"] = json!(false);
    let whole = send(&http, &model, &unstreamed).await.unwrap();
    assert!(whole.bytes().await.is_err());
}

#[tokio::test]
async fn a_well_behaved_stream_comes_in_small_deltas_with_usage() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let (good, broken) = read(send(&http(), &model, &body()).await.unwrap()).await;
    assert!(broken.is_none() && good.done);
    assert!(good.deltas >= 5, "{}", good.deltas);
    let usage = good.usage.unwrap();
    assert_eq!(usage["completion_tokens"], good.text.len().div_ceil(4));
}

#[tokio::test]
async fn a_hanging_server_holds_the_request_until_the_client_goes_away() {
    for (misbehaviour, headers) in [(Misbehaviour::Hang, true), (Misbehaviour::HangBeforeHeaders, false)] {
        let (http, model) = start(misbehaviour).await;
        let sent = async {
            let mut response = send(&http, &model, &body()).await.unwrap();
            assert!(headers, "{misbehaviour:?} gave headers");
            let chunk = response.chunk().await;
            panic!("{misbehaviour:?} gave a body: {chunk:?}");
        };
        tokio::select! {
            () = sent => {}
            () = reach(&model, 1) => {
                assert_eq!(model.in_flight(), 1);
            }
        }
        reach(&model, 0).await;
        ask(&http, &model, &body()).await;
    }
}

/// Until that many requests are in flight.
async fn reach(model: &DemoModel, count: usize) {
    let reached = async {
        while model.in_flight() != count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), reached).await.expect("requests in flight");
}

#[tokio::test]
async fn hang_sends_its_headers_and_no_more() {
    let (http, model) = start(Misbehaviour::Hang).await;
    let mut response = send(&http, &model, &body()).await.unwrap();
    assert_eq!(response.status(), 200);
    let silence = tokio::time::timeout(Duration::from_millis(100), response.chunk()).await;
    assert!(silence.is_err(), "{silence:?}");
    model.misbehave(Misbehaviour::HangBeforeHeaders, 1);
    let body = body();
    let silence = tokio::time::timeout(Duration::from_millis(100), send(&http, &model, &body)).await;
    assert!(silence.is_err(), "{silence:?}");
}

#[tokio::test]
async fn requests_beyond_the_slots_wait_for_one() {
    let model = DemoModel::start(DemoOptions { slots: 1, ..DemoOptions::default() }).await.unwrap();
    let http = http();
    model.misbehave(Misbehaviour::Hang, 1);
    let holding = send(&http, &model, &body()).await.unwrap();
    let body = body();
    let mut waiting = Box::pin(ask(&http, &model, &body));
    tokio::select! {
        text = &mut waiting => panic!("answered without a slot: {text}"),
        () = reach(&model, 2) => {}
    }
    drop(holding);
    waiting.await;
}

#[tokio::test]
async fn the_pace_is_the_length_of_an_answer() {
    let pace = Duration::from_millis(120);
    let model = DemoModel::start(DemoOptions { pace, ..DemoOptions::default() }).await.unwrap();
    let started = tokio::time::Instant::now();
    ask(&http(), &model, &body()).await;
    assert!(started.elapsed() >= pace, "{:?}", started.elapsed());
}

//! The server keeps nothing: another process in its place goes on as if nothing had been.

use nightforge_demo::{DemoModel, DemoOptions, Misbehaviour};
use nightforge_domain::contract::{Action, CodingAction};

use crate::client::{ask, assistant, http, request, send, session_start, system, user};

#[tokio::test]
async fn a_server_that_is_new_for_every_turn_gives_the_same_session() {
    let whole = play(false).await;
    let restarted = play(true).await;
    assert!(whole.len() > 10, "{}", whole.len());
    assert_eq!(whole, restarted);
}

/// A session whose results all say the same; every answer in order.
async fn play(restarts: bool) -> Vec<String> {
    let http = http();
    let mut model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let mut messages = vec![system(), session_start("F006", 1)];
    let mut answers = Vec::new();
    loop {
        if restarts {
            model.stop().await;
            model = DemoModel::start(DemoOptions::default()).await.unwrap();
        }
        let answer = ask(&http, &model, &request::<CodingAction>(&messages)).await;
        answers.push(answer.clone());
        let action: CodingAction = serde_json::from_str(&answer).unwrap();
        if matches!(action.action, Action::Finish { .. }) {
            return answers;
        }
        messages.extend([assistant(&answer), user("OK")]);
    }
}

#[tokio::test]
async fn a_dropped_server_closes_its_connections() {
    let http = http();
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    model.misbehave(Misbehaviour::Hang, 1);
    let body = request::<CodingAction>(&[system(), session_start("F001", 1)]);
    let mut hanging = send(&http, &model, &body).await.unwrap();
    let url = format!("{}/models", model.url());
    drop(model);
    assert!(hanging.chunk().await.is_err(), "the open answer must break");
    assert!(http.get(url).send().await.is_err(), "nobody may listen any more");
}

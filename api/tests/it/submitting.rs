//! What is accepted, what is not, and what a repeated request does.

use nightforge_domain::{AgentModels, Kind, Limits, Millis, ModelName, NewTask, Priority};
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Server, answer, shared};

#[tokio::test]
async fn an_accepted_objective_is_a_queued_task_with_its_bell_rung() {
    let server = Server::start().await;
    let body = json!({
        "kind": "build", "objective": "  A board  ", "priority": 9, "model": "small",
        "deadline": "2999-01-01T07:00:00+01:00", "limits": {"min_features": 3, "max_tokens": 1000},
    });
    let answer = server.post("/api/tasks", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let task = answer.body;
    let id = task["id"].as_str().unwrap();
    assert_eq!(task["state"], "queued");
    assert_eq!(task["objective"], "A board");
    assert_eq!(task["owner"], "local");
    assert_eq!(task["priority"], 9);
    assert_eq!(task["deadline"], "2999-01-01T06:00:00Z");
    assert_eq!(task["models"], json!({"initializer": "small", "coder": "small"}));
    assert_eq!(task["limits"]["min_features"], 3);
    assert_eq!(task["limits"]["max_tokens"], 1000);
    assert_eq!(task["limits"]["max_sessions"], 77, "the configured default");
    assert_eq!(task["features"], json!({"passed": 0, "total": 0}));
    assert_eq!(task["repository"], Value::Null);
    assert_eq!(task["report"], Value::Null);
    let rung = server.bells.tasks().next().await.unwrap();
    assert_eq!(rung.as_str(), id);
}

#[tokio::test]
async fn a_repeated_key_gives_the_same_task_or_a_conflict() {
    let server = Server::start().await;
    let send = async |objective: &str, key: &str| {
        let body = json!({"kind": "build", "objective": objective});
        answer(server.request(Method::POST, "/api/tasks").header("Idempotency-Key", key).json(&body)).await
    };
    let first = send("A board", "k1").await;
    let again = send("A board", "k1").await;
    assert_eq!((first.status.as_u16(), again.status.as_u16()), (201, 200));
    assert_eq!(first.body["id"], again.body["id"]);
    let other = send("Another board", "k1").await;
    assert_eq!(other.problem(), (409, "idempotency-conflict"));
    assert_eq!(other.body["task"], first.body["id"]);
    assert_ne!(send("A board", "k2").await.body["id"], first.body["id"]);
    assert_eq!(send("A board", "").await.problem(), (400, "bad-idempotency-key"));
    assert_eq!(send("A board", &"k".repeat(201)).await.problem(), (400, "bad-idempotency-key"));
}

#[tokio::test]
async fn a_past_deadline_is_refused_unless_its_key_has_made_a_task() {
    let server = Server::start().await;
    let send = async |key: &str, deadline_ms: i64, objective: &str| {
        let body = json!({"kind": "build", "objective": objective, "deadline": deadline_ms});
        answer(server.request(Method::POST, "/api/tasks").header("Idempotency-Key", key).json(&body)).await
    };
    assert_eq!(send("k1", 1_000, "A board").await.problem(), (422, "bad-deadline"));
    // Made in time; the deadline has passed since.
    let coder: ModelName = "coder".parse().unwrap();
    let deadline = 2_000;
    let first = NewTask {
        kind: Kind::Build,
        objective: "A board".to_owned().try_into().unwrap(),
        owner: "local".to_owned(),
        priority: Priority::default(),
        models: AgentModels::same(&coder).for_kind(Kind::Build),
        limits: Limits { max_sessions: 77, ..Limits::default() },
        approve: false,
        deadline: Some(Millis(deadline)),
        language: None,
        previous: None,
        idempotency_key: Some("k1".to_owned()),
    };
    let first = server.store.submit(&first).await.unwrap().task;
    let again = send("k1", deadline, "A board").await;
    assert_eq!((again.status.as_u16(), again.body["id"].as_str()), (200, Some(first.as_str())));
    assert_eq!(send("k1", deadline, "Another board").await.problem(), (409, "idempotency-conflict"));
    assert_eq!(send("k2", deadline, "A board").await.problem(), (422, "bad-deadline"));
}

#[tokio::test]
async fn requests_at_the_same_time_with_one_key_make_one_task() {
    let server = shared().await;
    let sent: Vec<_> = (0..12)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move {
                let body = json!({"kind": "build", "objective": "A board"});
                answer(server.request(Method::POST, "/api/tasks").header("Idempotency-Key", "k").json(&body))
                    .await
            })
        })
        .collect();
    let mut statuses = Vec::new();
    for sent in sent {
        statuses.push(sent.await.unwrap().status.as_u16());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 11, "{statuses:?}");
    assert_eq!(server.get("/api/tasks").await.body["tasks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn each_mistake_has_its_name_and_leaves_no_task() {
    let server = Server::start().await;
    let good = json!({"kind": "build", "objective": "A board"});
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    let cases = [
        (with("objective", json!("")), 422, "objective-empty", "objective is empty"),
        (with("objective", json!(" \n\t ")), 422, "objective-empty", "objective is empty"),
        (with("objective", json!("a\0b")), 422, "objective-not-text", "NUL"),
        (with("objective", json!("a".repeat(64 * 1024 + 1))), 413, "objective-too-long", "65537 bytes"),
        (with("objective", json!(7)), 400, "bad-json", "`objective`"),
        (json!({"kind": "build"}), 400, "bad-json", "`objective` is missing"),
        (json!({"objective": "A board"}), 400, "bad-json", "`kind` is missing"),
        (with("kind", json!("poem")), 422, "unknown-kind", "poem"),
        (with("colour", json!("red")), 400, "unknown-field", "`colour`; known: kind, objective"),
        (with("priority", json!(10)), 422, "bad-priority", "10 is not between 0 and 9"),
        (with("priority", json!("high")), 400, "bad-json", "`priority`"),
        (with("model", json!("gpt-17")), 422, "unknown-model", "known: coder, small"),
        (with("model", json!("a b")), 422, "unknown-model", "known: coder, small"),
        (with("deadline", json!("tomorrow")), 422, "bad-deadline", "`tomorrow` is not a moment"),
        (with("deadline", json!("1999-01-01T00:00:00Z")), 422, "bad-deadline", "in the past"),
        (with("deadline", json!(1.5)), 422, "bad-deadline", "RFC 3339"),
        (with("limits", json!({"max_luck": 1})), 400, "unknown-field", "`limits.max_luck`"),
        (with("limits", json!({"max_attempts": 0})), 422, "bad-limit", "max_attempts"),
        (with("limits", json!({"max_attempts": -1})), 422, "bad-limit", "whole number"),
        (with("limits", json!({"min_features": 501})), 422, "bad-limit", "at most 500"),
        (with("limits", json!({"session_ms": u64::MAX})), 422, "bad-limit", "7 days"),
        (with("limits", json!([1])), 400, "bad-json", "`limits`"),
        (json!([good.clone()]), 400, "bad-json", "not an object"),
    ];
    for (body, status, name, detail) in cases {
        let answer = server.post("/api/tasks", &body).await;
        assert_eq!(answer.problem(), (status, name), "{}", answer.text);
        assert!(answer.detail().contains(detail), "{name}: {}", answer.detail());
    }
    assert_eq!(server.get("/api/tasks").await.body["tasks"], json!([]));
}

#[tokio::test]
async fn bodies_that_are_not_json_or_too_large_are_refused() {
    let server = Server::start().await;
    let post = |body: Vec<u8>, media_type: &'static str| {
        server.request(Method::POST, "/api/tasks").header("Content-Type", media_type).body(body)
    };
    let good = br#"{"kind":"build","objective":"A board"}"#.to_vec();
    assert_eq!(answer(post(good.clone(), "text/plain")).await.problem(), (415, "media-type"));
    assert_eq!(answer(post(b"{\"kind\":".to_vec(), "application/json")).await.problem(), (400, "bad-json"));
    assert_eq!(answer(post(vec![0xff, 0xfe], "application/json")).await.problem(), (400, "bad-json"));
    let large = vec![b' '; 1024 * 1024 + 1];
    assert_eq!(answer(post(large, "application/json")).await.problem(), (413, "body-too-large"));
    assert_eq!(answer(post(good, "application/json; charset=utf-8")).await.status, 201);
}

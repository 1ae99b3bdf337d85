//! Lists, details, shortened ids, cancel.

use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn lists_are_newest_first_and_go_on_from_their_cursor() {
    let server = Server::start().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(server.submit(&format!("Board {number}")).await.to_string());
    }
    ids.sort_unstable();
    ids.reverse();
    let mut seen = Vec::new();
    let mut path = "/api/tasks?limit=2".to_owned();
    loop {
        let page = server.get(&path).await.body;
        seen.extend(
            page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/tasks?limit=2&before={next}");
    }
    assert_eq!(seen, ids);
    assert_eq!(server.get("/api/tasks?state=running").await.body["tasks"], json!([]));
    let one = server.get(&format!("/api/tasks?id={}", ids[3].to_uppercase())).await.body;
    assert_eq!(one["tasks"][0]["id"], ids[3]);
    for (query, part) in [
        ("state=sleeping", "waiting_for_human"),
        ("limit=0", "between 1 and 200"),
        ("limit=201", "between 1 and 200"),
        ("before=abc", "whole task id"),
        ("colour=red", "`colour`; known here: state, before, limit, id"),
        ("limit=1&limit=2", "twice"),
    ] {
        let answer = server.get(&format!("/api/tasks?{query}")).await;
        assert_eq!(answer.problem(), (400, "bad-query"), "{query}");
        assert!(answer.detail().contains(part), "{query}: {}", answer.detail());
    }
}

#[tokio::test]
async fn a_shortened_id_works_where_it_fits_one_task() {
    let server = Server::start().await;
    let id = server.submit("A board").await;
    let short = &id.as_str()[..12];
    assert_eq!(server.get(&format!("/api/tasks/{short}")).await.body["id"], id.as_str());
    assert_eq!(
        server.get(&format!("/api/tasks/{}", id.as_str().to_uppercase())).await.body["id"],
        id.as_str()
    );
    server.submit("Another board").await;
    // Ids begin with their time, so two made in one test share their first letters.
    let shared = &id.as_str()[..2];
    let ambiguous = server.get(&format!("/api/tasks/{shared}")).await;
    assert_eq!(ambiguous.problem(), (409, "ambiguous-task"));
    assert!(ambiguous.detail().contains(id.as_str()), "{}", ambiguous.detail());
    let unknown = "z".repeat(26);
    for part in ["", "/events", "/jobs", "/steps?job=1", "/features", "/report"] {
        let answer = server.get(&format!("/api/tasks/{unknown}{part}")).await;
        assert_eq!(answer.problem(), (404, "unknown-task"), "{part}");
    }
    assert_eq!(server.get("/api/tasks/zz").await.problem(), (404, "unknown-task"));
    assert_eq!(server.get("/api/tasks/..%2F..%2Fetc").await.problem(), (404, "unknown-task"));
    assert_eq!(server.get("/api/tasks/%25_").await.problem(), (404, "unknown-task"));
}

#[tokio::test]
async fn a_cancelled_task_shows_its_log_its_jobs_and_its_report() {
    let server = Server::start().await;
    let id = server.submit("A board").await;
    server.advance(&id).await;
    let path = |part: &str| format!("/api/tasks/{id}{part}");
    assert_eq!(server.get(&path("")).await.body["state"], "running");
    assert_eq!(server.get(&path("/report")).await.problem(), (404, "no-report-yet"));
    let jobs = server.get(&path("/jobs")).await.body;
    assert_eq!(jobs["jobs"][0]["kind"], "initialize");
    assert_eq!(jobs["jobs"][0]["state"], "ready");
    assert_eq!(server.get(&path("/steps?job=1")).await.body, json!({"steps": []}));
    assert_eq!(server.get(&path("/steps?job=9")).await.problem(), (404, "unknown-job"));
    assert_eq!(server.get(&path("/steps")).await.problem(), (400, "bad-query"));
    assert_eq!(server.get(&path("/features")).await.body, json!({"features": []}));

    let cancel = server.post(&path("/cancel"), &json!(null)).await;
    assert_eq!((cancel.status.as_u16(), &cancel.body["id"]), (202, &json!(id)));
    server.advance(&id).await;
    let task = server.get(&path("")).await.body;
    assert_eq!(task["state"], "cancelled");
    assert!(task["reason"].is_string() && task["finished_at"].is_string(), "{task}");
    let again = server.post(&path("/cancel"), &json!(null)).await;
    assert_eq!(again.problem(), (409, "already-over"));

    let report = server.get(&path("/report")).await;
    assert_eq!(report.media_type, "text/markdown; charset=utf-8");
    assert!(report.text.contains("A board"), "{}", report.text);
    let file = task["report"].as_str().unwrap();
    assert!(file.starts_with(server.data.path().to_str().unwrap()));
    assert_eq!(std::fs::read_to_string(file).unwrap(), report.text);

    let events = server.get(&path("/events")).await.body["events"].as_array().unwrap().clone();
    let numbers: Vec<i64> = events.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=events.len() as i64).collect::<Vec<_>>());
    assert!(
        events.iter().any(|event| event["type"] == "status-changed" && event["data"]["to"] == "cancelled")
    );
    assert!(events[0]["at"].as_str().unwrap().ends_with('Z'));
    let page = server.get(&path("/events?after=1&limit=2")).await.body;
    assert_eq!(page["events"], json!(events[1..3]));
}

#[tokio::test]
async fn models_show_who_calls_which_and_what_waits() {
    let server = Server::start().await;
    let id = server.submit("A board").await;
    server.advance(&id).await;
    let page = server.get("/api/models").await.body;
    let agents = page["agents"].as_object().unwrap();
    assert_eq!(agents.len(), 6, "those of every kind: {agents:?}");
    assert!(agents.values().all(|model| model == "coder"), "{agents:?}");
    assert_eq!(
        page["models"],
        json!([
            {"name": "coder", "server_name": "vendor/coder", "endpoints": ["http://127.0.0.1:1234/v1"], "ready": 1, "running": 0},
            {"name": "small", "server_name": "vendor/small", "endpoints": ["http://127.0.0.1:1234/v1"], "ready": 0, "running": 0},
        ])
    );
}

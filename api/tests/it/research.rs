//! Research from outside: what is taken, what is refused, what can be read, and in which form.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Server, answer};
use crate::team::HOSTILE;

#[tokio::test]
async fn research_is_taken_with_its_language_and_the_models_of_its_kind() {
    let server = Server::start().await;
    let task = server.submit_research(&json!({})).await;
    assert_eq!((&task["kind"], &task["research"]["language"]), (&json!("research"), &json!("en")));
    let agents: Vec<&String> = task["models"].as_object().unwrap().keys().collect();
    assert_eq!(agents, ["manager", "researcher", "critic", "synthesizer"]);
    let named = server.submit_research(&json!({"language": "pt-BR"})).await;
    assert_eq!(named["research"]["language"], "pt");
    let japanese =
        server.submit_research(&json!({"objective": "京都の茶道体験の料金を調べてください。"})).await;
    assert_eq!(japanese["research"]["language"], "ja");
    let unclear = server.submit_research(&json!({"objective": "42 + 17"})).await;
    assert_eq!(unclear["research"]["language"], Value::Null);

    let limits = json!({
        "max_iterations": 4, "max_agent_calls": 9, "max_model_calls": 50, "task_timeout_ms": 900_000,
        "max_failures_in_row": 2, "max_rejections_in_row": 2, "max_tokens": 7, "max_retries": 0,
        "agent_timeout_ms": 120_000,
    });
    let limited = server.submit_research(&json!({"limits": limits})).await;
    for (name, value) in limits.as_object().unwrap() {
        assert_eq!(&limited["limits"][name], value, "{name}");
    }
    // A build's view knows nothing of all this.
    let build = server.submit("A board").await;
    let build = server.get(&format!("/api/tasks/{build}")).await.body;
    assert!(build.get("research").is_none() && build.get("language").is_none(), "{build}");
    let agents: Vec<&String> = build["models"].as_object().unwrap().keys().collect();
    assert_eq!(agents, ["initializer", "coder"]);
}

#[tokio::test]
async fn what_does_not_fit_the_kind_is_refused_by_name() {
    let server = Server::start().await;
    let research = |more: Value| {
        let mut body = json!({"kind": "research", "objective": "What does it cost?"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let build = |more: Value| {
        let mut body = research(more);
        body["kind"] = json!("build");
        body
    };
    let unknown = "z".repeat(26);
    for (body, name, part) in [
        (research(json!({"language": "klingon"})), "unknown-language", "`klingon`; known are af, "),
        (research(json!({"language": ""})), "unknown-language", "known are"),
        (research(json!({"previous": unknown})), "bad-previous", "the field `previous`: there is no task"),
        (
            research(json!({"limits": {"min_features": 3}})),
            "not-of-kind",
            "`limits.min_features` means nothing for a task of kind research; limits of that kind: max_iterations",
        ),
        (
            build(json!({"limits": {"max_iterations": 3}})),
            "not-of-kind",
            "`limits.max_iterations` means nothing for a task of kind build; limits of that kind: min_features",
        ),
        (
            build(json!({"language": "en"})),
            "not-of-kind",
            "`language` means nothing for a task of kind build",
        ),
        (build(json!({"previous": "a"})), "not-of-kind", "`previous` means nothing for a task of kind build"),
        (
            research(json!({"limits": {"max_agent_calls": 0}})),
            "bad-limit",
            "`max_agent_calls` must be at least 1",
        ),
        (research(json!({"limits": {"task_timeout_ms": 604_800_001}})), "bad-limit", "`task_timeout_ms`"),
    ] {
        let answer = server.post("/api/tasks", &body).await;
        assert_eq!(answer.problem(), (422, name), "{body}: {}", answer.text);
        assert!(answer.detail().contains(part), "{body}: {}", answer.detail());
    }
    let wrong = server.post("/api/tasks", &research(json!({"language": 7}))).await;
    assert_eq!(wrong.problem(), (400, "bad-json"));
    assert_eq!(server.get("/api/tasks").await.body["tasks"], json!([]), "nothing was accepted");
}

#[tokio::test]
async fn research_without_anything_to_search_is_refused_with_the_remedy() {
    let server = Server::without_search().await;
    let refused = server.post("/api/tasks", &json!({"kind": "research", "objective": "What?"})).await;
    assert_eq!(refused.problem(), (422, "no-search"));
    assert!(refused.detail().contains("[[research.search]]"), "{}", refused.detail());
}

#[tokio::test]
async fn a_task_is_compared_with_an_earlier_one_that_has_a_result() {
    let server = Server::start().await;
    let body = |previous: &str| json!({"kind": "research", "objective": "What?", "previous": previous});
    let build = server.submit("A board").await;
    let open = server.submit_research(&json!({"objective": "Open?"})).await;
    for (previous, part) in [
        (build.as_str(), "not of kind research"),
        (open["id"].as_str().unwrap(), "has no result yet"),
        (&build.as_str()[..2], "several tasks begin"),
    ] {
        let refused = server.post("/api/tasks", &body(previous)).await;
        assert_eq!(refused.problem(), (422, "bad-previous"), "{}", refused.text);
        assert!(refused.detail().contains(part), "{}", refused.detail());
    }
    server.post(&format!("/api/tasks/{}/cancel", open["id"].as_str().unwrap()), &json!({})).await;
    server.advance(&open["id"].as_str().unwrap().parse().unwrap()).await;
    let first = server.answered(&json!({})).await;
    let second = server.answered(&json!({"previous": first.as_str()})).await;
    let task = server.get(&format!("/api/tasks/{second}")).await.body;
    assert_eq!(task["research"]["previous"], first.as_str());
    let result = server.get(&format!("/api/tasks/{second}/result")).await.body;
    assert_eq!(result["changes"]["since_task"], first.as_str());
    assert_eq!(result["changes"]["unchanged"], 1);
}

#[tokio::test]
async fn the_workspace_can_be_read_page_by_page() {
    let server = Server::start().await;
    let id = server.answered(&json!({})).await;
    let task = server.get(&format!("/api/tasks/{id}")).await.body;
    assert_eq!(task["state"], "completed", "{task}");
    let research = &task["research"];
    for (name, value) in [
        ("iteration", json!(3)),
        ("agent_calls", json!(6)),
        ("assignments", json!(1)),
        ("findings", json!(2)),
        ("sources", json!(2)),
        ("reviews", json!(1)),
        ("latest_review", json!("APPROVED")),
        ("working_ms", json!(60)),
    ] {
        assert_eq!(research[name], value, "{name}: {research}");
    }
    assert_eq!(research["result"]["outcome"], "answered");
    assert_eq!(research["result"]["conclusion"], "It costs 38 dollars.");
    assert_eq!(research["result"]["key_findings"], 1);
    assert_eq!(server.get(research["result"]["json"].as_str().unwrap()).await.status, 200);
    let report = std::fs::read_to_string(task["report"].as_str().unwrap()).unwrap();
    assert_eq!(report, server.get(&format!("/api/tasks/{id}/report")).await.text);
    assert!(report.contains("It costs 38 dollars."), "{report}");

    for (page, cursor, count, last) in [
        ("messages", "number", None, json!("FINAL_RESULT")),
        ("findings", "id", Some(2), json!("F1.2")),
        ("sources", "id", Some(2), json!("S2")),
        ("decisions", "iteration", Some(3), json!("COMPLETE")),
        ("subtasks", "number", Some(1), json!("COMPLETED")),
        ("runs", "job", Some(6), json!("synthesizer")),
    ] {
        let path = format!("/api/tasks/{id}/{page}");
        let all = server.get(&path).await.body[page].as_array().unwrap().clone();
        assert!(count.is_none_or(|count| count == all.len()), "{page}: {all:?}");
        let end = all.last().unwrap();
        let told = end.as_object().unwrap().values().any(|value| *value == last);
        assert!(told, "{page}: {end} does not hold {last}");
        // Entry by entry, each page going on after the last one.
        let (mut seen, mut after) = (Vec::new(), "0".to_owned());
        loop {
            let answer = server.get(&format!("{path}?limit=1&after={after}")).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            let Some(one) = answer.body[page].as_array().unwrap().first().cloned() else { break };
            after = one[cursor].as_str().map_or_else(|| one[cursor].to_string(), str::to_owned);
            seen.push(one);
        }
        assert_eq!(seen, all, "{page}");
        for (query, part) in
            [("limit=0", "between 1 and 5000"), ("after=%20x", "`after= x`"), ("colour=red", "`colour`")]
        {
            let wrong = server.get(&format!("{path}?{query}")).await;
            assert_eq!(wrong.problem(), (400, "bad-query"), "{page} {query}");
            assert!(wrong.detail().contains(part), "{page} {query}: {}", wrong.detail());
        }
        let unknown = server.get(&format!("/api/tasks/{}/{page}", "z".repeat(26))).await;
        assert_eq!(unknown.problem(), (404, "unknown-task"));
    }
    let findings = server.get(&format!("/api/tasks/{id}/findings")).await.body;
    let (first, second) = (&findings["findings"][0], &findings["findings"][1]);
    assert_eq!((&first["level"], &first["verdict"]), (&json!("G3"), &json!("SUPPORTED")));
    assert_eq!((&first["evidence"][0]["source"], &second["level"]), (&json!("S1"), &json!("G0")));
    assert_eq!(findings["uncertainties"][0]["text"], "Whether visitors pay the same.");
}

#[tokio::test]
async fn the_result_comes_in_the_form_that_is_asked_for() {
    let server = Server::start().await;
    let id = server.answered(&json!({})).await;
    let path = format!("/api/tasks/{id}/result");
    let accepting = |media_type: &str| server.request(Method::GET, &path).header("accept", media_type);

    let json = answer(accepting("*/*")).await;
    assert_eq!((json.media_type.as_str(), &json.body["outcome"]), ("application/json", &json!("answered")));
    for request in [accepting("text/markdown"), server.request(Method::GET, &format!("{path}?format=md"))] {
        let text = answer(request).await;
        assert_eq!(text.media_type, "text/markdown; charset=utf-8");
        assert!(text.text.starts_with("# "), "{}", text.text);
    }
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for request in [accepting(browser), server.request(Method::GET, &format!("{path}?format=html"))] {
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
        let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
        assert_eq!(response.headers()["content-security-policy"], policy);
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        let page = response.text().await.unwrap();
        assert!(page.contains("It costs 38 dollars.") && !page.contains(HOSTILE), "{page}");
    }
    // What is asked for in the address goes before what the client likes.
    let chosen =
        answer(server.request(Method::GET, &format!("{path}?format=json")).header("accept", "text/html"));
    assert_eq!(chosen.await.media_type, "application/json");
    let wrong = server.get(&format!("{path}?format=pdf")).await;
    assert_eq!(wrong.problem(), (400, "bad-query"));
    assert!(wrong.detail().contains("json, md, html"), "{}", wrong.detail());
    // The report of every kind is Markdown; who wants another form reads the result.
    let wrong = server.get(&format!("{}?format=html", path.replace("/result", "/report"))).await;
    assert_eq!(wrong.problem(), (400, "bad-query"));
}

#[tokio::test]
async fn while_there_is_no_result_words_say_so() {
    let server = Server::start().await;
    let open = server.submit_research(&json!({})).await["id"].as_str().unwrap().to_owned();
    let early = server.get(&format!("/api/tasks/{open}/result")).await;
    assert_eq!(early.problem(), (404, "no-result-yet"));
    assert!(early.detail().contains("ask again when it is"), "{}", early.detail());
    let build = server.submit("A board").await;
    let other = server.get(&format!("/api/tasks/{build}/result")).await;
    assert_eq!(other.problem(), (409, "no-result-of-kind"));
    assert!(other.detail().contains(&format!("/api/tasks/{build}/report")), "{}", other.detail());
    // One that ended early has a partial result all the same.
    server.post(&format!("/api/tasks/{open}/cancel"), &json!({})).await;
    server.advance(&open.parse().unwrap()).await;
    let partial = server.get(&format!("/api/tasks/{open}/result")).await;
    assert_eq!((&partial.body["state"], &partial.body["outcome"]), (&json!("cancelled"), &json!("stopped")));
}

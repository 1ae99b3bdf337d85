//! Tavily as its API behaves.

use axum::body::Body;
use nightforge_sources::search::{ConfigError, Patience, Tavily, TavilyConfig};
use nightforge_sources::{Backend, SearchAnswer};
use reqwest::Url;
use serde_json::{Value, json};

use crate::servers::{
    Act, HTML, JSON, Seen, Server, answer, broken_off, impatience, nobody, patience, unavailable,
};

const KEY: &str = "tvly-dev-geheim";

fn backend(base_url: Url, key: &str, patience: Patience) -> Backend {
    let config = TavilyConfig { base_url, patience, ..TavilyConfig::new(key.into()) };
    Backend::Tavily(Tavily::new(config).unwrap())
}

/// Tavily's own rules: the key, the length of the query, the number of results.
fn tavily(seen: &Seen) -> Act {
    let error = |status, text: &str| answer(status, JSON, json!({"detail": {"error": text}}).to_string());
    if (seen.method.as_str(), seen.path.as_str()) != ("POST", "/search") {
        return error(404, "Not Found");
    }
    if seen.header("authorization") != format!("Bearer {KEY}") {
        return error(401, "Unauthorized: missing or invalid API key.");
    }
    let Ok(body) = serde_json::from_str::<Value>(&seen.body) else { return error(400, "Bad body") };
    if body["query"].as_str().unwrap().chars().count() > 400 {
        return error(400, "Query is too long. Max query length is 400 characters.");
    }
    if !(0..=20).contains(&body["max_results"].as_i64().unwrap()) {
        return error(400, "Max results is too large.");
    }
    let results = json!({"query": body["query"], "answer": null, "images": [], "response_time": 1.1, "results": [
        {"title": "Prices", "url": "https://studio.example/prices", "content": "A class costs $35.", "score": 0.9,
         "raw_content": null},
        {"title": "News", "url": "https://news.example/1", "content": "Opened.", "score": 0.5,
         "published_date": "Sun, 01 Mar 2026 08:00:00 GMT"}]});
    answer(200, JSON, results.to_string())
}

#[tokio::test]
async fn a_search_is_posted_with_the_key_in_its_header() {
    let server = Server::start(tavily).await;
    let backend = backend(server.url.clone(), KEY, patience());
    let SearchAnswer::Hits { hits } = backend.search("pilates nassau", 5).await else { panic!("no hits") };
    let [first, second] = hits.as_slice() else { panic!("{hits:?}") };
    assert_eq!((first.title.as_str(), first.snippet.as_str()), ("Prices", "A class costs $35."));
    assert_eq!((first.url.as_str(), &first.published), ("https://studio.example/prices", &None));
    assert_eq!(second.published.as_deref(), Some("Sun, 01 Mar 2026 08:00:00 GMT"));
    assert_eq!((backend.name(), backend.is_demo()), ("tavily", false));

    let seen = server.seen();
    let [request] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(request.header("content-type"), "application/json");
    assert!(request.query.is_empty(), "nothing in the address: {:?}", request.query);
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let wanted = json!({"query": "pilates nassau", "max_results": 5, "search_depth": "basic",
        "include_answer": false, "include_raw_content": false, "include_images": false});
    assert_eq!(body, wanted);
}

#[tokio::test]
async fn long_queries_and_large_limits_are_cut_to_what_it_takes() {
    let server = Server::start(tavily).await;
    let answer = backend(server.url.clone(), KEY, patience()).search(&"料".repeat(900), 500).await;
    assert!(matches!(answer, SearchAnswer::Hits { .. }), "{answer:?}");
    let body: Value = serde_json::from_str(&server.seen()[0].body).unwrap();
    assert_eq!(body["max_results"], 20);
    assert!(body["query"].as_str().unwrap().ends_with("料…"), "a clip has its mark");
}

#[tokio::test]
async fn a_wrong_key_is_told_and_never_shown() {
    // The service repeats the key, as some proxies do; also where a message ends.
    for before in ["", &"x".repeat(165)] {
        let said = format!("{before} invalid API key");
        let server = Server::start(move |seen| {
            let text = format!("{said} {}", seen.header("authorization"));
            answer(401, JSON, json!({"detail": {"error": text}}).to_string())
        })
        .await;
        let tavily = backend(server.url.clone(), "tvly-other-geheim", patience());
        let (reason, _) = unavailable("key", &tavily.search("x", 5).await, &server.url);
        assert!(reason.contains("HTTP 401") && reason.contains("https://app.tavily.com/"), "{reason}");
        assert!(!reason.contains("tvly") && !reason.contains("geheim"), "{reason}");
        assert!(before.len() > 100 || reason.contains("[key]"), "{reason}");
    }
    let tavily = backend(nobody().await, KEY, patience());
    assert!(!format!("{tavily:?}").contains("geheim"), "{tavily:?}");
    let config = TavilyConfig::new("tvly-geheim".into());
    assert!(!format!("{config:?}").contains("geheim"), "{config:?}");
}

#[tokio::test]
async fn each_refusal_has_its_own_remedy() {
    let detail = |text: &str| json!({"detail": {"error": text}}).to_string();
    type Row = (u16, &'static str, String, &'static [&'static str], Option<u64>);
    let rows: [Row; 11] = [
        (400, JSON, detail("Invalid topic."), &["`Invalid topic.`", "newer Nightforge"], None),
        (403, JSON, detail("Forbidden"), &["HTTP 403", "may not do this"], None),
        (
            429,
            "retry-after: 12",
            detail("Your request has been blocked due to excessive requests."),
            &["HTTP 429", "excessive requests", "too often"],
            Some(12),
        ),
        (429, "retry-after: 99999", String::new(), &["an empty body", "too often"], Some(300)),
        (
            432,
            JSON,
            detail("This request exceeds your plan's set usage limit."),
            &["HTTP 432", "usage limit", "credits are used up"],
            None,
        ),
        (433, JSON, detail("This request exceeds the pay-as-you-go limit."), &["HTTP 433", "raise it"], None),
        (500, JSON, detail("Internal Server Error"), &["HTTP 500", "on its side"], None),
        (502, HTML, "<html><h1>Bad gateway</h1></html>".to_owned(), &["HTTP 502", "`Bad gateway`"], None),
        (
            401,
            JSON,
            r#"{"error":{"message":"no key","code":"x"}}"#.to_owned(),
            &["`no key`", "make a new one"],
            None,
        ),
        (200, JSON, r#"{"answer":"none"}"#.to_owned(), &["missing field `results`"], None),
        (301, "location: https://elsewhere.example/", String::new(), &["https://elsewhere.example/"], None),
    ];
    for (status, headers, body, words, pause) in rows {
        let case = format!("{status} {body}");
        let server = Server::start(move |_| answer(status, headers, body.clone())).await;
        let answer = backend(server.url.clone(), KEY, patience()).search("the query", 5).await;
        let (reason, retry_after) = unavailable(&case, &answer, &server.url);
        for word in words {
            assert!(reason.contains(word), "{case}: `{word}` is not in: {reason}");
        }
        assert!(reason.starts_with("Tavily at ") && reason.contains("`the query`"), "{case}: {reason}");
        assert_eq!(retry_after, pause, "{case}");
        assert_eq!(server.seen().len(), 1, "{case}");
    }
}

#[tokio::test]
async fn no_results_are_empty_and_silence_is_not() {
    let server = Server::start(|_| answer(200, JSON, r#"{"results":[]}"#)).await;
    assert_eq!(backend(server.url.clone(), KEY, patience()).search("x", 5).await, SearchAnswer::Empty);

    let server = Server::start(|_| Act::Hang).await;
    let silence = backend(server.url.clone(), KEY, impatience()).search("x", 5).await;
    assert!(unavailable("silence", &silence, &server.url).0.contains("within 150ms"));

    let acts: [fn() -> Body; 2] = [|| Body::from(vec![b'['; 3 << 20]), || broken_off("{\"results\":")];
    for (body, word) in acts.into_iter().zip(["more than 2097152 bytes", "broke off"]) {
        let server = Server::start(move |_| answer(200, JSON, body())).await;
        let reply = backend(server.url.clone(), KEY, patience()).search("x", 5).await;
        assert!(unavailable(word, &reply, &server.url).0.contains(word), "{reply:?}");
    }
    let url = nobody().await;
    let refused = backend(url.clone(), KEY, patience()).search("x", 5).await;
    assert!(unavailable("nobody", &refused, &url).0.contains("no connection"));
}

#[test]
fn a_key_is_not_sent_in_the_clear() {
    let base_url = "http://tavily.example/".parse().unwrap();
    let error =
        Tavily::new(TavilyConfig { base_url, ..TavilyConfig::new(KEY.into()) }).unwrap_err().to_string();
    assert!(error.contains("use https") && !error.contains("geheim"), "{error}");
    assert!(Tavily::new(TavilyConfig::new("".into())).unwrap_err().to_string().contains("empty"));
}

#[tokio::test]
async fn tls_needs_no_crypto_provider_of_its_caller() {
    // Without one installed, making the client panics. A machine without root certificates gives an error.
    let server = Server::start(tavily).await;
    let base_url: Url = server.url.as_str().replace("http:", "https:").parse().unwrap();
    match Tavily::new(TavilyConfig { base_url, ..TavilyConfig::new(KEY.into()) }) {
        Ok(tavily) => {
            let answer = Backend::Tavily(tavily).search("x", 5).await;
            let (reason, _) = unavailable("tls", &answer, &server.url);
            assert!(reason.contains("no connection") && reason.contains("corrupt message"), "{reason}");
            assert!(server.seen().is_empty(), "the key never goes out in the clear");
        }
        Err(error) => assert!(matches!(error, ConfigError::Http { .. }), "{error}"),
    }
}

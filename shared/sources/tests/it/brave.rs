//! Brave as its API behaves.

use nightforge_sources::search::{Brave, BraveConfig, Patience};
use nightforge_sources::{Backend, SearchAnswer};
use reqwest::Url;
use serde_json::json;

use crate::servers::{Act, HTML, JSON, Seen, Server, answer, impatience, nobody, patience, unavailable};

const KEY: &str = "BSA-geheim";

fn backend(base_url: Url, patience: Patience) -> Backend {
    let config = BraveConfig { base_url, patience, ..BraveConfig::new(KEY.into()) };
    Backend::Brave(Brave::new(config).unwrap())
}

fn error(status: u16, headers: &str, code: &str, detail: &str) -> Act {
    let body = json!({"type": "ErrorResponse", "time": 1, "error":
        {"id": "1", "status": status, "code": code, "detail": detail, "meta": {"component": "x"}}});
    answer(status, headers, body.to_string())
}

/// Brave's own rules: the token, the length of the query, the number of results.
fn brave(seen: &Seen) -> Act {
    if seen.path != "/res/v1/web/search" {
        return answer(404, HTML, "<html>Not found</html>");
    }
    if seen.header("x-subscription-token") != KEY {
        return error(422, JSON, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid.");
    }
    let query = &seen.query["q"];
    if query.chars().count() > 400 || query.split_whitespace().count() > 50 {
        return error(422, JSON, "VALIDATION", "Unable to validate request parameter(s)");
    }
    if !(1..=20).contains(&seen.query["count"].parse::<u32>().unwrap()) {
        return error(422, JSON, "VALIDATION", "Input should be less than or equal to 20");
    }
    let results = json!({"type": "search", "query": {"original": query}, "mixed": {"main": []}, "web": {
        "type": "search", "results": [
            {"type": "search_result", "title": "Pilates &amp; prices", "url": "https://studio.example/prices",
             "description": "A <strong>Pilates</strong> class costs &#36;35 &lt;drop-in&gt;.", "age": "March 1, 2026",
             "page_age": "2026-03-01T00:00:00"},
            {"type": "search_result", "title": "Resort", "url": "https://resort.example/", "description": "Guests only.",
             "age": "2 days ago"}]}});
    answer(200, JSON, results.to_string())
}

#[tokio::test]
async fn a_search_is_asked_with_the_token_and_its_texts_are_plain() {
    let server = Server::start(brave).await;
    let backend = backend(server.url.clone(), patience());
    let SearchAnswer::Hits { hits } = backend.search("pilates & nassau", 7).await else { panic!("no hits") };
    let [first, second] = hits.as_slice() else { panic!("{hits:?}") };
    assert_eq!(first.title, "Pilates & prices");
    assert_eq!(first.snippet, "A Pilates class costs $35 <drop-in>.");
    assert_eq!(first.published.as_deref(), Some("2026-03-01T00:00:00"));
    assert_eq!(second.published.as_deref(), Some("2 days ago"));
    assert_eq!((backend.name(), backend.is_demo()), ("brave", false));
    assert!(!format!("{backend:?}").contains("geheim"), "{backend:?}");

    let seen = server.seen();
    let [request] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(request.method, "GET");
    assert_eq!((request.query["q"].as_str(), request.query["count"].as_str()), ("pilates & nassau", "7"));
    assert_eq!(request.query.len(), 2, "the key is not in the address: {:?}", request.query);
    assert_eq!(request.header("accept"), "application/json");
}

#[tokio::test]
async fn long_queries_and_large_limits_are_cut_to_what_it_takes() {
    let server = Server::start(brave).await;
    for query in ["word ".repeat(80), "x".repeat(900), format!("{} {}", "y".repeat(390), "z ".repeat(60))] {
        let answer = backend(server.url.clone(), patience()).search(&query, 500).await;
        assert!(matches!(answer, SearchAnswer::Hits { .. }), "{query}: {answer:?}");
    }
    assert_eq!(server.seen()[0].query["count"], "20");
}

#[tokio::test]
async fn each_refusal_has_its_own_remedy() {
    type Row = (&'static str, fn() -> Act, &'static [&'static str], Option<u64>);
    let rows: [Row; 13] = [
        (
            "wrong key",
            || {
                error(
                    422,
                    JSON,
                    "SUBSCRIPTION_TOKEN_INVALID",
                    "The provided subscription token BSA-geheim is invalid.",
                )
            },
            &["HTTP 422", "SUBSCRIPTION_TOKEN_INVALID", "[key]", "copy it from"],
            None,
        ),
        (
            "no key",
            || error(401, JSON, "UNAUTHORIZED", "Missing token"),
            &["HTTP 401", "the key is wrong"],
            None,
        ),
        (
            "plan",
            || error(403, JSON, "RESOURCE_NOT_ALLOWED", "Not for this plan"),
            &["the plan does not allow"],
            None,
        ),
        ("option", || error(400, JSON, "OPTION_NOT_IN_PLAN", "extra"), &["the plan does not allow"], None),
        (
            "parameters",
            || error(422, JSON, "VALIDATION", "q: too long"),
            &["VALIDATION `q: too long`", "newer"],
            None,
        ),
        (
            "too fast",
            || {
                let headers =
                    "x-ratelimit-limit: 1, 15000\nx-ratelimit-remaining: 0, 3\nx-ratelimit-reset: 1, 1419704";
                error(429, headers, "RATE_LIMITED", "Request rate limit exceeded for plan")
            },
            &["HTTP 429", "RATE_LIMITED", "too often"],
            Some(1),
        ),
        (
            "the month is used up",
            || {
                let headers = "x-ratelimit-remaining: 1, 0\nx-ratelimit-reset: 1, 1419704";
                error(429, headers, "QUOTA_LIMITED", "Quota exceeded")
            },
            &["QUOTA_LIMITED", "month's queries"],
            Some(300),
        ),
        (
            "only a reset",
            || error(429, "x-ratelimit-reset: 4, 100", "RATE_LIMITED", "slow down"),
            &["RATE_LIMITED"],
            Some(4),
        ),
        (
            "retry-after goes first",
            || error(429, "retry-after: 9\nx-ratelimit-reset: 4", "RATE_LIMITED", "slow down"),
            &["RATE_LIMITED"],
            Some(9),
        ),
        ("odd reset", || error(429, "x-ratelimit-reset: soon", "RATE_LIMITED", "x"), &["RATE_LIMITED"], None),
        (
            "its fault",
            || answer(503, HTML, "<html>Upstream down</html>"),
            &["HTTP 503", "Upstream down"],
            None,
        ),
        ("other JSON", || answer(200, JSON, r#"{"type":"news","results":[]}"#), &["type `news`"], None),
        ("no JSON", || answer(200, JSON, "ok"), &["no such JSON", "`ok`"], None),
    ];
    for (case, act, words, pause) in rows {
        let server = Server::start(move |_| act()).await;
        let answer = backend(server.url.clone(), patience()).search("the query", 5).await;
        let (reason, retry_after) = unavailable(case, &answer, &server.url);
        for word in words {
            assert!(reason.contains(word), "{case}: `{word}` is not in: {reason}");
        }
        assert!(reason.starts_with("Brave at ") && reason.contains("`the query`"), "{case}: {reason}");
        assert!(!reason.contains("geheim"), "{case}: {reason}");
        assert_eq!(retry_after, pause, "{case}");
        assert_eq!(server.seen().len(), 1, "{case}");
    }
}

#[tokio::test]
async fn nothing_found_is_empty_and_silence_is_not() {
    for body in [r#"{"type":"search","query":{}}"#, r#"{"type":"search","web":{"results":[]}}"#] {
        let server = Server::start(move |_| answer(200, JSON, body)).await;
        assert_eq!(
            backend(server.url.clone(), patience()).search("x", 5).await,
            SearchAnswer::Empty,
            "{body}"
        );
    }
    let server = Server::start(|_| Act::Hang).await;
    let silence = backend(server.url.clone(), impatience()).search("x", 5).await;
    assert!(unavailable("silence", &silence, &server.url).0.contains("within 150ms"));
    let url = nobody().await;
    let refused = backend(url.clone(), patience()).search("x", 5).await;
    assert!(unavailable("nobody", &refused, &url).0.contains("no connection"));
}

//! SearXNG as its JSON API behaves: what is asked of it, and each of its ways to say no.

use nightforge_sources::search::{Patience, SearxNg, SearxNgConfig};
use nightforge_sources::{Backend, Search, SearchAnswer};
use reqwest::Url;

use crate::servers::{
    Act, HTML, JSON, Server, answer, broken_off, endless, impatience, nobody, patience, unavailable,
};

const TWO: &str = r#"{"query":"pilates nassau","number_of_results":0,"results":[
  {"url":"https://studio.example/prices","title":"Prices","content":"A class costs  $35.","engine":"brave",
   "publishedDate":"2026-03-01T00:00:00","score":2.0,"positions":[1],"category":"general"},
  {"url":"magnet:?xt=urn:btih:1","title":"A torrent","engine":"piratebay"},
  {"url":"https://resort.example/","title":"","content":null,"publishedDate":null,"engine":"mojeek"}],
 "answers":[],"corrections":[],"infoboxes":[],"suggestions":["pilates"],"unresponsive_engines":[]}"#;

fn backend(base_url: Url, language: Option<&str>, patience: Patience) -> Backend {
    let language = language.map(str::to_owned);
    Backend::SearxNg(SearxNg::new(SearxNgConfig { base_url, language, patience }).unwrap())
}

#[tokio::test]
async fn the_json_api_is_asked_and_its_results_are_hits() {
    let server = Server::start(|_| answer(200, JSON, TWO)).await;
    let searxng = backend(server.url.clone(), Some("ja-JP"), patience());
    let SearchAnswer::Hits { hits } = searxng.search("料金 & \"pilates\" #1", 10).await else {
        panic!("no hits")
    };
    let [first, second] = hits.as_slice() else { panic!("{hits:?}") };
    assert_eq!(first.url, "https://studio.example/prices");
    assert_eq!((first.title.as_str(), first.snippet.as_str()), ("Prices", "A class costs $35."));
    assert_eq!(first.published.as_deref(), Some("2026-03-01T00:00:00"));
    assert_eq!(second.title, "https://resort.example/", "no title: the address");
    assert_eq!((second.published.as_ref(), second.text.as_ref(), second.placeholder), (None, None, false));

    let seen = server.seen();
    let [request] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/search"));
    assert_eq!(request.query["q"], "料金 & \"pilates\" #1");
    assert_eq!((request.query["format"].as_str(), request.query["language"].as_str()), ("json", "ja-JP"));
    assert_eq!(request.query.len(), 3);
    assert_eq!(request.header("user-agent"), concat!("nightforge/", env!("CARGO_PKG_VERSION")));
    assert_eq!((searxng.name(), searxng.is_demo()), ("searxng", false));
}

#[tokio::test]
async fn an_instance_below_a_path_and_without_a_language() {
    let server = Server::start(|_| answer(200, JSON, TWO)).await;
    for base in ["searx", "searx/"] {
        let searxng = backend(server.url.join(base).unwrap(), None, patience());
        let SearchAnswer::Hits { hits } = searxng.search("x", 1).await else { panic!("no hits") };
        assert_eq!(hits.len(), 1, "the limit");
    }
    for request in server.seen() {
        assert_eq!(request.path, "/searx/search");
        assert!(!request.query.contains_key("language"));
    }
}

#[tokio::test]
async fn each_way_to_fail_has_its_own_words() {
    type Row = (&'static str, fn() -> Act, &'static [&'static str], Option<u64>);
    let rows: [Row; 15] = [
        (
            "the format is not enabled",
            || answer(403, HTML, "<!doctype html><title>403 Forbidden</title><h1>Forbidden</h1>"),
            &["HTTP 403", "search.formats", "settings.yml", "Forbidden"],
            None,
        ),
        (
            "the limiter",
            || answer(429, "retry-after: 30", "Too Many Requests"),
            &["HTTP 429", "limiter: false", "pass_ip", "Too Many Requests"],
            Some(30),
        ),
        (
            "no engine answered",
            || {
                let body = r#"{"query":"x","results":[],"unresponsive_engines":[
                    ["google","Suspended: too many requests"],["duckduckgo","timeout"],["odd"],7]}"#;
                answer(200, JSON, body)
            },
            &["google (Suspended: too many requests)", "duckduckgo (timeout)", "odd, 7", "settings.yml"],
            None,
        ),
        (
            "nothing but what can't be read, and engines that did not answer",
            || {
                let body = r#"{"results":[{"url":"magnet:?xt=1","title":"t"}],"unresponsive_engines":[["bing","CAPTCHA"]]}"#;
                answer(200, JSON, body)
            },
            &["bing (CAPTCHA)"],
            None,
        ),
        (
            "a web page",
            || answer(200, HTML, "<!DOCTYPE html><html><body><p>Sign in to continue</p></body></html>"),
            &["a web page instead of JSON", "Sign in to continue", "open it in a browser"],
            None,
        ),
        (
            "a broken instance",
            || answer(500, "", "Internal Server Error"),
            &["HTTP 500", "on its side"],
            None,
        ),
        (
            "down for a while",
            || {
                let headers =
                    "date: Wed, 21 Oct 2026 12:00:00 GMT\nretry-after: Wed, 21 Oct 2026 12:01:00 GMT";
                answer(503, headers, "")
            },
            &["HTTP 503", "an empty body", "on its side"],
            Some(60),
        ),
        (
            "wrong language",
            || answer(400, JSON, r#"{"error":"Invalid value \"xx\" for parameter language"}"#),
            &["HTTP 400", "Invalid value", "did not understand"],
            None,
        ),
        ("another program", || answer(404, "", "no such page"), &["HTTP 404", "check the address"], None),
        ("garbage", || answer(200, JSON, "{\"results\": [oops"), &["no such JSON", "oops"], None),
        (
            "other JSON",
            || answer(200, JSON, "{\"status\":\"ok\"}"),
            &["missing field `results`", "another program"],
            None,
        ),
        ("bytes", || answer(200, JSON, vec![0xFF, 0xFE, 0x00]), &["no such JSON"], None),
        (
            "without end",
            || answer(200, JSON, vec![b' '; 2 * 1024 * 1024 + 1]),
            &["more than 2097152 bytes", "check the address"],
            None,
        ),
        ("broken off", || answer(200, JSON, broken_off("{\"results\": [")), &["broke off", "log"], None),
        (
            "sent on",
            || answer(302, "location: /login?next=geheim", ""),
            &["HTTP 302", "/login?…", "redirects are not followed", "configure the final address"],
            None,
        ),
    ];
    for (case, act, words, pause) in rows {
        let server = Server::start(move |_| act()).await;
        let answer = backend(server.url.clone(), None, patience()).search("what is asked", 10).await;
        let (reason, retry_after) = unavailable(case, &answer, &server.url);
        assert!(reason.starts_with("SearXNG at ") && reason.contains("`what is asked`"), "{case}: {reason}");
        for word in words {
            assert!(reason.contains(word), "{case}: `{word}` is not in: {reason}");
        }
        assert!(!reason.contains("geheim"), "{case}: {reason}");
        assert_eq!(retry_after, pause, "{case}");
        assert_eq!(server.seen().len(), 1, "{case}: asked once, nothing followed or repeated");
    }
}

#[tokio::test]
async fn a_message_stays_short_and_steers_no_terminal() {
    let long = format!(r#"{{"results": "{}\u001b[2J"}}"#, "x".repeat(100_000));
    let engines: Vec<_> =
        (0..500).map(|at| serde_json::json!([format!("engine{at}"), "y".repeat(900)])).collect();
    let silent = serde_json::json!({"results": [], "unresponsive_engines": engines}).to_string();
    for body in [long, silent] {
        let server = Server::start(move |_| answer(200, JSON, body.clone())).await;
        let answer =
            backend(server.url.clone(), None, patience()).search(&"q\u{1b}[2J".repeat(500), 10).await;
        let (reason, _) = unavailable("long", &answer, &server.url);
        assert!(reason.chars().count() < 1_500 && !reason.contains('\u{1b}'), "{reason}");
        assert!(reason.contains("x…") || reason.contains("engine0"), "{reason}");
    }
}

#[tokio::test]
async fn nobody_there_and_no_answer_in_time() {
    let url = nobody().await;
    let answer_of = backend(url.clone(), None, patience()).search("x", 10).await;
    let (reason, _) = unavailable("nobody", &answer_of, &url);
    assert!(reason.contains("no connection") && reason.contains("refused"), "{reason}");

    let acts: [fn() -> Act; 2] = [|| Act::Hang, || answer(200, JSON, endless("{\"results\": ["))];
    for act in acts {
        let server = Server::start(move |_| act()).await;
        let answer = backend(server.url.clone(), None, impatience()).search("x", 10).await;
        let (reason, _) = unavailable("silence", &answer, &server.url);
        assert!(reason.contains("within 150ms") && reason.contains("overloaded"), "{reason}");
    }
}

#[tokio::test]
async fn nothing_found_is_empty_when_every_engine_looked() {
    let server = Server::start(|_| answer(200, JSON, r#"{"results":[],"unresponsive_engines":[]}"#)).await;
    assert_eq!(backend(server.url.clone(), None, patience()).search("x", 10).await, SearchAnswer::Empty);
    // Older instances do not have the field.
    let server = Server::start(|_| answer(200, JSON, r#"{"results":[]}"#)).await;
    assert_eq!(backend(server.url.clone(), None, patience()).search("x", 10).await, SearchAnswer::Empty);
}

#[tokio::test]
async fn engines_that_failed_are_told_beside_the_hits_of_others() {
    let body = r#"{"results":[{"url":"https://a.example/","title":"A","content":"a"}],
                   "unresponsive_engines":[["bing","timeout"]]}"#;
    let server = Server::start(move |_| answer(200, JSON, body)).await;
    let search = Search::new(vec![backend(server.url.clone(), None, patience())]).unwrap();
    let found = search.search("x", 10).await;
    let SearchAnswer::Hits { hits } = &found.answer else { panic!("{found:?}") };
    assert_eq!((hits[0].backend.as_str(), hits[0].is_demo), ("searxng", false));
    let [problem] = found.problems.as_slice() else { panic!("{found:?}") };
    assert!(problem.contains("bing (timeout)"), "{problem}");
}

#[tokio::test]
async fn one_back_end_down_does_not_hide_what_another_found() {
    let server = Server::start(|_| answer(200, JSON, TWO)).await;
    let down = nobody().await;
    let both = vec![backend(down.clone(), None, patience()), backend(server.url.clone(), None, patience())];
    let search = Search::new(both).unwrap();
    // On a task of its own, as jobs search.
    let found = tokio::spawn(async move { search.search("x", 10).await }).await.unwrap();
    assert!(matches!(&found.answer, SearchAnswer::Hits { hits } if hits.len() == 2), "{found:?}");
    assert!(found.problems[0].contains(&down.port().unwrap().to_string()), "{found:?}");

    let empty = Server::start(|_| answer(200, JSON, r#"{"results":[]}"#)).await;
    let both = vec![backend(empty.url.clone(), None, patience()), backend(down, None, patience())];
    let found = Search::new(both).unwrap().search("x", 10).await;
    assert!(matches!(found.answer, SearchAnswer::Unavailable { .. }), "never evidence of absence: {found:?}");
    assert!(Search::new(Vec::new()).unwrap_err().to_string().contains("name at least one"));
}

#[tokio::test]
async fn no_proxy_stands_between_this_machine_and_itself() {
    const INSIDE: &str = "NIGHTFORGE_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        let server = Server::start(|_| answer(200, JSON, TWO)).await;
        let answer = backend(server.url.clone(), None, patience()).search("x", 10).await;
        assert!(matches!(answer, SearchAnswer::Hits { .. }), "{answer:?}");
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "a process's own environment can't be changed safely")]
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let status = again
        .args(["--exact", "searxng::no_proxy_stands_between_this_machine_and_itself", "--nocapture"])
        .env(INSIDE, "1")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1")
        .env("ALL_PROXY", "http://127.0.0.1:1")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .stdin(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

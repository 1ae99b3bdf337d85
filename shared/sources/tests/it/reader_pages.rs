//! Reading pages that mean well.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use nightforge_domain::research::SourceStatus;
use nightforge_sources::{HostTurns, LocalTurns, Reader, ReaderConfig};

use crate::reader_site::{
    Answer, Site, at_once, config, gzip, html, moved, ok, prose, reader, status, with_headers,
};

#[tokio::test]
async fn a_page_and_what_is_known_of_it() {
    let body = format!(
        "<!doctype html><head><title> Harbour\n classes </title><meta property='article:published_time' content='2026-03-01'>\
         </head><body><nav><a href=/x>Cookies</a></nav><article><h1>Harbour classes</h1><p>{0}</p><p>{0}</p></article>",
        prose()
    );
    let site = Site::start(move |path| match path {
        "/robots.txt" => status("404 Not Found"),
        "/old" => moved("new?utm_source=x#part"),
        _ => ok("text/html; charset=utf-8", &body),
    })
    .await;
    let page = reader(&[&site]).read(&site.url("/old"), &at_once()).await.unwrap();
    assert_eq!(page.url, site.url("/new?utm_source=x#part"));
    assert_eq!(page.media_type, "text/html");
    assert_eq!(page.title.as_deref(), Some("Harbour classes"));
    assert_eq!(page.published.as_deref(), Some("2026-03-01"));
    assert!(page.text.contains("book a day ahead.\n"), "{}", page.text);
    assert_eq!(page.sha256.len(), 64);
    let request = site.requests().pop().unwrap();
    assert!(request.contains("accept-encoding: gzip, identity\r\n"), "{request}");
    assert!(request.contains("user-agent: nightforge/"), "{request}");
    assert!(!request.contains("referer") && !request.contains("cookie"), "{request}");
}

#[tokio::test]
async fn every_kind_of_document() {
    let site = Site::start(|path| match path {
        "/plain" => ok("text/plain", prose()),
        "/markdown" => {
            ok("text/markdown; charset=UTF-8", format!("Intro\n\n# Harbour *classes*\n\n{}", prose()))
        }
        "/json" => ok("application/json", format!("{{\"text\": \"{}\"}}", prose())),
        "/xhtml" => ok("application/xhtml+xml", html(&format!("<p>{}</p>", prose()))),
        "/pdf" => ok("application/pdf", crate::extract_pdfs::with_text(&prose())),
        "/unnamed.html" => with_headers("", html(&format!("<p>{}</p>", prose()))),
        "/unnamed.txt" => with_headers("", prose()),
        "/unnamed.pdf" => with_headers("", crate::extract_pdfs::with_text(&prose())),
        "/packed" => {
            with_headers("Content-Type: text/plain\r\nContent-Encoding: GZIP\r\n", gzip(prose().as_bytes()))
        }
        "/shift_jis" => {
            let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode("港のスタジオは観光客に教える。");
            ok("text/plain; charset=Shift_JIS", bytes.repeat(8))
        }
        "/declared" => {
            let text = format!(
                "<meta charset=euc-jp><title>港</title><p>{}</p>",
                "港のスタジオは観光客に教える。".repeat(8)
            );
            ok("text/html", encoding_rs::EUC_JP.encode(&text).0)
        }
        _ => status("404 Not Found"),
    })
    .await;
    let reader = reader(&[&site]);
    for (path, media_type, title, words) in [
        ("/plain", "text/plain", None, "The studio at the harbour"),
        ("/markdown", "text/markdown", Some("Harbour *classes*"), "# Harbour *classes*\n\nThe studio"),
        ("/json", "application/json", None, "{\"text\": \"The studio"),
        ("/xhtml", "application/xhtml+xml", Some("Harbour classes"), "The studio at the harbour"),
        ("/pdf", "application/pdf", Some("Harbour"), "The studio at the harbour"),
        ("/unnamed.html", "text/html", Some("Harbour classes"), "The studio at the harbour"),
        ("/unnamed.txt", "text/plain", None, "The studio at the harbour"),
        ("/unnamed.pdf", "application/pdf", Some("Harbour"), "The studio at the harbour"),
        ("/packed", "text/plain", None, "The studio at the harbour"),
        ("/shift_jis", "text/plain", None, "港のスタジオは観光客に教える。"),
        ("/declared", "text/html", Some("港"), "港のスタジオは観光客に教える。"),
    ] {
        let page =
            reader.read(&site.url(path), &at_once()).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(page.media_type, media_type, "{path}");
        assert_eq!(page.title.as_deref(), title, "{path}");
        assert!(page.text.contains(words), "{path}: {}", page.text);
    }
}

#[tokio::test]
async fn robots_are_asked_once_and_obeyed() {
    let site = Site::start(|path| match path {
        "/robots.txt" => ok(
            "text/plain",
            "User-agent: *\nDisallow: /\n\nUser-agent: Nightforge\nDisallow: /private\nAllow: /private/but\n",
        ),
        "/into" => moved("/private/diary"),
        _ => ok("text/plain", prose()),
    })
    .await;
    let reader = reader(&[&site]);
    for (path, allowed) in [
        ("/open", true),
        ("/private/diary", false),
        ("/private/but/this", true),
        ("/into", false),
        ("/private?x", false),
    ] {
        let read = reader.read(&site.url(path), &at_once()).await;
        assert_eq!(read.is_ok(), allowed, "{path}");
        if let Err(problem) = read {
            assert_eq!(problem.status, SourceStatus::Disallowed, "{path}");
        }
    }
    assert_eq!(site.paths(), ["/open", "/private/but/this", "/into"]);
    assert_eq!(site.requests().len() - site.paths().len(), 1, "robots.txt is asked for once");
}

#[tokio::test]
async fn robots_that_can_not_be_had() {
    type Case = (&'static str, fn() -> Answer, Option<SourceStatus>);
    let closed = |answer: fn() -> Answer| {
        Site::start(move |path| if path == "/robots.txt" { answer() } else { ok("text/plain", prose()) })
    };
    let cases: [Case; 8] = [
        ("not there", || status("404 Not Found"), None),
        ("not for us", || status("403 Forbidden"), None),
        ("empty", || ok("text/plain", ""), None),
        ("a page instead", || ok("text/html", html("<p>Not found: but friendly</p>")), None),
        ("broken server", || status("503 Service Unavailable"), Some(SourceStatus::Disallowed)),
        ("round and round", || moved("/robots.txt"), Some(SourceStatus::Disallowed)),
        ("elsewhere, privately", || moved("http://169.254.169.254/"), Some(SourceStatus::Disallowed)),
        ("hung up", || Answer::Bytes(Vec::new()), Some(SourceStatus::Unreachable)),
    ];
    for (case, answer, problem) in cases {
        let site = closed(answer).await;
        let reader = reader(&[&site]);
        let read = reader.read(&site.url("/a"), &at_once()).await;
        assert_eq!(read.err().map(|problem| problem.status), problem, "{case}");
        assert_eq!(site.paths().len(), usize::from(problem.is_none()), "{case}");
    }
}

#[tokio::test]
async fn a_long_robots_file_counts_as_far_as_it_is_read() {
    let site = Site::start(|path| match path {
        "/robots.txt" => {
            let rules =
                format!("User-agent: *\nDisallow: /early\n{}Disallow: /late\n", "# filling\n".repeat(60_000));
            ok("text/plain", rules)
        }
        _ => ok("text/plain", prose()),
    })
    .await;
    let reader = reader(&[&site]);
    let problem = reader.read(&site.url("/early"), &at_once()).await.unwrap_err();
    assert_eq!(problem.status, SourceStatus::Disallowed);
    assert!(reader.read(&site.url("/late"), &at_once()).await.is_ok());
}

#[tokio::test]
async fn robots_are_believed_for_their_time() {
    let site =
        Site::start(
            |path| if path == "/robots.txt" { status("404 Not Found") } else { ok("text/plain", prose()) },
        )
        .await;
    let config = ReaderConfig { robots_age: Duration::ZERO, ..config(&[&site]) };
    let reader = Reader::new(config).unwrap();
    for _ in 0..2 {
        reader.read(&site.url("/a"), &at_once()).await.unwrap();
    }
    assert_eq!(site.requests().len(), 4);
}

/// Writes down who was waited for.
#[derive(Default)]
struct Written(Mutex<Vec<String>>);

impl HostTurns for Written {
    async fn turn(&self, host: &str) {
        self.0.lock().unwrap().push(host.to_owned());
    }
}

#[tokio::test]
async fn every_request_waits_for_its_turn() {
    let site = Site::start(|path| match path {
        "/robots.txt" => status("404 Not Found"),
        "/a" => moved("/b"),
        _ => ok("text/plain", prose()),
    })
    .await;
    let turns = Written::default();
    reader(&[&site]).read(&site.url("/a"), &turns).await.unwrap();
    assert_eq!(*turns.0.lock().unwrap(), ["127.0.0.1"; 3]);
    assert_eq!(site.requests().len(), 3);
}

#[tokio::test]
async fn waiting_for_a_turn_is_not_the_page_s_time() {
    let site =
        Site::start(
            |path| if path == "/robots.txt" { status("404 Not Found") } else { ok("text/plain", prose()) },
        )
        .await;
    let config = ReaderConfig { total: Duration::from_millis(1500), ..config(&[&site]) };
    let turns = LocalTurns::every(Duration::from_millis(1600));
    let start = std::time::Instant::now();
    Reader::new(config).unwrap().read(&site.url("/a"), &turns).await.unwrap();
    assert!(
        start.elapsed() >= Duration::from_millis(1600),
        "the page waits for the turn after its robots.txt"
    );
}

#[tokio::test]
async fn answers_that_are_no_page() {
    let site = Site::start(|path| match path {
        "/robots.txt" => status("404 Not Found"),
        "/nowhere" => status("302 Found"),
        "/304" => status("304 Not Modified"),
        "/badly" => moved("http://[::1/"),
        other => status(&other[1..].replace('-', " ")),
    })
    .await;
    let reader = reader(&[&site]);
    for (path, expected, why) in [
        ("/404-not-found", SourceStatus::Unreachable, "404"),
        ("/403-forbidden", SourceStatus::Unreachable, "403"),
        ("/429-too-many-requests", SourceStatus::Unreachable, "429"),
        ("/500-oh", SourceStatus::Unreachable, "500"),
        ("/nowhere", SourceStatus::Unreachable, "302"),
        ("/304", SourceStatus::Unreachable, "304"),
        ("/badly", SourceStatus::Refused, "no address"),
        ("/204-no-content", SourceStatus::Unreadable, "0 characters"),
    ] {
        let problem = reader.read(&site.url(path), &at_once()).await.expect_err(path);
        assert_eq!(problem.status, expected, "{path}: {}", problem.note);
        assert!(problem.note.contains(why), "{path}: {}", problem.note);
    }
    let address = site.address;
    drop(site);
    tokio::task::yield_now().await;
    let gone = Reader::new(ReaderConfig { allow: vec![address.to_string()], ..config(&[]) }).unwrap();
    let problem = gone.read(&format!("http://{address}/"), &at_once()).await.unwrap_err();
    assert_eq!(problem.status, SourceStatus::Unreachable);
    assert!(problem.note.contains("refused"), "{}", problem.note);
}

#[tokio::test]
async fn many_read_with_one_reader() {
    let site =
        Site::start(
            |path| if path == "/robots.txt" { status("404 Not Found") } else { ok("text/plain", prose()) },
        )
        .await;
    let (reader, turns) = (Arc::new(reader(&[&site])), Arc::new(at_once()));
    let reading = (0..8).map(|n| {
        let (reader, turns, url) = (reader.clone(), turns.clone(), site.url(&format!("/{n}")));
        tokio::spawn(async move { reader.read(&url, &*turns).await })
    });
    for read in reading.collect::<Vec<_>>() {
        read.await.unwrap().unwrap();
    }
    assert_eq!(site.paths().len(), 8);
}

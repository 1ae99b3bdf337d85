//! Feeds of every kind, whole and broken.

use nightforge_sources::search::{Feeds, FeedsConfig};
use nightforge_sources::{Backend, Hit, Search, SearchAnswer};
use reqwest::Url;

use crate::servers::{Act, HTML, JSON, Seen, Server, answer, impatience, nobody, unavailable};

const RSS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title>
<item><title>Rust 1.95 released</title><link>https://rss.example/195</link>
 <pubDate>Sun, 01 Mar 2026 08:00:00 +0000</pubDate>
 <description>&lt;p&gt;The &lt;b&gt;release&lt;/b&gt; is out.&lt;/p&gt;</description>
 <content:encoded><![CDATA[<p>Async closures and more.</p><script>var hidden;</script>]]></content:encoded></item>
<item><title>Rust 1.94 released</title><link>/194</link><pubDate>Thu, 01 Jan 2026 08:00:00 +0000</pubDate>
 <description>An older release.</description></item>
<item><title>Nothing of it</title><link>https://rss.example/tea</link><description>Tea.</description></item>
<item><title>A release without an address</title><guid isPermaLink="false">abc</guid></item>
</channel></rss>"#;

const ATOM: &str = r#"<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xml:lang="ja"><title>便り</title>
<id>urn:1</id><updated>2026-02-01T00:00:00Z</updated>
<entry><title>東京の料金改定</title><id>urn:2</id><updated>2026-02-01T00:00:00Z</updated>
 <link rel="self" href="https://atom.example/self.xml"/><link rel="alternate" href="https://atom.example/tokyo"/>
 <summary type="html">&lt;b&gt;教室&lt;/b&gt;の月額は五千円。</summary></entry></feed>"#;

const JSON_FEED: &str = r#"{"version":"https://jsonfeed.org/version/1.1","title":"J","items":[
{"id":"1","url":"https://json.example/1","title":"Cargo release","content_text":"Rust tooling release notes",
 "date_published":"2026-04-01T00:00:00Z","tags":["crates"]}]}"#;

fn feeds(urls: Vec<Url>) -> Backend {
    Backend::Feeds(Feeds::new(FeedsConfig::new(urls)).unwrap())
}

fn three(seen: &Seen) -> Act {
    match seen.path.as_str() {
        "/rss" => answer(200, "content-type: application/rss+xml", RSS),
        "/atom" => answer(200, "content-type: application/atom+xml", ATOM),
        "/json" => answer(200, "content-type: application/feed+json", JSON_FEED),
        "/page" => {
            answer(200, HTML, "<!DOCTYPE html><html><head><title>Blog</title></head><body>Hi</body></html>")
        }
        "/slow" => Act::Hang,
        "/large" => answer(200, JSON, vec![b' '; (2 << 20) + 1]),
        "/busy" => answer(429, "retry-after: 40", "slow down"),
        "/moved" => answer(301, "location: /rss", ""),
        "/cut" => answer(200, "", &RSS[..RSS.len() / 2]),
        "/private" => answer(401, "", "token please"),
        _ => answer(404, "", "gone"),
    }
}

fn urls(answer: &SearchAnswer) -> Vec<&str> {
    match answer {
        SearchAnswer::Hits { hits } => hits.iter().map(|hit: &Hit| hit.url.as_str()).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn entries_match_by_words_and_rank_by_matches_then_date() {
    let server = Server::start(three).await;
    let at = |path: &str| server.url.join(path).unwrap();
    let older = at("/194").to_string();
    let all = feeds(vec![at("rss"), at("atom"), at("json"), at("rss")]);
    for (query, wanted) in [
        ("rust release", vec!["https://json.example/1", "https://rss.example/195", &older]),
        ("RUST 1.95 RELEASED", vec!["https://rss.example/195", &older, "https://json.example/1"]),
        ("closures", vec!["https://rss.example/195"]),
        ("crates", vec!["https://json.example/1"]),
        ("東京 料金", vec!["https://atom.example/tokyo"]),
        ("月額", vec!["https://atom.example/tokyo"]),
    ] {
        assert_eq!(urls(&all.search(query, 10).await), wanted, "{query}");
    }
    assert_eq!(urls(&all.search("rust release", 1).await).len(), 1);
    for nothing in ["pilates", "hidden", "var", "?!", ""] {
        assert_eq!(all.search(nothing, 10).await, SearchAnswer::Empty, "{nothing}");
    }

    let SearchAnswer::Hits { hits } = all.search("closures", 10).await else { panic!("no hits") };
    assert_eq!(
        (hits[0].title.as_str(), hits[0].snippet.as_str()),
        ("Rust 1.95 released", "The release is out.")
    );
    assert_eq!(hits[0].published.as_deref(), Some("2026-03-01T08:00:00Z"));
    let SearchAnswer::Hits { hits } = all.search("月額", 10).await else { panic!("no hits") };
    assert_eq!(hits[0].snippet, "教室の月額は五千円。");
    assert_eq!((all.name(), all.is_demo()), ("feeds", false));
    let asked: Vec<_> = server.seen().into_iter().take(3).map(|seen| seen.method + &seen.path).collect();
    assert!(
        ["GET/rss", "GET/atom", "GET/json"].iter().all(|one| asked.contains(&(*one).to_owned())),
        "{asked:?}"
    );
}

#[tokio::test]
async fn an_unchanged_feed_is_not_sent_again() {
    let server = Server::start(|seen| {
        let unchanged = seen.header("if-none-match") == "\"v1\""
            && seen.header("if-modified-since") == "Sun, 01 Mar 2026 08:00:00 GMT";
        let headers = "etag: \"v1\"\nlast-modified: Sun, 01 Mar 2026 08:00:00 GMT";
        if unchanged { answer(304, headers, "") } else { answer(200, headers, RSS) }
    })
    .await;
    let feeds = feeds(vec![server.url.clone()]);
    let first = feeds.search("release", 10).await;
    assert_eq!(urls(&first).len(), 2);
    assert_eq!(feeds.search("release", 10).await, first);
    assert_eq!(
        urls(&feeds.search("tea", 10).await),
        ["https://rss.example/tea"],
        "another query, the same feed"
    );
    let seen = server.seen();
    assert_eq!(
        (seen.len(), seen[0].header("if-none-match"), seen[1].header("if-none-match")),
        (3, "", "\"v1\"")
    );
}

#[tokio::test]
async fn a_changed_feed_replaces_what_was_known() {
    let count = std::sync::atomic::AtomicU32::new(1);
    let server = Server::start(move |_| {
        let version = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let headers = format!("etag: \"v{version}\"");
        answer(200, &headers, RSS.replace("Rust 1.95", &format!("Version {version}")))
    })
    .await;
    let feeds = feeds(vec![server.url.clone()]);
    for version in ["Version 1 released", "Version 2 released", "Version 3 released"] {
        let SearchAnswer::Hits { hits } = feeds.search("closures", 10).await else { panic!("no hits") };
        assert_eq!(hits[0].title, version);
    }
    let told: Vec<_> = server.seen().iter().map(|seen| seen.header("if-none-match").to_owned()).collect();
    assert_eq!(told, ["", "\"v1\"", "\"v2\""]);
}

#[tokio::test]
async fn a_feed_that_breaks_is_told_and_not_taken_from_memory() {
    let count = std::sync::atomic::AtomicU32::new(0);
    let server = Server::start(move |_| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => answer(200, "etag: \"v1\"", RSS),
        _ => answer(500, "", "broken"),
    })
    .await;
    let feeds = feeds(vec![server.url.clone()]);
    assert_eq!(urls(&feeds.search("release", 10).await).len(), 2);
    let (reason, _) = unavailable("500", &feeds.search("release", 10).await, &server.url);
    assert!(reason.contains("HTTP 500"), "{reason}");
}

#[tokio::test]
async fn each_broken_feed_has_its_own_words() {
    let server = Server::start(three).await;
    for (path, words, pause) in [
        ("/page", &["no feed that can be read", "not its site's"][..], None),
        ("/slow", &["no whole answer came within 150ms"], None),
        ("/large", &["more than 2097152 bytes"], None),
        ("/busy", &["HTTP 429", "slow down", "too often"], Some(40)),
        ("/moved", &["HTTP 301", "/rss;", "configure the final address"], None),
        ("/cut", &["no feed that can be read"], None),
        ("/private?token=geheim", &["HTTP 401", "/private?…"], None),
        ("/gone", &["HTTP 404", "check the address"], None),
    ] {
        let url = server.url.join(path).unwrap();
        let patience = if path == "/slow" { impatience() } else { FeedsConfig::new(Vec::new()).patience };
        let alone = Backend::Feeds(Feeds::new(FeedsConfig { urls: vec![url], patience }).unwrap());
        let (reason, retry_after) = unavailable(path, &alone.search("release", 10).await, &server.url);
        for word in words {
            assert!(reason.contains(word), "{path}: `{word}` is not in: {reason}");
        }
        assert!(!reason.contains("geheim"), "{path}: {reason}");
        assert_eq!(retry_after, pause, "{path}");
    }
}

#[tokio::test]
async fn one_broken_feed_of_several_is_told_beside_the_hits() {
    let server = Server::start(three).await;
    let at = |path: &str| server.url.join(path).unwrap();
    let search = Search::new(vec![feeds(vec![at("gone"), at("rss"), nobody().await])]).unwrap();
    let found = search.search("release", 10).await;
    let SearchAnswer::Hits { hits } = &found.answer else { panic!("{found:?}") };
    assert_eq!((hits.len(), hits[0].backend.as_str()), (2, "feeds"));
    let [gone, refused] = found.problems.as_slice() else { panic!("{found:?}") };
    assert!(gone.contains("/gone") && refused.contains("no connection"), "{found:?}");
    // What the others do not hold may stand in the one that could not be read.
    let found = search.search("pilates", 10).await;
    assert!(matches!(found.answer, SearchAnswer::Unavailable { .. }), "{found:?}");
}

#[tokio::test]
async fn hostile_feeds_do_no_harm() {
    let nested = |divs: usize| {
        format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><id>x</id><link href=\"https://a.example/\"/>\
             <content type=\"xhtml\">{}release{}</content></entry></feed>",
            "<div>".repeat(divs),
            "</div>".repeat(divs)
        )
    };
    let media = format!(
        "<rss version=\"2.0\" xmlns:media=\"http://search.yahoo.com/mrss/\"><channel><item><title>release</title>\
         <link>https://a.example/</link>{}{}</item></channel></rss>",
        "<media:group>".repeat(60_000),
        "</media:group>".repeat(60_000)
    );
    let copies = format!(
        "<rss version=\"2.0\" xmlns:media=\"http://search.yahoo.com/mrss/\"><channel><item><title>release</title>\
         <link>https://a.example/</link><media:title>{}</media:title>{}</item></channel></rss>",
        "x".repeat(1_000_000),
        "<media:group><media:content/></media:group>".repeat(20_000)
    );
    let laughs = "<?xml version=\"1.0\"?><!DOCTYPE r [<!ENTITY a \"release\"><!ENTITY b \"&a;&a;&a;&a;\">]>\
                  <rss version=\"2.0\"><channel><item><title>&b;</title><link>https://a.example/</link></item>\
                  </channel></rss>"
        .to_owned();
    let json =
        format!("{{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":{}", "[".repeat(500_000));
    let cases = [
        ("whole", nested(150)),
        ("deep", nested(60_000)),
        ("media", media),
        ("copies", copies),
        ("laughs", laughs),
        ("json", json),
    ];
    for (case, body) in cases {
        let server = Server::start(move |_| answer(200, "", body.clone())).await;
        let started = std::time::Instant::now();
        let answer = feeds(vec![server.url.clone()]).search("release", 10).await;
        assert!(started.elapsed().as_secs() < 8, "{case} took {:?}", started.elapsed());
        match case {
            "whole" => assert_eq!(urls(&answer), ["https://a.example/"]),
            "laughs" => assert!(!format!("{answer:?}").contains("releaserelease"), "{answer:?}"),
            _ => assert!(matches!(answer, SearchAnswer::Unavailable { .. }), "{case}: {answer:?}"),
        }
    }
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    assert!(
        Feeds::new(FeedsConfig::new(Vec::new())).unwrap_err().to_string().contains("no feed is configured")
    );
    let file = "file:///etc/passwd".parse().unwrap();
    assert!(Feeds::new(FeedsConfig::new(vec![file])).unwrap_err().to_string().contains("another scheme"));
}

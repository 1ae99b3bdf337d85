//! Names whose server changes its mind between the check and the connection.

use std::sync::Arc;

use nightforge_domain::research::SourceStatus;
use nightforge_sources::{Reader, ReaderConfig};

use crate::reader_site::{Names, Site, at_once, extractor, html, moved, ok, prose, status};

fn page(path: &str, word: &str) -> crate::reader_site::Answer {
    match path {
        "/robots.txt" => status("404 Not Found"),
        "/moved" => moved("/page"),
        _ => ok("text/html", html(&format!("<p>{word} {}</p>", prose()))),
    }
}

#[tokio::test]
async fn the_second_answer_is_never_used() {
    let checked = Site::start(|path| page(path, "checked")).await;
    let port = checked.address.port();
    let other = Site::start_on(([127, 0, 0, 2], port).into(), |path| page(path, "other")).await;
    let names = Names::new(&[("flip.example", &[&["127.0.0.1"], &["127.0.0.2"]])]);
    let allow = vec![format!("flip.example:{port}")];
    let config = ReaderConfig { allow, resolve: names.clone(), ..ReaderConfig::new(extractor()) };
    let reader = Reader::new(config).unwrap();

    // Three requests (robots.txt, a redirect, the page), one look-up.
    let page = reader.read(&format!("http://flip.example:{port}/moved"), &at_once()).await.unwrap();

    assert!(page.text.contains("checked"), "{}", page.text);
    assert_eq!(page.url, format!("http://flip.example:{port}/page"));
    assert_eq!(names.asked(), ["flip.example"]);
    assert_eq!(checked.requests().len(), 3);
    assert!(checked.requests().iter().all(|head| head.contains(&format!("host: flip.example:{port}"))));
    assert!(other.requests().is_empty());

    // The next reading looks the name up again: it is not believed for ever.
    let page = reader.read(&format!("http://flip.example:{port}/page"), &at_once()).await.unwrap();
    assert!(page.text.contains("other"), "{}", page.text);
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_the_next_time() {
    let names = Names::new(&[("rebind.example", &[&["127.0.0.1"], &["192.0.78.9"]])]);
    let reader =
        Reader::new(ReaderConfig { resolve: names.clone(), ..ReaderConfig::new(extractor()) }).unwrap();
    let problem = reader.read("http://rebind.example/", &at_once()).await.unwrap_err();
    assert_eq!(problem.status, SourceStatus::Refused, "{}", problem.note);
    assert_eq!(names.asked(), ["rebind.example"], "asked once, and not until an answer suits");
}

#[tokio::test]
async fn a_name_without_an_address() {
    let names: Arc<Names> = Names::new(&[("empty.example", &[&[]])]);
    let reader = Reader::new(ReaderConfig { resolve: names, ..ReaderConfig::new(extractor()) }).unwrap();
    for (address, why) in [
        ("http://empty.example/", "empty.example has no address"),
        ("http://gone.example/", "gone.example was not found"),
    ] {
        let problem = reader.read(address, &at_once()).await.unwrap_err();
        assert_eq!(problem.status, SourceStatus::Unreachable);
        assert!(problem.note.contains(why), "{}", problem.note);
    }
}

#[tokio::test]
async fn an_allowed_place_is_allowed_also_after_a_redirect_and_nothing_beside_it() {
    let wiki = Site::start(|path| page(path, "wiki")).await;
    let port = wiki.address.port();
    let target = format!("http://wiki:{port}/page");
    let first =
        Site::start(move |path| if path == "/robots.txt" { status("404 Not Found") } else { moved(&target) })
            .await;
    let names = Names::new(&[("wiki", &[&["127.0.0.1"]]), ("a.wiki", &[&["127.0.0.1"]])]);
    let allow = vec![first.address.to_string(), format!("wiki:{port}")];
    let reader =
        Reader::new(ReaderConfig { allow, resolve: names, ..ReaderConfig::new(extractor()) }).unwrap();
    let page = reader.read(&first.url("/"), &at_once()).await.unwrap();
    assert_eq!(page.url, format!("http://wiki:{port}/page"));
    for beside in
        [format!("http://a.wiki:{port}/"), "http://wiki/".to_owned(), format!("http://user@wiki:{port}/")]
    {
        let problem = reader.read(&beside, &at_once()).await.expect_err(&beside);
        assert_eq!(problem.status, SourceStatus::Refused, "{beside}");
    }
}

#[test]
fn a_configuration_that_says_what_is_wrong() {
    let config = ReaderConfig { allow: vec!["wiki".to_owned()], ..ReaderConfig::new(extractor()) };
    let error = Reader::new(config).err().unwrap().to_string();
    assert!(error.contains("`wiki`") && error.contains("host:port"), "{error}");
    let missing = nightforge_sources::Extractor::new("/nowhere/nightforge".into(), Vec::new());
    let error = Reader::new(ReaderConfig::new(missing)).err().unwrap().to_string();
    assert!(error.contains("/nowhere/nightforge"), "{error}");
}

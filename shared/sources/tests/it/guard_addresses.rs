//! Addresses that must never be asked, in every spelling, straight and behind a redirect.

use std::sync::Arc;

use nightforge_domain::research::SourceStatus;
use nightforge_sources::{PageProblem, Reader, ReaderConfig};

use crate::reader_site::{Names, Site, at_once, config, extractor, html, moved, ok, prose, status};

/// Address, and what the note must say.
const REFUSED: &[(&str, &str)] = &[
    // Loopback and its spellings.
    ("http://127.0.0.1/", "loopback"),
    ("http://127.1/", "loopback"),
    ("http://127.0.1/", "loopback"),
    ("http://2130706433/", "loopback"),
    ("http://0x7f000001/", "loopback"),
    ("http://0x7f.0.0.1/", "loopback"),
    ("http://0x7f.1/", "loopback"),
    ("http://017700000001/", "loopback"),
    ("http://0177.0.0.1/", "loopback"),
    ("http://0177.0x0.0.1/", "loopback"),
    ("http://127.0.0.1./", "loopback"),
    ("http://127.255.255.254/", "loopback"),
    ("http://%31%32%37.0.0.1/", "loopback"),
    ("http://127%2e0%2e0%2e1/", "loopback"),
    ("http://①②⑦.⓪.⓪.①/", "loopback"),
    ("http://１２７.０.０.１/", "loopback"),
    ("http://127。0。0。1/", "loopback"),
    ("http:\\\\127.0.0.1\\", "loopback"),
    ("http:127.0.0.1", "loopback"),
    ("http:///127.0.0.1/", "loopback"),
    ("http://1\t27.0.0.1/", "loopback"),
    ("https://127.0.0.1/", "loopback"),
    ("http://127.0.0.1:443/", "loopback"),
    // Other nets that are not public.
    ("http://0.0.0.0/", "this network"),
    ("http://0/", "this network"),
    ("http://0.1.2.3/", "this network"),
    ("http://10.0.0.1/", "private"),
    ("http://167772161/", "private"),
    ("http://012.0.0.1/", "private"),
    ("http://172.16.0.1/", "private"),
    ("http://172.31.255.255/", "private"),
    ("http://192.168.1.1/", "private"),
    ("http://0xc0a80101/", "private"),
    ("http://100.64.0.1/", "shared by a carrier"),
    ("http://100.100.100.200/latest/meta-data/", "shared by a carrier"),
    ("http://169.254.169.254/latest/meta-data/", "link-local"),
    ("http://2852039166/", "link-local"),
    ("http://0xa9fea9fe/", "link-local"),
    ("http://0251.0376.0251.0376/", "link-local"),
    ("http://192.0.0.192/", "reserved for protocols"),
    ("http://192.0.2.1/", "for documentation"),
    ("http://192.88.99.1/", "a 6to4 relay"),
    ("http://198.18.0.1/", "for benchmarks"),
    ("http://198.19.255.255/", "for benchmarks"),
    ("http://198.51.100.1/", "for documentation"),
    ("http://203.0.113.1/", "for documentation"),
    ("http://224.0.0.1/", "multicast"),
    ("http://240.0.0.1/", "reserved"),
    ("http://255.255.255.255/", "reserved"),
    // IPv6, and IPv4 wrapped in it.
    ("http://[::]/", "unspecified"),
    ("http://[::1]/", "loopback"),
    ("http://[0:0:0:0:0:0:0:1]/", "loopback"),
    ("http://[::ffff:127.0.0.1]/", "loopback"),
    ("http://[::ffff:7f00:1]/", "loopback"),
    ("http://[::127.0.0.1]/", "loopback"),
    ("http://[::ffff:169.254.169.254]/", "link-local"),
    ("http://[64:ff9b::7f00:1]/", "loopback"),
    ("http://[64:ff9b::169.254.169.254]/", "link-local"),
    ("http://[64:ff9b:1::10.0.0.1]/", "a translator's own"),
    ("http://[2002:7f00:1::]/", "loopback"),
    ("http://[2002:a9fe:a9fe::1]/", "link-local"),
    ("http://[2002:c0a8:101::1]/", "private"),
    ("http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/", "reserved for protocols"),
    ("http://[2001:10::1]/", "reserved for protocols"),
    ("http://[2001:db8::1]/", "for documentation"),
    ("http://[3fff::1]/", "for documentation"),
    ("http://[100::1]/", "discarded"),
    ("http://[5f00::1]/", "not given out"),
    ("http://[::ffff:0:127.0.0.1]/", "not given out"),
    ("http://[fc00::1]/", "private"),
    ("http://[fd00:ec2::254]/latest/meta-data/", "private"),
    ("http://[fe80::1]/", "link-local"),
    ("http://[febf::1]/", "link-local"),
    ("http://[fec0::1]/", "site-local"),
    ("http://[ff02::1]/", "multicast"),
    // Names that are not looked up.
    ("http://localhost/", "names under `localhost`"),
    ("http://LOCALHOST/", "names under `localhost`"),
    ("http://localhost./", "names under `localhost`"),
    ("http://a.localhost/", "names under `localhost`"),
    ("http://ｌｏｃａｌｈｏｓｔ/", "names under `localhost`"),
    ("http://l%6fcalhost/", "names under `localhost`"),
    ("http://localhost.localdomain/", "names under `localdomain`"),
    ("http://printer.local/", "names under `local`"),
    ("http://metadata.google.internal/computeMetadata/v1/", "names under `internal`"),
    ("http://metadata.google.internal./", "names under `internal`"),
    ("http://nas.home.arpa/", "names under `home.arpa`"),
    ("http://hidden.onion/", "names under `onion`"),
    ("http://wiki/", "without a dot"),
    ("http://metadata/", "without a dot"),
    // Schemes, ports, credentials, and what is no address.
    ("file:///etc/passwd", "only http and https"),
    ("ftp://example.com/", "only http and https"),
    ("gopher://example.com:70/_", "only http and https"),
    ("data:text/html,hello", "only http and https"),
    ("javascript:alert(1)", "only http and https"),
    ("unix:/run/docker.sock", "only http and https"),
    ("demo://nassau/pilates", "only http and https"),
    ("http://public.example:8080/", "only ports 80 and 443"),
    ("http://public.example:22/", "only ports 80 and 443"),
    ("https://public.example:0/", "only ports 80 and 443"),
    ("http://user@public.example/", "user name"),
    ("http://user:secret@public.example/", "user name"),
    ("http://:secret@public.example/", "user name"),
    ("http://public.example@127.0.0.1/", "user name"),
    ("http://public.example%00@127.0.0.1/", "user name"),
    ("http://127.0.0.1#@public.example/", "loopback"),
    ("http://127.0.0.1?@public.example/", "loopback"),
    ("http://127.0.0.1\\@public.example/", "loopback"),
    ("http://256.0.0.1/", "no address"),
    ("http://127.0.0.1.5/", "no address"),
    ("http://0x1ffffffff/", "no address"),
    ("http://[::1/", "no address"),
    ("http://[fe80::1%25eth0]/", "no address"),
    ("http://public.example:99999/", "no address"),
    ("http://exa mple.com/", "no address"),
    ("http://a%00b.example/", "no address"),
    ("http:///", "no address"),
    ("notes.md#L1-L2", "no address"),
    ("", "no address"),
    // Names whose addresses are not public.
    ("http://loop.example/", "127.0.0.1, which is not public (loopback)"),
    ("http://meta.example/", "169.254.169.254, which is not public (link-local)"),
    ("http://mixed.example/", "10.0.0.7, which is not public (private)"),
    ("http://mixed6.example/", "fd00::7, which is not public (private)"),
    ("http://mapped.example/", "loopback"),
    ("http://sixtofour.example/", "loopback"),
];

fn names() -> Arc<Names> {
    Names::new(&[
        ("public.example", &[&["192.0.78.9"]]),
        ("loop.example", &[&["127.0.0.1"]]),
        ("meta.example", &[&["169.254.169.254"]]),
        ("mixed.example", &[&["192.0.78.9", "10.0.0.7"]]),
        ("mixed6.example", &[&["192.0.78.9", "fd00::7"]]),
        ("mapped.example", &[&["::ffff:127.0.0.1"]]),
        ("sixtofour.example", &[&["2002:7f00:1::1"]]),
    ])
}

fn assert_refused(problem: &PageProblem, address: &str, why: &str) {
    assert_eq!(problem.status, SourceStatus::Refused, "{address}: {}", problem.note);
    assert!(problem.note.contains(why), "{address}: `{}` does not say `{why}`", problem.note);
}

#[tokio::test]
async fn refused_before_anything_is_asked() {
    assert!(REFUSED.len() >= 60);
    let names = names();
    let reader =
        Reader::new(ReaderConfig { resolve: names.clone(), ..ReaderConfig::new(extractor()) }).unwrap();
    for (address, why) in REFUSED {
        let problem = reader.read(address, &at_once()).await.expect_err(address);
        assert_refused(&problem, address, why);
    }
    // Only names that could be public were looked up, and each once.
    let asked = names.asked();
    assert_eq!(
        asked,
        [
            "loop.example",
            "meta.example",
            "mixed.example",
            "mixed6.example",
            "mapped.example",
            "sixtofour.example"
        ]
    );
}

#[tokio::test]
async fn refused_behind_a_redirect() {
    // What can't stand in a header line, or means something else after a base address, is left to the test above.
    let relative = ["no address", "only http and https are read, not demo"];
    let targets: Vec<(&str, &str)> = REFUSED
        .iter()
        .copied()
        .filter(|(address, why)| !relative.contains(why) && !address.contains('\t'))
        .chain([
            // Without a scheme of its own.
            ("//127.0.0.1/", "loopback"),
            ("//localhost/", "names under `localhost`"),
            ("\\\\127.0.0.1/", "loopback"),
            ("/\\127.0.0.1/", "loopback"),
            ("//user@public.example/", "user name"),
        ])
        .collect();
    let script: Vec<String> = targets.iter().map(|(address, _)| (*address).to_owned()).collect();
    let site =
        Site::start(move |path| match path.strip_prefix("/to/").and_then(|n| n.parse::<usize>().ok()) {
            Some(n) => moved(&script[n]),
            None => status("404 Not Found"),
        })
        .await;
    let reader = Reader::new(ReaderConfig { resolve: names(), ..config(&[&site]) }).unwrap();
    for (n, (target, why)) in targets.iter().enumerate() {
        // The one spelling that is a path of the site itself once it stands behind a base address.
        if *target == "http:127.0.0.1" {
            continue;
        }
        let problem = reader.read(&site.url(&format!("/to/{n}")), &at_once()).await.expect_err(target);
        assert_refused(&problem, target, why);
    }
}

#[tokio::test]
async fn a_redirect_to_a_port_that_is_not_allowed_reaches_nobody() {
    let trap = Site::start(|_| ok("text/html", html(&prose()))).await;
    let target = trap.url("/secret");
    let site =
        Site::start(move |path| if path == "/robots.txt" { status("404 Not Found") } else { moved(&target) })
            .await;
    let problem = crate::reader_site::reader(&[&site]).read(&site.url("/a"), &at_once()).await.unwrap_err();
    assert_refused(&problem, "the trap", "only ports 80 and 443");
    assert!(trap.requests().is_empty());
}

#[tokio::test]
async fn five_redirects_are_followed_and_six_are_not() {
    let site = Site::start(|path| match path.strip_prefix("/hop/").and_then(|n| n.parse::<u32>().ok()) {
        Some(0) => ok("text/html", html(&format!("<p>{}</p>", prose()))),
        Some(n) => moved(&format!("/hop/{}", n - 1)),
        None if path == "/round" => moved("/round"),
        None => status("404 Not Found"),
    })
    .await;
    let reader = crate::reader_site::reader(&[&site]);
    let page = reader.read(&site.url("/hop/5"), &at_once()).await.unwrap();
    assert_eq!(page.url, site.url("/hop/0"));
    for path in ["/hop/6", "/round"] {
        let problem = reader.read(&site.url(path), &at_once()).await.unwrap_err();
        assert_refused(&problem, path, "more than 5 redirects");
    }
    assert_eq!(site.paths().iter().filter(|path| *path == "/round").count(), 6);
}

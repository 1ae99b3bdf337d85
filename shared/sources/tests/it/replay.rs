//! Recorded answers: written from live ones, given again without a network.

use std::fs;

use nightforge_sources::search::{Recorded, Recording, Replay, SearxNg, SearxNgConfig};
use nightforge_sources::{Backend, Hit, Search, SearchAnswer};

use crate::servers::{JSON, Server, answer, patience};

fn hit(url: &str) -> Hit {
    Hit {
        url: url.to_owned(),
        title: "T".to_owned(),
        snippet: "s".to_owned(),
        published: None,
        text: None,
        placeholder: false,
    }
}

fn line(query: &str, answer: SearchAnswer, is_demo: bool) -> String {
    serde_json::to_string(&Recording { query: query.to_owned(), answer, is_demo }).unwrap() + "\n"
}

#[tokio::test]
async fn live_answers_are_written_and_given_again() {
    let server = Server::start(|seen| match seen.query["q"].as_str() {
        "down" => answer(500, "", "broken"),
        "nothing" => answer(200, JSON, r#"{"results":[]}"#),
        query => {
            let body =
                format!(r#"{{"results":[{{"url":"https://a.example/{query}","title":"A","content":"a"}}]}}"#);
            answer(200, JSON, body)
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.jsonl");
    let config = SearxNgConfig { base_url: server.url.clone(), language: None, patience: patience() };
    let live =
        Backend::Recorded(Recorded::new(Backend::SearxNg(SearxNg::new(config).unwrap()), &file).unwrap());
    assert_eq!((live.name(), live.is_demo()), ("searxng", false), "a recorder is seen by nobody");
    let search = Search::new(vec![live]).unwrap();
    let first = search.search("Price", 5).await;
    assert!(matches!(search.search("nothing", 5).await.answer, SearchAnswer::Empty));
    assert!(matches!(search.search("down", 5).await.answer, SearchAnswer::Unavailable { .. }));

    let replay = Backend::Replay(Replay::new(&file).unwrap());
    assert_eq!((replay.name(), replay.is_demo()), ("replay", false));
    assert_eq!(replay.search("nothing", 5).await, SearchAnswer::Empty);
    let SearchAnswer::Hits { hits } = replay.search("  price\n", 5).await else { panic!("no hits") };
    let SearchAnswer::Hits { hits: live_hits } = first.answer else { panic!("no hits") };
    assert_eq!(hits, live_hits.into_iter().map(|named| named.hit).collect::<Vec<_>>());
    assert_eq!(server.seen().len(), 3, "nothing is asked again");

    let SearchAnswer::Unavailable { reason, .. } = replay.search("down", 5).await else {
        panic!("an answer")
    };
    assert!(reason.contains("`down`") && reason.contains("answers.jsonl"), "{reason}");
    assert!(reason.contains("was not recorded"), "{reason}");
}

#[tokio::test]
async fn a_recording_is_added_to_and_its_last_answer_holds() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first.jsonl"), folder.path().join("second.jsonl"));
    let old = line("ﬁne Ａ", SearchAnswer::Empty, false);
    let new = line("FINE a", SearchAnswer::of(vec![hit("https://a/"), hit("https://b/")]), true);
    fs::write(&first, format!("{old}\n{new}")).unwrap();
    let replay = Backend::Replay(Replay::new(&first).unwrap());
    assert!(replay.is_demo(), "a recording of invented answers stays one");
    let recorded = Backend::Recorded(Recorded::new(replay, &second).unwrap());
    let SearchAnswer::Hits { hits } = recorded.search("fine a", 1).await else { panic!("no hits") };
    assert_eq!(hits, [hit("https://a/")]);
    recorded.search("fine A", 5).await;
    assert_eq!(fs::read_to_string(&second).unwrap().lines().count(), 2);
    let again = Backend::Replay(Replay::new(&second).unwrap());
    assert!(again.is_demo());
    let SearchAnswer::Hits { hits } = again.search("fine a", 5).await else { panic!("no hits") };
    assert_eq!(hits.len(), 2);
}

#[tokio::test]
async fn a_limit_of_none_makes_no_empty_answer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.jsonl");
    fs::write(&file, line("x", SearchAnswer::of(vec![hit("https://a/")]), false)).unwrap();
    let replay = Backend::Replay(Replay::new(&file).unwrap());
    assert_ne!(replay.search("x", 0).await, SearchAnswer::Empty);
    let found = Search::new(vec![replay]).unwrap().search("x", 0).await;
    assert!(matches!(&found.answer, SearchAnswer::Hits { hits } if hits.len() == 1), "{found:?}");
}

#[tokio::test]
async fn many_answers_at_once_are_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from.jsonl"), folder.path().join("to.jsonl"));
    let long = Hit { snippet: "x".repeat(20_000), ..hit("https://a/") };
    let lines: Vec<String> =
        (0..40).map(|at| line(&format!("q{at}"), SearchAnswer::of(vec![long.clone()]), false)).collect();
    fs::write(&from, lines.concat()).unwrap();
    let recorded =
        Backend::Recorded(Recorded::new(Backend::Replay(Replay::new(&from).unwrap()), &to).unwrap());
    let queries: Vec<String> = (0..40).map(|at| format!("q{at}")).collect();
    futures_util::future::join_all(queries.iter().map(|query| recorded.search(query, 5))).await;
    let replay = Backend::Replay(Replay::new(&to).unwrap());
    for query in &queries {
        assert!(matches!(replay.search(query, 5).await, SearchAnswer::Hits { .. }), "{query}");
    }
}

#[test]
fn a_recording_that_cannot_be_used_is_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.jsonl");
    let refused = || Replay::new(&file).unwrap_err().to_string();
    assert!(refused().contains("answers.jsonl") && refused().contains("record one first"), "{}", refused());
    fs::write(&file, "\n").unwrap();
    assert!(refused().contains("holds no answer"), "{}", refused());
    for wrong in
        ["{\"query\": \"x\"}", "{\"query\": \"x\", \"answer\": {\"answer\": \"empty\"}, \"demo\": true}", "?"]
    {
        fs::write(&file, line("x", SearchAnswer::Empty, false) + wrong).unwrap();
        assert!(refused().contains("line 2"), "{}", refused());
    }
    let nowhere = folder.path().join("none/answers.jsonl");
    fs::write(&file, line("x", SearchAnswer::Empty, false)).unwrap();
    let replay = Backend::Replay(Replay::new(&file).unwrap());
    let error = Recorded::new(replay, &nowhere).unwrap_err().to_string();
    assert!(error.contains("none/answers.jsonl") && error.contains("can't be written"), "{error}");
}

use std::time::Duration;

use nightforge_services::Postgres;

use crate::{all_end, ask, children, folders, runs};

/// The first message of a client: protocol 3.0, user and database `postgres`.
const HELLO: &[u8] = b"\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0";
const SOON: Duration = Duration::from_secs(5);

fn lets_in(postgres: &Postgres, within: Duration) -> bool {
    ask(postgres.port(), HELLO, within).is_ok_and(|answer| answer.first() == Some(&b'R'))
}

#[test]
fn each_server_is_its_own_and_leaves_nothing() {
    let (one, two) = (Postgres::start().unwrap(), Postgres::start().unwrap());
    assert_ne!(one.url(), two.url());
    assert!(lets_in(&one, SOON) && lets_in(&two, SOON));
    let data = [one.data().to_owned(), two.data().to_owned()];
    assert_ne!(data[0], data[1]);
    let parents = [one.process_id().unwrap(), two.process_id().unwrap()];
    let all: Vec<u32> = parents.iter().flat_map(|id| children(*id)).chain(parents).collect();
    assert!(all.len() > 6, "a server is several processes: {all:?}");
    drop((one, two));
    assert!(all_end(&all));
    assert!(!folders("nightforge-postgres-").iter().any(|folder| data.iter().any(|d| d.starts_with(folder))));
}

#[test]
fn a_killed_server_comes_back_on_its_port() {
    let mut postgres = Postgres::start().unwrap();
    let (url, parent) = (postgres.url(), postgres.process_id().unwrap());
    let mut all = children(parent);
    all.push(parent);
    postgres.kill().unwrap();
    assert!(!all.iter().any(|id| runs(*id)), "none is left");
    assert!(ask(postgres.port(), HELLO, SOON).is_err(), "nobody answers");
    postgres.restart().unwrap();
    assert_eq!(postgres.url(), url);
    assert!(lets_in(&postgres, SOON));
    let second = postgres.process_id().unwrap();
    postgres.restart().unwrap();
    assert!(!runs(second) && lets_in(&postgres, SOON));
}

#[test]
fn a_frozen_server_is_silent_until_it_thaws() {
    let mut postgres = Postgres::start().unwrap();
    postgres.freeze();
    assert!(!lets_in(&postgres, Duration::from_millis(300)));
    postgres.thaw();
    assert!(lets_in(&postgres, SOON));
    postgres.freeze();
    let parent = postgres.process_id().unwrap();
    drop(postgres);
    assert!(!runs(parent), "a frozen one ends as well");
}

#[test]
fn a_bad_setting_is_told() {
    let error = Postgres::start_with(&["no_such_setting=1"]).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("no_such_setting"), "{error}");
}

#[test]
fn a_server_with_tls_says_so() {
    let postgres = Postgres::start_with_tls().unwrap();
    const ASK_FOR_TLS: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
    assert_eq!(ask(postgres.port(), ASK_FOR_TLS, SOON).unwrap(), b"S");
    assert!(std::fs::read_to_string(postgres.certificate()).unwrap().contains("BEGIN CERTIFICATE"));
    let plain = Postgres::start().unwrap();
    assert_eq!(ask(plain.port(), ASK_FOR_TLS, SOON).unwrap(), b"N");
}

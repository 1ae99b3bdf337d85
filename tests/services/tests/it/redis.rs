use std::time::Duration;

use nightforge_services::Redis;

use crate::{all_end, ask, runs};

const SOON: Duration = Duration::from_secs(5);
const SET: &[u8] = b"SET key value\r\n";
const GET: &[u8] = b"GET key\r\n";

#[test]
fn each_server_is_its_own() {
    let (one, two) = (Redis::start().unwrap(), Redis::start().unwrap());
    assert_ne!(one.port(), two.port());
    assert_eq!(ask(one.port(), SET, SOON).unwrap(), b"+OK\r\n");
    assert_eq!(ask(two.port(), GET, SOON).unwrap(), b"$-1\r\n", "what is in one is not in the other");
    let ids = [one.process_id().unwrap(), two.process_id().unwrap()];
    drop((one, two));
    assert!(!ids.into_iter().any(runs), "they are gone with their values");
}

#[test]
fn a_server_comes_back_empty_on_its_port() {
    let mut redis = Redis::start().unwrap();
    let (port, first) = (redis.port(), redis.process_id().unwrap());
    ask(port, SET, SOON).unwrap();
    redis.restart().unwrap();
    assert!(!runs(first));
    assert_eq!(redis.port(), port);
    assert_eq!(ask(port, GET, SOON).unwrap(), b"$-1\r\n");
    let second = redis.process_id().unwrap();
    redis.kill().unwrap();
    assert!(all_end(&[second]) && redis.process_id().is_none());
    assert!(ask(port, GET, SOON).is_err(), "nobody answers");
    redis.restart().unwrap();
    assert_eq!(ask(port, GET, SOON).unwrap(), b"$-1\r\n");
}

#[test]
fn a_frozen_server_is_silent_until_it_thaws() {
    let mut redis = Redis::start().unwrap();
    redis.freeze();
    assert!(ask(redis.port(), GET, Duration::from_millis(300)).is_err());
    redis.thaw();
    assert_eq!(ask(redis.port(), GET, SOON).unwrap(), b"$-1\r\n");
    redis.freeze();
    let id = redis.process_id().unwrap();
    drop(redis);
    assert!(!runs(id), "a frozen one ends as well");
}

#[test]
fn arguments_reach_the_server_and_bad_ones_are_told() {
    let redis = Redis::start_with(&["--maxmemory-policy", "allkeys-lru"]).unwrap();
    let answer = ask(redis.port(), b"CONFIG GET maxmemory-policy\r\n", SOON).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("allkeys-lru"));
    let error = Redis::start_with(&["--no-such-setting", "1"]).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("no-such-setting"), "{error}");
}

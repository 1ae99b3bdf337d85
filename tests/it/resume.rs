//! A build that is killed goes on where it was.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nightforge_tests::{clone, demo_command, json, look, start, trailers};
use serde_json::Value;

/// Kills of one story.
const KILLS: usize = 5;

/// Story seeds: each gives other moments for the kills.
const SEEDS: [u64; 6] = [1, 2, 3, 5, 8, 13];

/// A small generator, so that a failing story can be told again from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// How long an undisturbed build takes here: kills are spread over it.
fn undisturbed() -> (Duration, Vec<String>) {
    let data = tempfile::tempdir().unwrap();
    let started = Instant::now();
    json(&demo_command(data.path()).output().unwrap());
    (started.elapsed(), look::records(data.path())[0].story())
}

fn kill_and_go_on(data: &Path, random: &mut Random, whole: Duration) -> Value {
    for _ in 0..KILLS {
        let mut child = start(demo_command(data));
        let moment = Duration::from_millis(100 + random.below(whole.as_millis() as u64 * 2 / 5));
        let started = Instant::now();
        while started.elapsed() < moment && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // SIGKILL: nothing of the process gets to clean up.
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.signal().is_none() {
            return json(&output);
        }
    }
    json(&start(demo_command(data)).wait_with_output().unwrap())
}

#[test]
fn a_build_that_is_killed_five_times_has_the_same_end() {
    let (whole, story) = undisturbed();
    for seed in SEEDS {
        let data = tempfile::tempdir().unwrap();
        let report = kill_and_go_on(data.path(), &mut Random(seed), whole);
        let task = &report["tasks"][0];
        assert_eq!(task["state"], "completed", "seed {seed}: {report}");
        let total = task["features"]["total"].as_u64().unwrap();
        assert_eq!(task["features"]["passed"].as_u64(), Some(total), "seed {seed}");

        let records = look::records(data.path());
        assert_eq!(records.len(), 1, "seed {seed}: the same task went on");
        let record = &records[0];
        assert!(record.is_completed(), "seed {seed}");
        record.assert_events_without_gap();
        record.assert_nothing_twice();
        assert_eq!(record.story(), story, "seed {seed}: the log without recovery entries");

        let folder = clone(task["repository"].as_str().unwrap(), data.path());
        let mut proven = trailers(&folder, "Feature");
        assert_eq!(proven.len() as u64, total, "seed {seed}: {proven:?}");
        proven.dedup();
        assert_eq!(proven.len() as u64, total, "seed {seed}: no feature twice");
    }
}

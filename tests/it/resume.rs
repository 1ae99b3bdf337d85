//! A build that is killed again and again goes on where it was, and ends as if nothing had happened.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nightforge_tests::{clone, demo_command, json, look, start, trailers};
use serde_json::Value;

/// Kills of one story; the sixth start runs to the end.
const KILLS: usize = 5;

/// Each start lives for a random time up to this long: five of them cover most of a build.
const LONGEST_LIFE_MS: u64 = 9_000;

/// A small generator, so that a failing story can be told again from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Starts the demo on the folder and kills it, five times; then lets it end. Returns what it printed, and how often
/// it was killed.
fn kill_and_go_on(data: &Path, random: &mut Random) -> (Value, usize) {
    for kill in 0..KILLS {
        let mut child = start(demo_command(data));
        let life = Duration::from_millis(50 + random.below(LONGEST_LIFE_MS));
        let started = Instant::now();
        while started.elapsed() < life && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // SIGKILL: nothing of the process gets to clean up.
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.signal().is_none() {
            return (json(&output), kill);
        }
    }
    (json(&start(demo_command(data)).wait_with_output().unwrap()), KILLS)
}

/// Tells the story of one seed.
fn story(seed: u64) {
    let data = tempfile::tempdir().unwrap();
    let (report, kills) = kill_and_go_on(data.path(), &mut Random(seed));
    let task = &report["tasks"][0];
    assert_eq!(task["state"], "completed", "seed {seed}: {report}");
    let total = task["features"]["total"].as_u64().unwrap();
    assert_eq!(task["features"]["passed"].as_u64(), Some(total), "seed {seed}");

    let records = look::records(data.path());
    assert_eq!(records.len(), 1, "seed {seed}: the same task went on");
    let record = &records[0];
    println!(
        "seed {seed}: {kills} kills, {} jobs taken over, {} model calls",
        record.rescues(),
        record.model_calls
    );
    assert!(kills >= 3, "seed {seed}: the kills must hit the build");
    assert!(record.rescues() >= 1, "seed {seed}: at least one kill must hit a job");
    record.assert_events_without_gap();
    record.assert_nothing_twice();
    record.assert_no_finished_step_repeated();
    record.assert_demo_story();

    let folder = clone(task["repository"].as_str().unwrap(), data.path());
    let mut proven = trailers(&folder, "Feature");
    assert_eq!(proven.len() as u64, total, "seed {seed}: {proven:?}");
    proven.sort();
    proven.dedup();
    assert_eq!(proven.len() as u64, total, "seed {seed}: no feature twice");
}

// A test for each seed, so that they run beside each other.
macro_rules! seeds {
    ($($name:ident $seed:literal),* $(,)?) => {
        $(#[test] fn $name() { story($seed); })*
    };
}

seeds! {
    killed_by_seed_1 1, killed_by_seed_2 2, killed_by_seed_3 3, killed_by_seed_5 5,
    killed_by_seed_8 8, killed_by_seed_13 13, killed_by_seed_21 21, killed_by_seed_34 34,
}

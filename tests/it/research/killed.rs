//! Research that is killed again and again goes on where it was: its log is the one of an undisturbed run.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nightforge_tests::team::{StepCount, TeamRecord};
use nightforge_tests::{json, research_demo_command, start};
use serde_json::Value;

/// Kills of one story; the sixth start runs to the end.
const KILLS: usize = 5;

/// Each start lives until it has journaled one to so many steps, and a moment longer: however slow the machine, the
/// kill meets work.
const MOST_STEPS: u64 = 6;
const LONGEST_MOMENT_MS: u64 = 150;

/// The model takes so long for each answer, so that a kill often meets one.
const PACE_MS: &str = "200";

/// A start that journals nothing for so long is killed all the same.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let command = || {
        let mut command = research_demo_command(data);
        command.args(["--pace", PACE_MS]);
        command
    };
    for kill in 0..KILLS {
        let (mut child, started) = (start(command()), Instant::now());
        let mut goes_on = || started.elapsed() < PATIENCE && child.try_wait().unwrap().is_none();
        while !data.join("nightforge.db").exists() && goes_on() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let steps = StepCount::open(data);
        let (begun, life) = (steps.now(), 1 + random.below(MOST_STEPS));
        println!("a life of {life} steps after {begun}");
        while steps.now() < begun + life && goes_on() {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(random.below(LONGEST_MOMENT_MS)));
        // SIGKILL: nothing of the process gets to clean up.
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.signal().is_none() {
            return (json(&output), kill);
        }
    }
    (json(&start(command()).wait_with_output().unwrap()), KILLS)
}

/// Tells the story of one seed.
fn story(seed: u64) {
    let data = tempfile::tempdir().unwrap();
    let (report, kills) = kill_and_go_on(data.path(), &mut Random(seed));
    assert_eq!(report["tasks"][0]["state"], "completed", "seed {seed}: {report}");
    let record = TeamRecord::only(data.path());
    println!(
        "seed {seed}: {kills} kills, {} claims again, {} model calls",
        record.claims_again(),
        record.model_calls
    );
    assert!(kills >= 3, "seed {seed}: the kills must hit the work");
    assert!(record.count("lease-expired") >= 1, "seed {seed}: at least one kill must hit a job");
    record.assert_history();
    record.assert_result_is_full();
    record.assert_key_findings_hold();
    record.assert_golden();
}

// A test for each seed, so that they run beside each other.
macro_rules! seeds {
    ($($name:ident $seed:literal),* $(,)?) => {
        $(#[test] fn $name() { story($seed); })*
    };
}

seeds! {
    killed_by_seed_1 1, killed_by_seed_2 2, killed_by_seed_3 3,
    killed_by_seed_5 5, killed_by_seed_8 8, killed_by_seed_13 13,
}

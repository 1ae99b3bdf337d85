//! When a command is over, all of it is over.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::Duration;

use super::super::{Exit, OUTPUT_LIMIT, RunOptions, Sandbox, Tier};
use super::{Place, nap, processes_with, sandbox, sleepers};

fn within(timeout: Duration) -> RunOptions {
    RunOptions { timeout, ..RunOptions::default() }
}

#[tokio::test]
async fn a_process_does_not_outlive_its_command() {
    let place = Place::new();
    let nap = nap(1);
    let command = format!(
        "setsid nohup sleep {nap} >/dev/null 2>&1 </dev/null & sleep {nap} & \
         (trap '' TERM HUP; exec sleep {nap}) & sleep 0.2; ps -eo args | grep -c '^sleep {nap}'"
    );
    let run = place.run(&command).await;
    assert_eq!(run.output, "3\n", "the attack ran");
    assert_eq!(run.exit, Exit::Code(0));
    assert_eq!(sleepers(&nap), Vec::<i32>::new());
}

#[tokio::test]
async fn all_are_dead_at_the_moment_of_return() {
    let place = Place::new();
    // Many, so that their end takes a while, and none holds the output open.
    let nap = nap(2);
    let command = format!(
        "for n in $(seq 300); do setsid sleep {nap} >/dev/null 2>&1 & done; sleep 0.5; \
         setsid sh -c 'exec >/dev/null 2>&1; while :; do date +%N > beat; done' & sleep 0.1"
    );
    for _ in 0..5 {
        place.run(&command).await;
        assert_eq!(sleepers(&nap), Vec::<i32>::new());
        let before = fs::read(place.workspace.join("beat")).unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(before, fs::read(place.workspace.join("beat")).unwrap());
    }
}

#[tokio::test]
async fn time_that_is_over_ends_everything() {
    let place = Place::new();
    let nap = nap(3);
    let run = place
        .run_with(
            &format!("echo before; trap '' TERM; sleep {nap} & sleep {nap}"),
            &within(Duration::from_millis(300)),
        )
        .await;
    assert_eq!(run.exit, Exit::TimedOut);
    assert_eq!(run.output, "before\n");
    assert!(
        run.duration >= Duration::from_millis(300) && run.duration < Duration::from_secs(5),
        "{:?}",
        run.duration
    );
    assert_eq!(sleepers(&nap), Vec::<i32>::new());
}

#[tokio::test]
async fn a_flood_is_cut_and_ended() {
    let place = Place::new();
    let run = place.run("yes").await;
    assert!(run.truncated);
    assert_eq!(run.output.len(), OUTPUT_LIMIT);
    assert_eq!(run.exit, Exit::Signal(9));
    let exact = place.run(&format!("head -c {OUTPUT_LIMIT} /dev/zero | tr '\\0' x")).await;
    assert!(!exact.truncated, "exactly the limit is not a flood");
    assert_eq!((exact.exit, exact.output.len()), (Exit::Code(0), OUTPUT_LIMIT));
}

#[tokio::test]
async fn dropping_the_future_ends_everything() {
    let place = Place::new();
    let nap = nap(4);
    let command = format!("setsid sleep {nap} & touch started; sleep {nap}");
    let options = RunOptions::default();
    let mark = place.workspace.join("started");
    {
        let run = sandbox().run(&place.workspace, None, &command, &options);
        let started = async {
            while !mark.exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            _ = run => panic!("ended by itself"),
            () = started => {}
        }
    }
    assert_eq!(sleepers(&nap), Vec::<i32>::new());
}

#[tokio::test]
async fn dropping_the_future_at_any_moment_of_its_start_leaves_nothing() {
    let place = Place::new();
    let nap = nap(5);
    let command = format!("sleep {nap}");
    for delay_us in (0..20_000).step_by(500) {
        let options = RunOptions::default();
        let run = sandbox().run(&place.workspace, None, &command, &options);
        let cut = tokio::time::timeout(Duration::from_micros(delay_us), run).await;
        assert!(cut.is_err());
    }
    // A child that is killed while it starts may need a moment to read the end of its gate.
    until(|| processes_with(&nap).is_empty()).await;
}

#[tokio::test]
async fn a_fork_bomb_stays_inside() {
    let place = Place::new();
    let bomb = "python3 -c 'import os,time\nn=0\ntry:\n  while True:\n    if os.fork()==0: time.sleep(60); os._exit(0)\n    n+=1\nexcept OSError: print(n)'";
    let run = place.run_with(bomb, &within(Duration::from_secs(30))).await;
    let started: u32 = run.output.trim().parse().unwrap_or_else(|_| panic!("no limit: {run:?}"));
    assert!((500..=1024).contains(&started), "{started}");
    let run = place.run_with("b() { b | b & }; b; sleep 1", &within(Duration::from_secs(3))).await;
    assert!(run.duration < Duration::from_secs(15), "{:?}", run.duration);
    assert_eq!(place.run("echo alive").await.output, "alive\n");
}

#[tokio::test]
async fn many_commands_run_side_by_side() {
    let place = Place::new();
    let options = RunOptions::default();
    let commands: Vec<String> = (0..16).map(|n| format!("sleep 0.1; echo {n}")).collect();
    let mut runs = tokio::task::JoinSet::new();
    for (n, command) in commands.into_iter().enumerate() {
        let (workspace, options) = (place.workspace.clone(), options.clone());
        runs.spawn(
            async move { (n, sandbox().run(&workspace, None, &command, &options).await.unwrap().output) },
        );
    }
    while let Some(run) = runs.join_next().await {
        let (n, output) = run.unwrap();
        assert_eq!(output, format!("{n}\n"));
    }
}

/// Set in a harness that a test starts in order to kill it: how long its commands sleep.
const NAP: &str = "NIGHTFORGE_TEST_NAP";

#[tokio::test]
async fn a_killed_harness_takes_its_commands_along() {
    if let Ok(nap) = std::env::var(NAP) {
        let place = Place::new();
        place.run(&format!("setsid sleep {nap} & sleep {nap}")).await;
        return;
    }
    let nap = nap(6);
    let mut harness = again("sandbox::tests::endings::a_killed_harness_takes_its_commands_along");
    let mut harness = harness.env(NAP, &nap).spawn().unwrap();
    until(|| sleepers(&nap).len() == 2).await;
    harness.kill().unwrap();
    harness.wait().unwrap();
    until(|| processes_with(&nap).is_empty()).await;
}

#[tokio::test]
async fn a_harness_that_is_killed_while_sandboxes_start_leaves_nothing() {
    if let Ok(nap) = std::env::var(NAP) {
        let place = Place::new();
        let (command, options) = (format!("sleep {nap}"), within(Duration::from_secs(60)));
        let starts = (0..100).map(|_| sandbox().run(&place.workspace, None, &command, &options));
        let mut starts: Vec<_> = starts.map(Box::pin).collect();
        std::future::poll_fn(|context| {
            for start in &mut starts {
                let _ = start.as_mut().poll(context);
            }
            std::task::Poll::<()>::Pending
        })
        .await;
    }
    let nap = nap(7);
    for wait_ms in (0..60).step_by(4) {
        let mut harness =
            again("sandbox::tests::endings::a_harness_that_is_killed_while_sandboxes_start_leaves_nothing");
        let mut harness = harness.env(NAP, &nap).spawn().unwrap();
        until(|| !processes_with(&nap).is_empty()).await;
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        harness.kill().unwrap();
        harness.wait().unwrap();
    }
    until(|| processes_with(&nap).is_empty()).await;
}

/// This test program again, for one test.
#[expect(clippy::disallowed_methods, reason = "a harness that can be killed")]
pub(super) fn again(test: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).stdout(std::process::Stdio::null());
    command
}

async fn until(mut met: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if met() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within 10 s");
}

#[tokio::test]
async fn without_a_tier_the_group_still_dies() {
    let place = Place::new();
    let sandbox = Sandbox::without_tier();
    assert_eq!(sandbox.tier(), Tier::None);
    let options = within(Duration::from_secs(20));
    let nap = nap(8);
    let run = sandbox
        .run(&place.workspace, None, &format!("env; sleep {nap} & echo err >&2; exit 4"), &options)
        .await
        .unwrap();
    assert_eq!(run.exit, Exit::Code(4));
    assert!(run.output.contains("CI=1\n") && run.output.ends_with("err\n"), "{}", run.output);
    assert!(!run.output.contains("CARGO"), "{}", run.output);
    until(|| processes_with(&nap).is_empty()).await;

    let quiet = "exec >/dev/null 2>&1; sleep 0.3; exit 5";
    assert_eq!(sandbox.run(&place.workspace, None, quiet, &options).await.unwrap().exit, Exit::Code(5));
    let short = within(Duration::from_millis(200));
    let run =
        sandbox.run(&place.workspace, None, &format!("sleep {nap} & sleep {nap}"), &short).await.unwrap();
    assert_eq!(run.exit, Exit::TimedOut);
    until(|| processes_with(&nap).is_empty()).await;
}

#[test]
fn giving_a_workspace_away_follows_no_link() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let outside = place.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "x").unwrap();
    fs::create_dir(place.workspace.join("sub")).unwrap();
    fs::write(place.workspace.join("sub/file"), "x").unwrap();
    symlink(&outside, place.workspace.join("sub/link")).unwrap();
    sandbox().own(&place.workspace).unwrap();
    for path in ["", "sub", "sub/file", "sub/link"] {
        let owner = fs::symlink_metadata(place.workspace.join(path)).unwrap().uid();
        assert_eq!(owner, super::super::SANDBOX_UID, "{path}");
    }
    assert_eq!(fs::metadata(outside.join("file")).unwrap().uid(), 0);
    assert_eq!(fs::metadata(&outside).unwrap().uid(), 0);
}

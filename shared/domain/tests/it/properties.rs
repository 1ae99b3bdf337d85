//! What holds after every input of every history, sensible or not. A failing history is printed as a story.

use std::collections::{BTreeMap, BTreeSet};

use nightforge_domain::state::{Life, TaskState, Transition};
use nightforge_domain::{
    Event, FeatureId, Input, JobNo, JobResult, JobSpec, Limits, Millis, SessionOutcome, Status,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::play::Play;

/// Any sentence, most of them about the awaited job so that histories get somewhere.
fn sentence() -> impl Strategy<Value = String> {
    let result = select(vec![
        "pass",
        "pass",
        "pass",
        "already",
        "fail",
        "fail unchanged",
        "over",
        "over unchanged",
        "verified",
        "broken F001",
        "broken F002 F001",
        "broken F009",
        "mismatch",
        "init 0",
        "init 1",
        "init 2",
        "init 2",
        "init 3",
        "failed",
        "died",
        "ended",
    ]);
    let asked = select(vec![
        "submitted",
        "cancel",
        "retry",
        "retry",
        "retry 1",
        "retry 2",
        "deadline",
        "approve 1",
        "approve 2",
        "reject 1",
        "reject 2",
        "approve 3",
        "now 50",
        "now 150",
        "spent 400",
        "spent 900",
        "spent 2000",
    ]);
    prop_oneof![
        8 => result.clone().prop_map(str::to_owned),
        3 => asked.prop_map(str::to_owned),
        1 => (0..9u32, result).prop_map(|(job, result)| format!("job {job}: {result}")),
    ]
}

/// Tight limits, so that each of them is met.
fn limits() -> impl Strategy<Value = Limits> {
    (1..=2u32, 1..=3u32, 1..=3u32, 1..=6u32, select(vec![0, 500])).prop_map(
        |(min_features, max_attempts, rotate_after, max_sessions, max_tokens)| Limits {
            min_features,
            max_attempts,
            rotate_after,
            max_sessions,
            max_tokens,
            ..Limits::default()
        },
    )
}

fn task() -> impl Strategy<Value = Play> {
    (any::<bool>(), limits(), select(vec![None, Some(100)])).prop_map(|(approve, limits, deadline)| {
        let mut play = Play::new(approve);
        play.limits = limits;
        play.deadline = deadline.map(Millis);
        play
    })
}

/// What a history must add up to, kept beside the machine.
#[derive(Default)]
struct Books {
    /// Jobs that were created or made ready again and have not ended.
    open: BTreeMap<JobNo, JobSpec>,
    /// Jobs that ended without a result.
    fruitless: BTreeMap<JobNo, JobSpec>,
    proven: BTreeSet<FeatureId>,
    reported: bool,
    sessions: u32,
    verifications: u32,
    gates: u32,
}

impl Books {
    fn before(&mut self, input: &Input) {
        let Some(spec) = input.ended_job().and_then(|job| self.open.remove(&job)) else { return };
        match input {
            Input::JobDone { result: JobResult::Session(report), .. } => {
                let fits = matches!(&spec, JobSpec::Code { feature, .. } if *feature == report.feature);
                let proof =
                    matches!(report.outcome, SessionOutcome::Passed | SessionOutcome::AlreadySatisfied);
                if fits && proof {
                    self.proven.insert(report.feature.clone());
                }
            }
            Input::JobDone { .. } => {}
            ended => {
                self.fruitless.extend(ended.ended_job().map(|job| (job, spec)));
            }
        }
    }

    fn after(&mut self, input: &Input, transition: &Transition) {
        for event in &transition.events {
            match event {
                Event::FeaturesRegistered { .. } => self.proven.clear(),
                Event::FeatureReopened { feature, .. } => {
                    assert!(matches!(input, Input::JobDone { result: JobResult::Verified(_), .. }));
                    assert!(self.proven.remove(feature), "{feature} was reopened but had not passed");
                }
                Event::GateOpened { .. } => self.gates += 1,
                _ => {}
            }
        }
        for job in &transition.jobs {
            self.sessions += u32::from(matches!(job.spec, JobSpec::Code { .. }));
            self.verifications += u32::from(matches!(job.spec, JobSpec::Verify { .. }));
        }
        for job in &transition.revive {
            let spec = self.fruitless.remove(job);
            self.open
                .insert(*job, spec.expect("only jobs that ended without a result can be made ready again"));
        }
        self.open.extend(transition.jobs.iter().map(|job| (job.no, job.spec.clone())));
        self.reported |= transition.report.is_some();
    }

    fn check(&self, before: &TaskState, transition: &Transition) {
        let state = &transition.state;
        let build = state.build().expect("a build");
        assert_eq!(self.open, state.awaited, "awaited are the jobs created and not ended");
        assert_eq!(
            state.jobs_created,
            before.jobs_created + transition.jobs.len() as u32,
            "numbers have no gap"
        );
        let passing: BTreeSet<FeatureId> =
            build.features.iter().filter(|f| f.passes()).map(|f| f.id.clone()).collect();
        assert_eq!(passing, self.proven, "a feature passes if and only if a session proved it");
        assert_eq!(
            (build.sessions, build.verifications, build.gates),
            (self.sessions, self.verifications, self.gates),
            "what is counted has happened"
        );
        match &state.life {
            Life::Queued | Life::WaitingForHuman { .. } => assert!(state.awaited.is_empty()),
            Life::Running => {
                assert!(!state.awaited.is_empty(), "a running task awaits a job");
                assert!(!transition.stop_jobs, "a running task ends no job");
            }
            Life::Stopping { .. } => assert!(!state.awaited.is_empty(), "a stopping task awaits a job"),
            Life::Final { end, .. } => {
                assert!(state.awaited.is_empty(), "a final task awaits nothing");
                let remembered = (&state.retry_asked, state.retry_from);
                assert_eq!(remembered, (&None, None), "a retry that was accepted is not forgotten");
                assert!(self.reported, "a final task has a report");
                let all = build.progress().0 == build.features.len() && !build.features.is_empty();
                assert!(*end != Status::Completed || all, "a completed build has proven everything");
            }
        }
        assert_eq!(transition.report.is_some(), state.status().is_final() && before.life != state.life);
        assert!(transition.jobs.is_empty() || !state.is_stopping(), "a stopping task creates no job");
        assert!(
            build.accepted
                || !matches!(transition.jobs.first(), Some(job) if job.spec.kind() != "initialize")
        );
        for part in &transition.events {
            assert_eq!(&round_trip(part), part);
        }
        assert_eq!(&round_trip(state), state);
    }
}

fn round_trip<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn tell(play: &mut Play, books: &mut Books, words: &str) {
    let before = play.state.clone();
    let Some(input) = play.hear(words) else { return };
    assert_eq!(round_trip(&input), input);
    match play.step(&input) {
        Ok(transition) => {
            books.before(&input);
            books.after(&input, &transition);
            books.check(&before, &transition);
            if matches!(input, Input::Cancel { .. }) {
                assert_eq!(before.build(), play.state.build(), "a cancel loses nothing");
            }
        }
        Err(_) => assert_eq!(before, play.state, "an illegal input changes nothing"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_books_balance_after_every_input(
        mut play in task(),
        story in prop::collection::vec(sentence(), 0..60),
        started in prop::bool::weighted(0.95),
    ) {
        let mut books = Books::default();
        if started {
            tell(&mut play, &mut books, "submitted");
        }
        for words in story {
            tell(&mut play, &mut books, &words);
        }
    }

    /// Whatever the jobs give, there is an end, and it is no further away than the limits allow.
    #[test]
    fn every_run_ends_within_its_limits(
        mut play in task(),
        story in prop::collection::vec(
            select(vec!["pass", "fail", "fail unchanged", "over", "over unchanged", "failed", "already", "broken F001"]),
            60,
        ),
    ) {
        let mut books = Books::default();
        tell(&mut play, &mut books, "submitted");
        let mut answers = story.iter();
        let mut ended = 0;
        while !play.state.status().is_final() {
            let gate = play.state.build().map_or(0, |build| build.gates);
            let words = match play.state.awaited.values().next() {
                None => format!("approve {gate}"),
                Some(JobSpec::Initialize { .. }) => "init 3".to_owned(),
                Some(JobSpec::Verify { .. }) => "broken F001".to_owned(),
                // Of a build, nothing else is awaited.
                Some(_) => (*answers.next().expect("at most as many sessions as the limits allow")).to_owned(),
            };
            tell(&mut play, &mut books, &words);
            ended += 1;
        }
        // The Initializer, a gate, sessions, verifications.
        prop_assert!(ended <= 1 + 1 + play.limits.max_sessions + 5, "{ended} inputs");
    }

    /// A task that ended early goes on after a retry, whichever limit stopped it.
    #[test]
    fn a_retry_gets_a_task_going_again(mut play in task(), story in prop::collection::vec(sentence(), 0..60)) {
        let mut books = Books::default();
        tell(&mut play, &mut books, "submitted");
        for words in story {
            tell(&mut play, &mut books, &words);
        }
        let stopped = matches!(play.state.status(), Status::Failed | Status::NeedsReview);
        prop_assume!(stopped);
        tell(&mut play, &mut books, "retry");
        prop_assert!(!play.state.is_stopping(), "{:?}", play.state.life);
    }
}

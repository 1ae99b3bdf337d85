//! Stories about one build in a small language, and what the machine answered, a line per input.
//!
//! Words: `submitted`, `init N`, `pass`, `already`, `fail`, `fail unchanged`, `over`, `over unchanged`,
//! `verified`, `broken F001 …`, `mismatch` (a result of another kind), `failed`, `died`, `ended`, `cancel`,
//! `retry`, `retry JOB`, `approve GATE`, `reject GATE`, `deadline`. Words about jobs mean the awaited one, or with `job N:`
//! before them that one. `now MS` and `spent TOKENS` change what the outside says; `… xN` repeats and shows the
//! last answer only.

use std::fmt::Write;

use nightforge_domain::build::{FeatureDraft, Project, ReportFacts, Spent};
use nightforge_domain::contract::Category;
use nightforge_domain::fault::FaultClass;
use nightforge_domain::state::{Context, TaskState, Transition, next};
use nightforge_domain::{
    CommitId, Event, FeatureFailure, FeatureId, Initialized, Input, JobNo, JobResult, JobSpec, Kind, Limits,
    Millis, SessionOutcome, SessionReport, TaskId, Verified,
};

/// A task, and what the outside says of it.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) state: TaskState,
    pub(crate) limits: Limits,
    pub(crate) now: Millis,
    pub(crate) deadline: Option<Millis>,
    pub(crate) spent: u64,
    task: TaskId,
    commits: u32,
    pub(crate) report: Option<String>,
}

/// Limits of the stories: the defaults, but a list of one feature is enough.
pub(crate) fn limits() -> Limits {
    Limits { min_features: 1, ..Limits::default() }
}

/// Plays a story under the default limits.
pub(crate) fn play(story: &str) -> String {
    Play::new(false).tell(story)
}

impl Play {
    pub(crate) fn new(approve: bool) -> Self {
        Self {
            state: TaskState::new(Kind::Build, approve),
            limits: limits(),
            now: Millis(0),
            deadline: None,
            spent: 0,
            task: "01k0000000000000000000000a".parse().unwrap(),
            commits: 0,
            report: None,
        }
    }

    /// Under limits of its own.
    pub(crate) fn under(limits: Limits) -> Self {
        let mut play = Self::new(false);
        play.limits = limits;
        play
    }

    /// With a deadline; the story begins at 0 ms.
    pub(crate) fn due_at(deadline_ms: i64) -> Self {
        let mut play = Self::new(false);
        play.deadline = Some(Millis(deadline_ms));
        play
    }

    /// The answer to each sentence of the story.
    pub(crate) fn tell(&mut self, story: &str) -> String {
        let mut told = String::new();
        for sentence in story.split(';').map(str::trim).filter(|sentence| !sentence.is_empty()) {
            let (words, times) = match sentence.rsplit_once(" x") {
                Some((words, times)) => (words, times.parse().unwrap()),
                None => (sentence, 1),
            };
            let mut answer = String::new();
            for _ in 0..times {
                answer = self.sentence(words);
            }
            writeln!(told, "{}", format!("{sentence:<18} {answer}").trim_end()).unwrap();
        }
        told
    }

    /// The input that a sentence means; `None` when it only changes what the outside says.
    pub(crate) fn hear(&mut self, words: &str) -> Option<Input> {
        if let Some(now) = words.strip_prefix("now ") {
            self.now = Millis(now.parse().unwrap());
            None
        } else if let Some(tokens) = words.strip_prefix("spent ") {
            self.spent = tokens.parse().unwrap();
            None
        } else {
            Some(self.input(words))
        }
    }

    fn sentence(&mut self, words: &str) -> String {
        let Some(input) = self.hear(words) else { return String::new() };
        match self.step(&input) {
            Ok(transition) => {
                format!("{:<24} {}", transition.state.phase(), notes(&transition)).trim_end().to_owned()
            }
            Err(illegal) => format!("illegal: {illegal}"),
        }
    }

    /// Feeds one input; an illegal one is consumed.
    pub(crate) fn step(&mut self, input: &Input) -> Result<Transition, String> {
        let facts = ReportFacts::new(
            &self.task,
            "Build a board.",
            Millis(0),
            Spent { prompt_tokens: self.spent, ..Spent::default() },
        );
        let context = Context { limits: &self.limits, now: self.now, deadline: self.deadline, facts };
        let (transition, illegal) = match next(&self.state, input, &context) {
            Ok(transition) => (transition, None),
            Err(illegal) => (Transition::consuming_illegal(&self.state, &illegal), Some(illegal.to_string())),
        };
        self.state = transition.state.clone();
        if let Some(report) = &transition.report {
            self.report = Some(report.markdown.clone());
        }
        illegal.map_or(Ok(transition), Err)
    }

    fn input(&mut self, words: &str) -> Input {
        let (job, words) = match words.split_once(": ") {
            Some((job, words)) => (JobNo(job.strip_prefix("job ").unwrap().parse().unwrap()), words),
            None => (self.state.awaited.keys().next().copied().unwrap_or(JobNo(0)), words),
        };
        let by = "ada".to_owned();
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        let changed = rest != "unchanged";
        let gate = rest.parse().unwrap_or(0);
        match verb {
            "submitted" => Input::Submitted,
            "failed" => {
                Input::JobFailed { job, class: FaultClass::Truncated, reason: "cut".to_owned(), model_ms: 0 }
            }
            "died" => Input::JobDied { job, reason: "three workers died".to_owned() },
            "ended" => Input::JobCancelled { job },
            "cancel" => Input::Cancel { by },
            "retry" => Input::Retry { by, from: rest.parse().ok().map(JobNo) },
            "approve" => Input::Approved { gate, by },
            "reject" => Input::Rejected { gate, reason: "too vague".to_owned(), by },
            "deadline" => Input::DeadlinePassed,
            "init" => Input::JobDone { job, result: initialized(rest.parse().unwrap()) },
            "verified" => Input::JobDone { job, result: verified("") },
            "broken" => Input::JobDone { job, result: verified(rest) },
            "mismatch" => Input::JobDone { job, result: self.mismatch(job) },
            "pass" => self.session(job, SessionOutcome::Passed, true),
            "already" => self.session(job, SessionOutcome::AlreadySatisfied, true),
            "over" => self.session(job, SessionOutcome::HandedOver, changed),
            "fail" => self.session(job, SessionOutcome::Failed { reason: "red".to_owned() }, changed),
            other => panic!("the stories know no word `{other}`"),
        }
    }

    fn session(&mut self, job: JobNo, outcome: SessionOutcome, changed: bool) -> Input {
        let feature = match self.state.awaited.get(&job) {
            Some(JobSpec::Code { feature, .. }) => feature.clone(),
            _ => FeatureId::numbered(1),
        };
        self.commits += 1;
        let head = commit(self.commits);
        let note = String::new();
        let report = SessionReport { feature, outcome, note, head, changed, duration_ms: 60_000 };
        Input::JobDone { job, result: JobResult::Session(report) }
    }

    fn mismatch(&self, job: JobNo) -> JobResult {
        match self.state.awaited.get(&job) {
            Some(JobSpec::Initialize { .. }) => verified(""),
            _ => initialized(1),
        }
    }
}

pub(crate) fn commit(number: u32) -> CommitId {
    format!("{number:040x}").parse().unwrap()
}

pub(crate) fn initialized(features: u32) -> JobResult {
    let draft = |place| FeatureDraft {
        category: Category::Functional,
        description: format!("The board does thing {place}."),
        steps: vec!["look".to_owned()],
    };
    JobResult::Initialized(Initialized {
        features: (1..=features).map(draft).collect(),
        project: Project {
            name: "board".to_owned(),
            test_command: "python3 -m unittest {files}".to_owned(),
            test_file_pattern: "tests/test_{id}.py".to_owned(),
            build_command: None,
            serve_command: None,
        },
        head: commit(0xa0),
    })
}

pub(crate) fn verified(failing: &str) -> JobResult {
    let failure = |id: &str| FeatureFailure { feature: id.parse().unwrap(), reason: "red".to_owned() };
    JobResult::Verified(Verified { failing: failing.split_whitespace().map(failure).collect() })
}

/// What follows from a transition, in a few words.
fn notes(transition: &Transition) -> String {
    let mut notes: Vec<String> = transition.events.iter().filter_map(note).collect();
    for job in &transition.jobs {
        notes.push(match &job.spec {
            JobSpec::Initialize { revision: None } => format!("+{} initialize", job.no),
            JobSpec::Initialize { revision: Some(why) } => format!("+{} initialize ({why})", job.no),
            JobSpec::Code { feature, session, attempt, .. } => {
                format!("+{} code {feature}, attempt {attempt}, session {session}", job.no)
            }
            JobSpec::Verify { .. } => format!("+{} verify", job.no),
            other => format!("+{} {}", job.no, other.kind()),
        });
    }
    notes.extend(transition.revive.iter().map(|job| format!("revive {job}")));
    if transition.stop_jobs && !transition.state.awaited.is_empty() {
        notes.push("end jobs".to_owned());
    }
    if transition.report.is_some() {
        notes.push("report".to_owned());
    }
    notes.join("; ")
}

fn note(event: &Event) -> Option<String> {
    Some(match event {
        Event::PhaseChanged { .. } | Event::StatusChanged { .. } | Event::JobCreated { .. } => return None,
        Event::FeaturesRegistered { count } => format!("{count} features"),
        Event::FeaturePassed { feature, .. } => format!("{feature} passed"),
        Event::FeatureAlreadySatisfied { feature, .. } => format!("{feature} already satisfied"),
        Event::AttemptFailed { feature, attempt, reason } => {
            format!("{feature} attempt {attempt} failed: {reason}")
        }
        Event::SessionHandedOver { feature } => format!("{feature} handed over"),
        Event::FeatureRotated { feature, attempts } => format!("{feature} rotated after {attempts}"),
        Event::FeatureBlocked { feature, attempts } => format!("{feature} blocked after {attempts}"),
        Event::FeatureReopened { feature, .. } => format!("{feature} reopened"),
        Event::GateOpened { gate } => format!("gate {gate} opened"),
        Event::GateAnswered { gate, approved: true, .. } => format!("gate {gate} approved"),
        Event::GateAnswered { gate, .. } => format!("gate {gate} rejected"),
        Event::TaskStopping { reason } => format!("stopping: {reason}"),
        Event::RetryAccepted { .. } => "retry accepted".to_owned(),
        Event::InputIgnored { reason, .. } => format!("ignored: {reason}"),
        Event::IllegalInput { reason, .. } => format!("illegal: {reason}"),
        other => panic!("no transition writes {other:?}"),
    })
}

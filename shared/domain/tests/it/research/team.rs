//! A team that says what a story wants, one word an input, and what the machine answered, a line per input.
//!
//! Words: `submitted`; of the Manager `plan A, B`, `review`, `complete`, `fail`; of the researcher whose job is awaited
//! first `found N` (with a new source), `again N` (without one), `blocked`; of the Critic `approve`, `approve silently` (no verdicts), `more A, B`,
//! `refuse all`; `answer`; of any awaited job `failed`, `died`, `ended`, `late`, `spent`, `mismatch`; from outside `cancel`,
//! `retry`, `retry N`, `deadline`. `job N:` before a word means that job; `worked MS` sets how long the next jobs take;
//! `calls N` sets the model calls of the ledger.

use nightforge_domain::build::{ReportFacts, Spent};
use nightforge_domain::contract::research::{
    Assignment, Confidence, CriticReview, FindingVerdict, Issue, IssueKind, ManagerAction, ManagerDecision,
    ReportStatus, ReviewDecision, Severity, Verdict,
};
use nightforge_domain::fault::FaultClass;
use nightforge_domain::research::{
    Evidence, Found, GroundedFinding, GroundedKeyFinding, GroundedReport, GroundedSynthesis, Level, Record,
    Research, ResearchResult, Source, SourceId, SourceStatus,
};
use nightforge_domain::state::{Context, TaskState, Transition, next};
use nightforge_domain::{Event, Input, JobNo, JobResult, JobSpec, Kind, Limits, Millis, TaskId};

pub(crate) struct Team {
    pub(crate) state: TaskState,
    pub(crate) limits: Limits,
    pub(crate) deadline: Option<Millis>,
    pub(crate) now: Millis,
    pub(crate) language: Option<&'static str>,
    pub(crate) previous: Option<ResearchResult>,
    pub(crate) events: Vec<Event>,
    pub(crate) records: Vec<Record>,
    pub(crate) markdown: Option<String>,
    pub(crate) result: Option<ResearchResult>,
    pub(crate) sources: Vec<Source>,
    /// Findings that the Critic's view has room for.
    pub(crate) room: usize,
    worked: i64,
    calls: u64,
    task: TaskId,
}

/// Plays a story under the default limits; the last line of its answer.
pub(crate) fn last(story: &str) -> String {
    Team::new().tell(story).pop().unwrap_or_default()
}

impl Team {
    pub(crate) fn new() -> Self {
        Self {
            state: TaskState::new(Kind::Research, false),
            limits: Limits::default(),
            deadline: None,
            now: Millis(1_000),
            language: None,
            previous: None,
            events: Vec::new(),
            records: Vec::new(),
            markdown: None,
            result: None,
            sources: (1..=3).map(source).collect(),
            room: usize::MAX,
            worked: 1_000,
            calls: 0,
            task: "01k0000000000000000000000a".parse().unwrap(),
        }
    }

    pub(crate) fn under(limits: Limits) -> Self {
        Self { limits, ..Self::new() }
    }

    pub(crate) fn research(&self) -> &Research {
        self.state.research().unwrap()
    }

    pub(crate) fn result(&self) -> &ResearchResult {
        self.result.as_ref().expect("the task is over")
    }

    /// The answer to each word of the story.
    pub(crate) fn tell(&mut self, story: &str) -> Vec<String> {
        story.split(';').map(str::trim).filter(|word| !word.is_empty()).map(|word| self.hear(word)).collect()
    }

    fn hear(&mut self, word: &str) -> String {
        if let Some(worked) = word.strip_prefix("worked ") {
            self.worked = worked.parse().unwrap();
            return String::new();
        }
        if let Some(calls) = word.strip_prefix("calls ") {
            self.calls = calls.parse().unwrap();
            return String::new();
        }
        let input = self.input(word);
        self.step(&input)
    }

    /// Feeds one input. The transition is checked against what must hold of every one.
    pub(crate) fn step(&mut self, input: &Input) -> String {
        let spent = Spent { model_calls: self.calls, ..Spent::default() };
        let facts = ReportFacts {
            language: self.language,
            sources: &self.sources,
            previous: self.previous.as_ref(),
            ..ReportFacts::new(&self.task, "Would tourists come?", Millis(0), spent)
        };
        let context = Context { limits: &self.limits, now: self.now, deadline: self.deadline, facts };
        let transition = match next(&self.state, input, &context) {
            Ok(transition) => transition,
            Err(illegal) => {
                self.state = Transition::consuming_illegal(&self.state, &illegal).state;
                return format!("illegal: {illegal}");
            }
        };
        let names: Vec<String> = transition.events.iter().map(Event::type_name).collect();
        let jobs: Vec<&str> = transition.jobs.iter().map(|job| job.spec.kind()).collect();
        self.state = transition.state;
        self.events.extend(transition.events);
        self.records.extend(transition.records);
        if let Some(report) = transition.report {
            self.markdown = Some(report.markdown);
            self.result = report.result.map(|result| serde_json::from_value(result).unwrap());
        }
        let stuck = !self.state.status().is_final() && self.state.awaited.is_empty();
        assert!(!stuck, "nothing is awaited and the task is not over, after {input:?}");
        let stored: TaskState = serde_json::from_value(serde_json::to_value(&self.state).unwrap()).unwrap();
        assert_eq!(stored, self.state, "the state survives the database");
        format!("{} | {} | {}", self.state.phase(), jobs.join(" "), names.join(" "))
    }

    fn input(&self, word: &str) -> Input {
        let (job, word) = match word.strip_prefix("job ").and_then(|rest| rest.split_once(": ")) {
            Some((job, word)) => (Some(JobNo(job.parse().unwrap())), word),
            None => (None, word),
        };
        match word {
            "submitted" => return Input::Submitted,
            "cancel" => return Input::Cancel { by: "ada".to_owned() },
            "retry" => return Input::Retry { by: "ada".to_owned(), from: None },
            "deadline" => return Input::DeadlinePassed,
            _ => {}
        }
        if let Some(from) = word.strip_prefix("retry ") {
            return Input::Retry { by: "ada".to_owned(), from: Some(JobNo(from.parse().unwrap())) };
        }
        let awaited = self.state.awaited.iter();
        let (job, spec) = match job {
            Some(job) => {
                let known = self.state.awaited.get(&job).cloned();
                (job, known.unwrap_or(JobSpec::Synthesize { time_left_ms: 0 }))
            }
            None => awaited.map(|(job, spec)| (*job, spec.clone())).next().expect("a job is awaited"),
        };
        match word {
            "failed" => Input::JobFailed {
                job,
                class: FaultClass::ModelOutputInvalid,
                reason: "no JSON after two re-asks".to_owned(),
                model_ms: self.worked,
            },
            "died" => Input::JobDied { job, reason: "its worker died 3 times".to_owned() },
            "ended" => Input::JobCancelled { job },
            _ => Input::JobDone { job, result: self.result_of(word, &spec) },
        }
    }

    fn result_of(&self, word: &str, spec: &JobSpec) -> JobResult {
        let working_ms = self.worked;
        let (verb, rest) = word.split_once(' ').unwrap_or((word, ""));
        let number = || rest.parse::<usize>().unwrap();
        match verb {
            "plan" => decided(ManagerAction::AssignResearch, titled(rest), working_ms),
            "review" => decided(ManagerAction::RequestReview, Vec::new(), working_ms),
            "complete" => decided(ManagerAction::Complete, Vec::new(), working_ms),
            "fail" => decided(ManagerAction::Fail, Vec::new(), working_ms),
            "found" => JobResult::Researched { report: found(number(), 1), working_ms },
            "again" => JobResult::Researched { report: found(number(), 0), working_ms },
            "blocked" => JobResult::Researched { report: blocked(), working_ms },
            "approve" if rest == "silently" => {
                match self.reviewed(ReviewDecision::Approved, Verdict::Weak, Vec::new()) {
                    JobResult::Reviewed { mut review, shown, working_ms } => {
                        review.verdicts.clear();
                        JobResult::Reviewed { review, shown, working_ms }
                    }
                    other => other,
                }
            }
            "approve" => self.reviewed(ReviewDecision::Approved, Verdict::Supported, Vec::new()),
            "refuse" => self.reviewed(ReviewDecision::Approved, Verdict::Rejected, Vec::new()),
            "more" => self.reviewed(ReviewDecision::NeedsMoreWork, Verdict::Weak, titled(rest)),
            "answer" => JobResult::Synthesized { synthesis: synthesis(), working_ms },
            "late" => JobResult::OutOfTime { working_ms },
            "spent" => JobResult::OutOfBudget { working_ms },
            "mismatch" if matches!(spec, JobSpec::Manage { .. }) => {
                JobResult::Synthesized { synthesis: synthesis(), working_ms }
            }
            "mismatch" => decided(ManagerAction::Fail, Vec::new(), working_ms),
            other => panic!("the story has no word `{other}`"),
        }
    }

    fn reviewed(&self, decision: ReviewDecision, verdict: Verdict, requests: Vec<Assignment>) -> JobResult {
        let verdicts = self.research().unreviewed().map(|finding| FindingVerdict {
            finding_id: finding.id.0.to_lowercase(),
            note: "read".to_owned(),
            verdict,
        });
        let issue = Issue {
            kind: IssueKind::MissingInformation,
            description: "Every price is a resident rate.".to_owned(),
            severity: Severity::High,
        };
        let issues = if decision == ReviewDecision::Approved { Vec::new() } else { vec![issue] };
        let review = CriticReview {
            summary: "I have read it.".to_owned(),
            verdicts: verdicts.collect(),
            issues,
            requested_research: requests,
            decision,
        };
        let shown = self.research().unreviewed().map(|finding| finding.id.clone()).take(self.room).collect();
        JobResult::Reviewed { review, shown, working_ms: self.worked }
    }
}

pub(crate) fn titled(titles: &str) -> Vec<Assignment> {
    let titles = titles.split(',').map(str::trim).filter(|title| !title.is_empty());
    titles
        .map(|title| Assignment { title: title.to_owned(), description: format!("Find out about {title}.") })
        .collect()
}

fn decided(action: ManagerAction, tasks: Vec<Assignment>, working_ms: i64) -> JobResult {
    let decision = ManagerDecision {
        reason: "It follows.".to_owned(),
        action,
        message: "Let us go on.".to_owned(),
        tasks,
        review_focus: None,
    };
    JobResult::Decided { decision, working_ms }
}

fn found(findings: usize, new_sources: u32) -> GroundedReport {
    GroundedReport {
        status: ReportStatus::Completed,
        summary: "Something was found.".to_owned(),
        findings: (1..=findings).map(finding).collect(),
        uncertainties: vec!["The season is open.".to_owned()],
        blocked_reason: None,
        new_sources,
    }
}

fn blocked() -> GroundedReport {
    GroundedReport {
        status: ReportStatus::Blocked,
        summary: "Nothing.".to_owned(),
        findings: Vec::new(),
        uncertainties: Vec::new(),
        blocked_reason: Some("no source names a price".to_owned()),
        new_sources: 0,
    }
}

fn finding(place: usize) -> GroundedFinding {
    GroundedFinding {
        title: format!("Price {place}"),
        claim: format!("A class costs ${place}5."),
        confidence: Confidence::Medium,
        stated_confidence: Confidence::High,
        level: Level::G3,
        evidence: vec![Evidence {
            source: SourceId(1),
            quote: format!("a class costs ${place}5 for residents"),
            found: Found::Page,
            passage: Some(format!("a class costs ${place}5 for residents")),
            sentences: None,
        }],
        notes: Vec::new(),
        is_demo: false,
    }
}

pub(crate) fn synthesis() -> GroundedSynthesis {
    GroundedSynthesis {
        summary: "Tourists would come.".to_owned(),
        key_findings: vec![GroundedKeyFinding {
            statement: "A class costs $15.".to_owned(),
            sources: vec![SourceId(1)],
            level: Level::G3,
            confidence: Confidence::Medium,
            notes: Vec::new(),
        }],
        uncertainties: Vec::new(),
        recommendations: vec!["Begin small.".to_owned()],
        conclusion: "It is viable.".to_owned(),
        confidence: Confidence::Medium,
    }
}

fn source(number: u32) -> Source {
    Source {
        id: SourceId(number),
        url: format!("https://example.org/{number}"),
        title: format!("Page {number}"),
        snippet: String::new(),
        text: None,
        sha256: Some(format!("{number:064}")),
        tool: "searxng".to_owned(),
        is_demo: false,
        status: SourceStatus::Read,
        note: None,
        published: None,
        at: Millis(86_400_000),
    }
}

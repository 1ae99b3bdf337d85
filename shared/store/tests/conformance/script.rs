//! A research team by script: six decisions (one is refused), three assignments (one is blocked), two reviews.

use nightforge_domain::contract::research::{
    Assignment, Confidence, CriticReview, FindingVerdict, Issue, IssueKind, ManagerAction, ManagerDecision,
    ReportStatus, ReviewDecision, Severity, Verdict,
};
use nightforge_domain::research::{
    Evidence, FindingId, Found, GroundedFinding, GroundedKeyFinding, GroundedReport, GroundedSynthesis,
    Level, SourceId,
};
use nightforge_domain::{BootId, Event, JobResult, JobSpec, Status, Step, TaskId};
use nightforge_store::{Claim, FoundSource};
use serde_json::json;

use crate::bed::Bed;
use crate::sources::{hit, page};
use crate::work::step;

/// Findings of the assignment that has the most: more than nine, so that ids do not sort as texts.
pub(crate) const MANY: u32 = 11;

fn assignment(title: &str) -> Assignment {
    Assignment { title: title.to_owned(), description: format!("Find out about {title}.") }
}

fn decided(action: ManagerAction, tasks: &[&str]) -> JobResult {
    let decision = ManagerDecision {
        reason: format!("{} comes next", action.as_str()),
        action,
        message: "As planned.".to_owned(),
        tasks: tasks.iter().map(|title| assignment(title)).collect(),
        review_focus: (action == ManagerAction::RequestReview).then(|| "prices".to_owned()),
    };
    JobResult::Decided { decision, working_ms: 10 }
}

fn finding(place: u32, source: u32) -> GroundedFinding {
    let evidence = |quote: &str, found, passage: Option<&str>| Evidence {
        source: SourceId(source),
        quote: quote.to_owned(),
        found,
        passage: passage.map(str::to_owned),
        sentences: passage.map(|words| format!("Before it. {words} After it.")),
    };
    GroundedFinding {
        title: format!("Clock {place}"),
        claim: format!("Clock {place} costs\0 {place}0 dollars."),
        confidence: Confidence::Medium,
        stated_confidence: Confidence::High,
        level: Level::G3,
        evidence: vec![
            evidence("costs\0 dollars", Found::Page, Some("costs\0 dollars.")),
            evidence("nobody said that", Found::Nowhere, None),
        ],
        notes: vec!["a quote was not found".to_owned()],
        is_demo: place == 2,
    }
}

fn report(findings: Vec<GroundedFinding>, uncertainties: &[&str]) -> JobResult {
    let blocked = findings.is_empty();
    let report = GroundedReport {
        status: if blocked { ReportStatus::Blocked } else { ReportStatus::Completed },
        summary: format!("{} findings", findings.len()),
        findings,
        uncertainties: uncertainties.iter().map(|text| (*text).to_owned()).collect(),
        blocked_reason: blocked.then(|| "no source says anything".to_owned()),
        new_sources: 2,
    };
    JobResult::Researched { report, working_ms: 100 }
}

fn review(verdicts: &[(String, Verdict)], decision: ReviewDecision) -> JobResult {
    let more = decision == ReviewDecision::NeedsMoreWork;
    let issue = Issue {
        kind: IssueKind::MissingInformation,
        description: "Prices for visitors are missing.".to_owned(),
        severity: Severity::High,
    };
    let verdict = |(id, verdict): &(String, Verdict)| FindingVerdict {
        finding_id: id.clone(),
        note: format!("{} is {}", id, verdict.as_str()),
        verdict: *verdict,
    };
    let review = CriticReview {
        summary: "Looked at everything.".to_owned(),
        verdicts: verdicts.iter().map(verdict).collect(),
        issues: if more { vec![issue] } else { Vec::new() },
        requested_research: if more { vec![assignment("visitors")] } else { Vec::new() },
        decision,
    };
    let shown = verdicts.iter().map(|(id, _)| FindingId(id.clone())).collect();
    JobResult::Reviewed { review, shown, working_ms: 50 }
}

fn synthesis() -> JobResult {
    let synthesis = GroundedSynthesis {
        summary: "A tide clock would sell.".to_owned(),
        key_findings: vec![GroundedKeyFinding {
            statement: "Clock 1 costs 10 dollars.".to_owned(),
            sources: vec![SourceId(1)],
            level: Level::G3,
            confidence: Confidence::Medium,
            notes: Vec::new(),
        }],
        uncertainties: Vec::new(),
        recommendations: vec!["Sell it at the harbour.".to_owned()],
        conclusion: "Yes.".to_owned(),
        confidence: Confidence::Medium,
    };
    JobResult::Synthesized { synthesis, working_ms: 70 }
}

/// What the script has an agent answer.
pub(crate) fn scripted(spec: &JobSpec) -> JobResult {
    let id = |subtask, place| format!("F{subtask}.{place}");
    match spec {
        JobSpec::Manage { iteration, .. } => match iteration {
            1 => decided(ManagerAction::AssignResearch, &["makers", "shops"]),
            // Refused: nobody has reviewed anything.
            2 | 6 => decided(ManagerAction::Complete, &[]),
            3 | 5 => decided(ManagerAction::RequestReview, &[]),
            4 => decided(ManagerAction::AssignResearch, &["visitors"]),
            more => panic!("the script ends before decision {more}"),
        },
        JobSpec::Research { subtask: 1, .. } => {
            report(vec![finding(1, 1), finding(2, 2)], &["Who\0 buys them?"])
        }
        JobSpec::Research { subtask: 2, .. } => report(Vec::new(), &["Which shops?", "And where?"]),
        JobSpec::Research { .. } => report((1..=MANY).map(|place| finding(place, 1)).collect(), &[]),
        JobSpec::Review { review: 1, .. } => {
            let verdicts = [(id(1, 1), Verdict::Supported), (id(1, 2), Verdict::Weak)];
            review(&verdicts, ReviewDecision::NeedsMoreWork)
        }
        JobSpec::Review { .. } => {
            let mut verdicts = vec![(id(1, 2), Verdict::Supported)];
            verdicts.extend((1..=MANY).map(|place| (id(3, place), Verdict::Supported)));
            verdicts[5].1 = Verdict::Rejected;
            review(&verdicts, ReviewDecision::Approved)
        }
        JobSpec::Synthesize { .. } => synthesis(),
        spec => panic!("no agent of a research team does {}", spec.kind()),
    }
}

/// A step as the agents journal it, in the place that comes next.
pub(crate) fn named_step(claim: &Claim, ordinal: u32, name: &str) -> Step {
    let said = format!("{name} of job {}", claim.job.no);
    Step { name: name.to_owned(), output: json!({ "said": said }), ..step(ordinal) }
}

impl Bed {
    /// One agent run from its claim to its result.
    pub(crate) async fn run_agent(&self, claim: &Claim) {
        let (job, fence, agent) = (&claim.job, claim.fence, claim.spec.agent());
        let started = Event::AgentStarted { job: job.no, agent, subject: "the next thing".to_owned() };
        let view = named_step(claim, 0, "view");
        self.store.record_step(job, fence, &view, &[started]).await.unwrap().unwrap();
        if let JobSpec::Research { subtask, .. } = claim.spec {
            let hits: [FoundSource; 2] = [hit(&format!("page{subtask}")), hit("known")];
            let found = self.store.record_sources(job, fence, &hits).await.unwrap().unwrap();
            let text = format!("A clock costs dollars, says {subtask}.");
            self.store.record_page(job, fence, found[0].source.id, &page(&text)).await.unwrap().unwrap();
            let (tool, subject, outcome) = ("search".to_owned(), "clocks".to_owned(), "2 hits".to_owned());
            let called = Event::ToolCalled { job: job.no, tool, subject, outcome };
            let search = named_step(claim, 1, "search");
            self.store.record_step(job, fence, &search, &[called]).await.unwrap().unwrap();
        }
        self.store.finish(job, fence, &scripted(&claim.spec)).await.unwrap().unwrap();
    }

    /// Plays the script to its end.
    pub(crate) async fn play_team(&self, task: &TaskId, boot: &BootId) {
        self.advance(task).await;
        while let Some(claim) = self.claim(boot).await {
            self.pass(1_000);
            self.run_agent(&claim).await;
            self.advance(task).await;
        }
        assert_eq!(self.store.task(task).await.unwrap().status, Status::Completed);
    }
}

//! A research team whose every word is written here: jobs are claimed and finished at the store, as a worker does it.

use nightforge_domain::contract::research::{
    Assignment, Confidence, CriticReview, FindingVerdict, ManagerAction, ManagerDecision, Quote,
    ReportStatus, ReportedFinding, ReviewDecision, Verdict,
};
use nightforge_domain::research::{
    FindingId, GroundedKeyFinding, GroundedReport, GroundedSynthesis, Level, SourceId, ground,
};
use nightforge_domain::{BootId, JobResult, JobSpec, ModelName, TaskId};
use nightforge_store::{Claim, FoundSource, Process, Role, fresh_boot_id};
use serde_json::{Value, json};

use crate::server::Server;

const LEASE_MS: i64 = 60_000;

/// What a page says that wants to be more than text.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>";

impl Server {
    pub(crate) async fn submit_research(&self, more: &Value) -> Value {
        let mut body = json!({"kind": "research", "objective": "What does a reformer class cost in Nassau?"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = self.post("/api/tasks", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.body
    }

    /// Asks, lets the team work to its end, and gives the task.
    pub(crate) async fn answered(&self, more: &Value) -> TaskId {
        let task: TaskId = self.submit_research(more).await["id"].as_str().unwrap().parse().unwrap();
        let boot = self.team_process().await;
        self.advance(&task).await;
        for _ in 0..20 {
            if self.store.task(&task).await.unwrap().status.is_final() {
                return task;
            }
            let claim = self.claimed(&boot).await;
            let result = self.result_of(&claim).await;
            self.store.finish(&claim.job, claim.fence, &result).await.unwrap().unwrap();
            self.advance(&task).await;
        }
        panic!("the team does not come to an end");
    }

    async fn team_process(&self) -> BootId {
        let process = Process {
            boot: fresh_boot_id(),
            host: "h".to_owned(),
            role: Role::Worker,
            version: "1".to_owned(),
            model: Some("coder".to_owned()),
            endpoint: None,
            gpu: None,
            slots: 1,
        };
        self.store.announce(&process).await.unwrap();
        process.boot
    }

    async fn claimed(&self, boot: &BootId) -> Claim {
        let coder: ModelName = "coder".parse().unwrap();
        self.store.claim(&coder, boot, "w", LEASE_MS).await.unwrap().expect("a job is ready")
    }

    async fn result_of(&self, claim: &Claim) -> JobResult {
        let working_ms = 10;
        match &claim.spec {
            JobSpec::Manage { iteration, .. } => {
                JobResult::Decided { decision: decision(*iteration), working_ms }
            }
            JobSpec::Research { .. } => {
                JobResult::Researched { report: self.findings_of(claim).await, working_ms }
            }
            JobSpec::Review { .. } => {
                let shown = vec![FindingId::new(1, 1), FindingId::new(1, 2)];
                JobResult::Reviewed { review: review(), shown, working_ms }
            }
            JobSpec::Synthesize { .. } => JobResult::Synthesized { synthesis: synthesis(), working_ms },
            other => panic!("no job of research: {other:?}"),
        }
    }

    /// Two sources, of which one carries the finding, and one citation of nothing.
    async fn findings_of(&self, claim: &Claim) -> GroundedReport {
        let hit = |name: &str, text: &str| FoundSource {
            url: format!("https://example.com/{name}"),
            canonical_url: format!("https://example.com/{name}"),
            title: format!("{name} {HOSTILE}"),
            snippet: text.to_owned(),
            text: Some(text.to_owned()),
            tool: "demo".to_owned(),
            is_demo: true,
            placeholder: false,
            published: None,
        };
        let hits = [
            hit("harbour", "A single drop-in reformer class costs 38 dollars at the harbour."),
            hit("palm", "Palm and Core has forty one people on its list."),
        ];
        let recorded = self.store.record_sources(&claim.job, claim.fence, &hits).await.unwrap().unwrap();
        let sources: Vec<_> = recorded.into_iter().map(|recorded| recorded.source).collect();
        let quote = |id: &str| Quote {
            source_id: id.to_owned(),
            quote: "A single drop-in reformer class costs 38 dollars".to_owned(),
        };
        let finding = |title: &str, id: &str| ReportedFinding {
            title: title.to_owned(),
            claim: format!("{title}: a class costs 38 dollars."),
            confidence: Confidence::High,
            evidence: vec![quote(id)],
        };
        GroundedReport {
            status: ReportStatus::Completed,
            summary: "A class costs 38 dollars.".to_owned(),
            findings: vec![
                ground(&finding("Drop-in", "S1"), &sources),
                ground(&finding("Invented", "S9"), &sources),
            ],
            uncertainties: vec!["Whether visitors pay the same.".to_owned()],
            blocked_reason: None,
            new_sources: 2,
        }
    }
}

fn decision(iteration: u32) -> ManagerDecision {
    let (action, tasks) = match iteration {
        1 => {
            let (title, description) = ("Prices".to_owned(), "What does a class cost?".to_owned());
            (ManagerAction::AssignResearch, vec![Assignment { title, description }])
        }
        2 => (ManagerAction::RequestReview, Vec::new()),
        _ => (ManagerAction::Complete, Vec::new()),
    };
    ManagerDecision {
        reason: "It follows.".to_owned(),
        action,
        message: format!("Team, go on. {HOSTILE}"),
        tasks,
        review_focus: None,
    }
}

fn review() -> CriticReview {
    let verdict = |id: &str, verdict| FindingVerdict {
        finding_id: id.to_owned(),
        note: "As it stands there.".to_owned(),
        verdict,
    };
    CriticReview {
        summary: "Good enough.".to_owned(),
        verdicts: vec![verdict("F1.1", Verdict::Supported), verdict("F1.2", Verdict::Rejected)],
        issues: Vec::new(),
        requested_research: Vec::new(),
        decision: ReviewDecision::Approved,
    }
}

fn synthesis() -> GroundedSynthesis {
    GroundedSynthesis {
        summary: format!("One price is known. {HOSTILE}"),
        key_findings: vec![GroundedKeyFinding {
            statement: "A class costs 38 dollars.".to_owned(),
            sources: vec![SourceId(1)],
            level: Level::G3,
            confidence: Confidence::Medium,
            notes: Vec::new(),
        }],
        uncertainties: Vec::new(),
        recommendations: Vec::new(),
        conclusion: "It costs 38 dollars.".to_owned(),
        confidence: Confidence::Medium,
    }
}

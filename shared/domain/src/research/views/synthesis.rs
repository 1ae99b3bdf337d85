//! What the synthesis is written from: findings that were not rejected, with the words that carry them.

use serde::{Deserialize, Serialize};

use super::Asked;
use super::fit::{Fit, LINE, Shown};
use super::lines::{
    IssueLine, Passage, ReviewLines, left_open, objective_forms, passages, question_forms, summary_forms,
};
use super::text::line;
use crate::contract::research::{Confidence, Verdict};
use crate::research::{Finding, FindingId, Level, Research, SourceId};

/// The view for the final answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynthesisView {
    /// What was asked for.
    pub objective: String,
    /// Name of the language that people are answered in.
    pub language: String,
    /// The findings that hold.
    pub findings: Vec<SynthesisFinding>,
    /// What researchers could not settle.
    pub open_questions: Vec<String>,
    /// What the Critic said last.
    pub latest_review: Option<ReviewLines>,
    /// What had no room, in words.
    pub left_out: Vec<String>,
}

/// A finding that can go into the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynthesisFinding {
    /// Its id.
    pub id: FindingId,
    /// How well its evidence was found.
    pub level: Level,
    /// What it may claim.
    pub confidence: Confidence,
    /// The Critic's verdict: `supported`, `weak` or `not judged`.
    pub standing: String,
    /// The fact.
    pub claim: String,
    /// Its sources.
    pub sources: Vec<SourceId>,
    /// Words of them that were found there.
    pub passages: Vec<Passage>,
}

impl SynthesisFinding {
    fn forms(finding: &Finding) -> Vec<Self> {
        let standing = finding.verdict.map_or("not judged", |verdict| verdict.as_str());
        let mut sources: Vec<SourceId> = Vec::new();
        for evidence in &finding.grounded.evidence {
            if !sources.contains(&evidence.source) {
                sources.push(evidence.source);
            }
        }
        let sizes = [(160, 0, 0), (300, 1, 160), (600, 2, 400), (1_500, 6, 1_400)];
        let mut forms: Vec<Self> = sizes
            .into_iter()
            .map(|(claim, count, passage)| Self {
                id: finding.id.clone(),
                level: finding.grounded.level,
                confidence: finding.grounded.confidence,
                standing: standing.to_owned(),
                claim: line(&finding.grounded.claim, claim),
                sources: sources.clone(),
                passages: passages(finding, count, passage),
            })
            .collect();
        forms.dedup();
        forms
    }
}

impl Shown for SynthesisFinding {
    fn bytes(&self) -> usize {
        let passages: usize = self.passages.iter().map(Shown::bytes).sum();
        let sources: usize = self.sources.iter().map(|source| source.to_string().len() + 2).sum();
        self.id.0.len() + self.standing.len() + self.claim.len() + sources.max(16) + passages + LINE
    }
}

impl SynthesisView {
    /// The view in `budget_bytes`.
    pub fn of(asked: &Asked<'_>, research: &Research, budget_bytes: usize) -> Self {
        let held: Vec<&Finding> = research.findings.iter().filter(|finding| !is_rejected(finding)).collect();
        let review = research.reviews.last();
        let mut fit = Fit::new(budget_bytes);
        let objective = fit.require(objective_forms(asked.objective));
        let findings = held.iter().map(|finding| SynthesisFinding::forms(finding)).collect();
        let findings = fit.offer("findings, the weakest", findings, |index| rank(held[index]));
        let issues = review.map_or(&[][..], |review| &review.issues);
        let issues =
            fit.offer("issues of the critic", issues.iter().map(IssueLine::forms).collect(), |at| at);
        let summary =
            fit.offer("summaries of a review", review.map(summary_forms).into_iter().collect(), |at| at);
        let questions = left_open(research).iter().map(|text| question_forms(text)).collect();
        let questions = fit.offer_latest("open questions", questions);
        let mut fitted = fit.decide();
        let summary = fitted.one(summary).unwrap_or_default();
        let issues = fitted.taken(issues);
        Self {
            objective: fitted.one(objective).unwrap_or_default(),
            language: asked.language(),
            findings: fitted.taken(findings),
            open_questions: fitted.taken(questions),
            latest_review: review.map(|review| ReviewLines { decision: review.decision, summary, issues }),
            left_out: fitted.left_out(),
        }
    }
}

fn is_rejected(finding: &Finding) -> bool {
    finding.verdict == Some(Verdict::Rejected)
}

/// The best findings first: by the Critic's verdict, then by how well they were found, then the latest.
fn rank(finding: &Finding) -> impl Ord + use<> {
    let verdict = match finding.verdict {
        Some(Verdict::Supported) => 0,
        None => 1,
        Some(Verdict::Weak) => 2,
        Some(Verdict::Rejected) => 3,
    };
    (verdict, std::cmp::Reverse((finding.grounded.level, finding.grounded.confidence, finding.subtask)))
}

//! What the Critic sees: findings that are new to it in full, the others in a line, and what it said before.

use serde::{Deserialize, Serialize};

use super::Asked;
use super::fit::{Fit, LINE, Shown};
use super::lines::{
    BudgetLeft, FindingLine, IssueLine, Passage, TITLE_BYTES, left_open, objective_forms, passages,
    question_forms,
};
use super::text::{forms, line};
use crate::Limits;
use crate::contract::research::{Confidence, ReviewDecision};
use crate::research::{Finding, FindingId, Level, Research, Review, SubtaskStatus, title_key};

/// The Critic's view of a research task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticView {
    /// What was asked for.
    pub objective: String,
    /// Name of the language that people are answered in.
    pub language: String,
    /// What the Manager wants to be looked at first.
    pub focus: Option<String>,
    /// The findings that no review has seen.
    pub review_these: Vec<CriticFinding>,
    /// The others.
    pub seen_before: Vec<FindingLine>,
    /// What researchers could not settle or find.
    pub open_questions: Vec<String>,
    /// Its own reviews.
    pub earlier_reviews: Vec<EarlierReview>,
    /// What the limits leave.
    pub budget: BudgetLeft,
    /// What had no room, in words.
    pub left_out: Vec<String>,
}

/// A finding with the words that carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticFinding {
    /// Its id.
    pub id: FindingId,
    /// How well its evidence was found.
    pub level: Level,
    /// What it may claim.
    pub confidence: Confidence,
    /// A few words.
    pub title: String,
    /// The fact.
    pub claim: String,
    /// Words of its sources that were found there.
    pub passages: Vec<Passage>,
    /// What was dropped or not found.
    pub notes: Vec<String>,
}

impl CriticFinding {
    /// The shortest form fits twenty times into the view of a context of 4,096 tokens.
    fn forms(finding: &Finding) -> Vec<Self> {
        let sizes = [(100, 1, 80, 60), (250, 2, 160, 120), (500, 3, 400, 200), (1_500, 8, 1_400, 400)];
        let mut forms: Vec<Self> = sizes
            .into_iter()
            .map(|(claim, count, passage, note)| Self {
                id: finding.id.clone(),
                level: finding.grounded.level,
                confidence: finding.grounded.confidence,
                title: line(&finding.grounded.title, TITLE_BYTES.min(claim)),
                claim: line(&finding.grounded.claim, claim),
                passages: passages(finding, count, passage),
                notes: finding.grounded.notes.iter().take(count).map(|text| line(text, note)).collect(),
            })
            .collect();
        forms.dedup();
        forms
    }
}

impl Shown for CriticFinding {
    fn bytes(&self) -> usize {
        let passages: usize = self.passages.iter().map(Shown::bytes).sum();
        let notes: usize = self.notes.iter().map(Shown::bytes).sum();
        self.id.0.len() + self.title.len() + self.claim.len() + passages + notes + LINE
    }
}

/// A review that the Critic gave before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierReview {
    /// From 1.
    pub number: u32,
    /// What it decided.
    pub decision: ReviewDecision,
    /// In short.
    pub summary: String,
    /// What was wrong.
    pub issues: Vec<IssueLine>,
}

impl EarlierReview {
    fn forms(review: &Review) -> Vec<Self> {
        forms(&[80, 200, 600], |size| Self {
            number: review.number,
            decision: review.decision,
            summary: line(&review.summary, size),
            issues: review.issues.iter().take(size / 40).map(|issue| IssueLine::of(issue, size)).collect(),
        })
    }
}

impl Shown for EarlierReview {
    fn bytes(&self) -> usize {
        let issues: usize = self.issues.iter().map(|issue| issue.bytes() + 2).sum();
        self.summary.len() + issues + LINE + 32
    }
}

impl CriticView {
    /// The view of a Critic whose own run has been counted, in `budget_bytes`.
    pub fn of(asked: &Asked<'_>, research: &Research, limits: &Limits, budget_bytes: usize) -> Self {
        let (new, old): (Vec<_>, Vec<_>) =
            research.findings.iter().partition(|finding| finding.reviewed_in.is_none());
        let mut fit = Fit::new(budget_bytes);
        let objective = fit.require(objective_forms(asked.objective));
        let new = new.into_iter().map(CriticFinding::forms).collect();
        let new = fit.offer("new findings; you can't judge those that you don't see", new, |index| index);
        let focus = research.review_focus.iter().map(|focus| question_forms(focus)).collect();
        let focus = fit.offer("wishes of the manager", focus, |index| index);
        let reviews = research.reviews.iter().map(EarlierReview::forms).collect();
        let reviews = fit.offer_latest("earlier reviews", reviews);
        let questions = open_questions(research);
        let questions = questions.iter().map(|text| question_forms(text)).collect();
        let questions = fit.offer_latest("open questions", questions);
        let old = fit.offer_latest("findings seen before", old.into_iter().map(seen_forms).collect());
        let mut fitted = fit.decide();
        Self {
            objective: fitted.one(objective).unwrap_or_default(),
            language: asked.language(),
            focus: fitted.one(focus),
            review_these: fitted.taken(new),
            seen_before: fitted.taken(old),
            open_questions: fitted.taken(questions),
            earlier_reviews: fitted.taken(reviews),
            budget: BudgetLeft::of(research, limits),
            left_out: fitted.left_out(),
        }
    }
}

/// In a line whose standing is the verdict alone.
fn seen_forms(finding: &Finding) -> Vec<FindingLine> {
    let verdict = finding.verdict.map_or("not judged", |verdict| verdict.as_str());
    let mut forms = FindingLine::forms(finding);
    for form in &mut forms {
        verdict.clone_into(&mut form.standing);
    }
    forms
}

/// What researchers left open, and what was searched for in vain: a Critic that does not know asks for it again.
fn open_questions(research: &Research) -> Vec<String> {
    let mut questions = left_open(research);
    let mut in_vain: Vec<String> = Vec::new();
    for subtask in research.subtasks.iter().filter(|subtask| subtask.status == SubtaskStatus::Blocked) {
        let key = title_key(&subtask.title);
        if !in_vain.contains(&key) {
            in_vain.push(key);
            questions.push(format!("searched without success: {}", subtask.title));
        }
    }
    questions
}

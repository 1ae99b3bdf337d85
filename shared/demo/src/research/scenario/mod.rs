//! What the model looks at, says and gets wrong on the demo's own objectives. What it says of a source it still takes
//! from that source: a pick whose words are in no source at hand is left out.

mod kyoto;
mod nassau;

use nightforge_domain::contract::research::{
    Assignment, Confidence, CriticReview, FindingVerdict, Issue, IssueKind, Quote, ReportedFinding,
    ReviewDecision, Severity,
};
use nightforge_domain::research::title_key;

use super::Call;
use super::critic::issue;
use super::findings::{FindingLine, Level};
use super::sources::{Sentence, SourceBlock, squeezed};
use crate::contract_name::ContractName;

pub(crate) use kyoto::JAPANESE_OBJECTIVE;
pub(crate) use nassau::RESEARCH_OBJECTIVE;

/// The decision of the Manager that is no JSON at first, and only there, on [`RESEARCH_OBJECTIVE`].
const GARBLED_ITERATION: &str = "2 ";

/// What stands in place of that answer.
pub(super) const GARBLED: &str =
    "The findings have not been reviewed yet, so I would say {\"reason\": \"Nobody has";

/// The objectives with a script.
const ALL: [&Scenario; 2] = [&nassau::SCENARIO, &kyoto::SCENARIO];

/// The script of one objective.
#[derive(Debug)]
pub(super) struct Scenario {
    objective: &'static str,
    pub(super) plan_message: &'static str,
    plan: &'static [Task],
    pub(super) gap: Gap,
    closing: Closing,
}

/// One assignment.
#[derive(Debug)]
pub(super) struct Task {
    title: &'static str,
    description: &'static str,
    pub(super) queries: &'static [&'static str],
    pub(super) summary: &'static str,
    picks: &'static [Pick],
    pub(super) open: &'static [&'static str],
}

/// One finding.
#[derive(Debug)]
pub(super) struct Pick {
    /// Stands in the sentence that is quoted.
    words: &'static str,
    title: &'static str,
    claim: &'static str,
    slip: Slip,
}

/// How a finding goes wrong, as those of small models do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slip {
    /// Not at all. A figure that is wrong stands in the claim itself.
    None,
    /// It cites a source that no search gave, with these words.
    InventedSource(&'static str),
    /// It quotes words that its source does not have.
    InventedQuote(&'static str),
}

/// What the first review finds missing.
#[derive(Debug)]
pub(super) struct Gap {
    /// Stands in a finding that fills the gap.
    filled_by: &'static str,
    summary: &'static str,
    missing: &'static str,
    requests: &'static [Task],
    /// Of the review that finds it filled.
    approval: &'static str,
    /// What remains to be said then.
    reservation: &'static str,
}

/// The words of the final answer.
#[derive(Debug)]
pub(super) struct Closing {
    /// What findings must hold for these words to be true; without them the findings speak for themselves.
    carried_by: &'static [&'static str],
    pub(super) summary: &'static str,
    pub(super) conclusion: &'static str,
    pub(super) recommendations: &'static [&'static str],
    pub(super) uncertainties: &'static [&'static str],
}

impl Scenario {
    pub(super) fn of(objective: &str) -> Option<&'static Scenario> {
        ALL.into_iter().find(|scenario| scenario.objective == objective)
    }

    pub(super) fn plan(&self) -> Vec<Assignment> {
        self.plan.iter().map(Task::assignment).collect()
    }

    pub(super) fn task(&self, title: &str) -> Option<&'static Task> {
        let key = title_key(title);
        let (plan, requests): (&'static [Task], &'static [Task]) = (self.plan, self.gap.requests);
        plan.iter().chain(requests).find(|task| title_key(task.title) == key)
    }

    pub(super) fn closing(&self, carried: impl Fn(&str) -> bool) -> Option<&Closing> {
        Some(&self.closing).filter(|closing| closing.carried_by.iter().all(|words| carried(words)))
    }
}

/// Whether this call is the one whose first answer is no JSON.
pub(super) fn is_garbled(call: &Call) -> bool {
    call.contract == ContractName::ManagerDecision
        && call.objective == RESEARCH_OBJECTIVE
        && call.reasks == 0
        && call.view.section("ITERATION").is_some_and(|text| text.starts_with(GARBLED_ITERATION))
}

impl Task {
    fn assignment(&self) -> Assignment {
        Assignment { title: self.title.to_owned(), description: self.description.to_owned() }
    }

    /// Findings from the sources at hand; none when nothing of the script is in them.
    pub(super) fn report(&self, blocks: &[SourceBlock]) -> Vec<ReportedFinding> {
        let sentences: Vec<Sentence> = blocks.iter().flat_map(SourceBlock::sentences).collect();
        let found: Vec<ReportedFinding> =
            self.picks.iter().filter_map(|pick| pick.finding(&sentences)).collect();
        let has_source =
            found.iter().flat_map(|finding| &finding.evidence).any(|quote| quote.source_id != INVENTED);
        if has_source { found } else { Vec::new() }
    }
}

/// No search gives so many sources.
const INVENTED: &str = "S99";

impl Pick {
    fn finding(&self, sentences: &[Sentence]) -> Option<ReportedFinding> {
        let quote = match self.slip {
            Slip::InventedSource(quote) => Quote { source_id: INVENTED.to_owned(), quote: quote.to_owned() },
            Slip::None | Slip::InventedQuote(_) => {
                let words = squeezed(self.words);
                let sentence = sentences.iter().find(|sentence| sentence.text.contains(&words))?;
                let quote = match self.slip {
                    Slip::InventedQuote(quote) => quote,
                    _ => &sentence.text,
                };
                Quote { source_id: sentence.source.clone(), quote: quote.to_owned() }
            }
        };
        Some(ReportedFinding {
            title: self.title.to_owned(),
            claim: self.claim.to_owned(),
            evidence: vec![quote],
            confidence: Confidence::High,
        })
    }
}

impl Gap {
    /// Sent back until a finding fills the gap, but not more than twice.
    pub(super) fn review(
        &self,
        earlier: usize,
        new: &[FindingLine],
        seen: &[FindingLine],
        verdicts: Vec<FindingVerdict>,
        mut issues: Vec<Issue>,
    ) -> CriticReview {
        let fills =
            |finding: &FindingLine| finding.level >= Level::G2 && finding.text.contains(self.filled_by);
        let is_filled = new.iter().chain(seen).any(fills);
        if is_filled || earlier > 1 {
            let (severity, kind) = (Severity::Low, IssueKind::WeakEvidence);
            issues.push(issue(kind, severity, self.reservation.to_owned()));
            let (summary, decision) = (self.approval.to_owned(), ReviewDecision::Approved);
            return CriticReview { summary, verdicts, issues, requested_research: Vec::new(), decision };
        }
        issues.insert(0, issue(IssueKind::MissingInformation, Severity::High, self.missing.to_owned()));
        CriticReview {
            summary: self.summary.to_owned(),
            verdicts,
            issues,
            requested_research: self.requests.iter().map(Task::assignment).collect(),
            decision: ReviewDecision::NeedsMoreWork,
        }
    }
}

const fn pick(words: &'static str, title: &'static str, claim: &'static str) -> Pick {
    Pick { words, title, claim, slip: Slip::None }
}

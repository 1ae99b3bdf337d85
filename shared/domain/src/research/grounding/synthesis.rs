//! The final answer, grounded again: the words of its author are checked like those of any other agent.

use std::collections::BTreeSet;

use super::number::Figures;
use super::{citable, most};
use crate::contract::research::{Confidence, FinalSynthesis, KeyFinding, Verdict};
use crate::research::{
    Evidence, Finding, Found, GroundedKeyFinding, GroundedSynthesis, Level, Source, SourceId,
};

/// Checks the final answer against the verified evidence of the findings that the Critic did not reject.
///
/// A statement's numbers must stand in the verified passages of the sources that it cites, or in the claims, G2 or
/// better, of the findings that cite them. Its level is the best one that carries all of it. The whole is never surer
/// than the median of its statements, the lower one of two; it is unsure when no statement reaches G2.
pub fn ground_synthesis(
    synthesis: &FinalSynthesis,
    findings: &[Finding],
    sources: &[Source],
) -> GroundedSynthesis {
    let findings: Vec<&Finding> =
        findings.iter().filter(|finding| finding.verdict != Some(Verdict::Rejected)).collect();
    let key_findings: Vec<GroundedKeyFinding> =
        synthesis.key_findings.iter().map(|key| ground_key_finding(key, &findings, sources)).collect();
    let cited: BTreeSet<SourceId> = key_findings.iter().flat_map(|key| key.sources.iter().copied()).collect();
    let mut uncertainties = synthesis.uncertainties.clone();
    // A summary cites nothing itself, so every finding that stands may carry it.
    let anywhere =
        findings.iter().flat_map(|finding| verified(finding)).map(|evidence| evidence.source).collect();
    let carried = carried(&findings, &anywhere, Level::G2);
    for (place, text) in [("summary", &synthesis.summary), ("conclusion", &synthesis.conclusion)] {
        for figure in carried.missing(text) {
            uncertainties.push(format!("The figure {figure} in the {place} is not in any verified passage."));
        }
    }
    let is_demo = sources.iter().any(|source| source.is_demo && cited.contains(&source.id));
    let mut confidence = synthesis.confidence.min(median(&key_findings));
    if !key_findings.iter().any(|key| key.level >= Level::G2) {
        confidence = Confidence::Low;
    }
    if is_demo {
        confidence = confidence.min(Confidence::Medium);
    }
    GroundedSynthesis {
        summary: synthesis.summary.clone(),
        key_findings,
        uncertainties,
        recommendations: synthesis.recommendations.clone(),
        conclusion: synthesis.conclusion.clone(),
        confidence,
    }
}

fn ground_key_finding(key: &KeyFinding, findings: &[&Finding], sources: &[Source]) -> GroundedKeyFinding {
    let mut notes = Vec::new();
    let mut valid: Vec<SourceId> = Vec::new();
    let mut is_demo = false;
    for id in &key.source_ids {
        match citable(id, sources) {
            Err(reason) => notes.push(reason),
            Ok(source) if valid.contains(&source.id) => {}
            Ok(source) if !findings.iter().any(|finding| has_verified(finding, source.id)) => {
                let id = source.id;
                notes.push(format!(
                    "{id} has no verified quote in a finding that stands; the citation was dropped."
                ));
            }
            Ok(source) => {
                valid.push(source.id);
                is_demo |= source.is_demo;
            }
        }
    }
    let is_dropped = !notes.is_empty();
    let cited: BTreeSet<SourceId> = valid.iter().copied().collect();
    let carries = |level: Level| {
        let has_any = findings
            .iter()
            .flat_map(|finding| verified(finding))
            .any(|evidence| cited.contains(&evidence.source) && level_of(evidence.found) >= level);
        has_any && carried(findings, &cited, level).missing(&key.statement).is_empty()
    };
    let level = match valid.is_empty() {
        true => Level::G0,
        false => [Level::G3, Level::G2].into_iter().find(|level| carries(*level)).unwrap_or(Level::G1),
    };
    if level == Level::G1 {
        let missing = carried(findings, &cited, Level::G2).missing(&key.statement);
        notes.extend(missing.iter().map(|figure| {
            format!("The figure {figure} of the statement is not in any verified passage of its sources.")
        }));
    }
    let citing = findings.iter().filter(|finding| cited.iter().any(|id| has_verified(finding, *id)));
    let stated = citing.map(|finding| finding.grounded.confidence).max().unwrap_or(Confidence::Low);
    let mut confidence = stated.min(most(level));
    if is_dropped {
        confidence = Confidence::Low;
    }
    if is_demo {
        confidence = confidence.min(Confidence::Medium);
    }
    GroundedKeyFinding { statement: key.statement.clone(), sources: valid, level, confidence, notes }
}

fn verified(finding: &Finding) -> impl Iterator<Item = &Evidence> {
    finding.grounded.evidence.iter().filter(|evidence| evidence.found > Found::Nowhere)
}

fn has_verified(finding: &Finding, id: SourceId) -> bool {
    verified(finding).any(|evidence| evidence.source == id)
}

fn level_of(found: Found) -> Level {
    match found {
        Found::Page => Level::G3,
        Found::Snippet => Level::G2,
        Found::Nowhere => Level::G1,
    }
}

/// The numbers that passages of these sources, and the claims of findings that cite them, carry at this level or above.
fn carried(findings: &[&Finding], cited: &BTreeSet<SourceId>, level: Level) -> Figures {
    let mut figures = Figures::default();
    for finding in findings {
        let mut cites = false;
        for evidence in verified(finding).filter(|evidence| cited.contains(&evidence.source)) {
            cites = true;
            if level_of(evidence.found) >= level {
                figures.add(evidence.passage.as_deref().unwrap_or_default());
            }
        }
        if cites && finding.grounded.level >= level {
            figures.add(&finding.grounded.claim);
        }
    }
    figures
}

fn median(key_findings: &[GroundedKeyFinding]) -> Confidence {
    let mut confidences: Vec<Confidence> = key_findings.iter().map(|key| key.confidence).collect();
    confidences.sort_unstable();
    confidences.get(confidences.len().saturating_sub(1) / 2).copied().unwrap_or(Confidence::Low)
}

#[cfg(test)]
mod tests;

//! The final answer, grounded again: the words of its author are checked like those of any other agent.

use std::collections::BTreeSet;

use super::number::Figures;
use super::words::{self, Share};
use super::{Carried, OTHER_LANGUAGE, citable, most, negation};
use crate::contract::research::{Confidence, FinalSynthesis, KeyFinding, Verdict};
use crate::research::{
    Evidence, Finding, Found, GroundedKeyFinding, GroundedSynthesis, Level, Source, SourceId,
};

/// Of the content words of a statement, or of each of its sentences, in one finding.
const WORDS_IN_ONE: Share = Share { part: 1, of: 2 };
/// Of those of a statement in all findings of its sources together, where anything is easier found.
const WORDS_IN_ALL: Share = Share { part: 2, of: 3 };

/// Checks the final answer against the verified evidence of the findings that the Critic did not reject.
///
/// A statement's numbers must stand in the verified passages of the sources that it cites, or in the claims, G2 or
/// better, of the findings that cite them; and so must enough of its words. Its level is the best one that carries all of it. The whole is never surer
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
    let ids: Vec<String> = findings.iter().map(|finding| finding.id.0.clone()).collect();
    let ids = ids.into_iter().chain(sources.iter().map(|source| source.id.to_string()));
    let ids: Vec<String> = ids.map(|id| id.to_lowercase()).collect();
    for (place, text) in [("summary", &synthesis.summary), ("conclusion", &synthesis.conclusion)] {
        for figure in carried.missing(text, &ids) {
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
    let citing: Vec<&Finding> = findings
        .iter()
        .copied()
        .filter(|finding| cited.iter().any(|id| has_verified(finding, *id)))
        .collect();
    let ids = citing.iter().map(|finding| finding.id.0.clone()).chain(cited.iter().map(SourceId::to_string));
    let ids: Vec<String> = ids.map(|id| id.to_lowercase()).collect();
    let missing = |level: Level| carried(findings, &cited, level).missing(&key.statement, &ids);
    let words = |level: Level| said(&key.statement, &citing, &cited, level);
    let claims: Vec<&str> = citing.iter().map(|finding| finding.grounded.claim.as_str()).collect();
    let is_denied = negation::is_denied(&key.statement, &claims);
    let carries = |level: Level| {
        let has_any = citing
            .iter()
            .flat_map(|finding| verified(finding))
            .any(|evidence| cited.contains(&evidence.source) && level_of(evidence.found) >= level);
        has_any && !is_denied && missing(level).is_empty() && words(level) != Carried::No
    };
    let level = match valid.is_empty() {
        true => Level::G0,
        false => [Level::G3, Level::G2].into_iter().find(|level| carries(*level)).unwrap_or(Level::G1),
    };
    if level == Level::G1 {
        notes.extend(missing(Level::G2).iter().map(|figure| {
            format!("The figure {figure} of the statement is not in any verified passage of its sources.")
        }));
        if words(Level::G2) == Carried::No {
            notes
                .push("The words of the statement are not in any finding that cites its sources.".to_owned());
        }
        if is_denied {
            notes.push("The statement denies what a finding that cites its sources says.".to_owned());
        }
    }
    let stated = citing.iter().map(|finding| finding.grounded.confidence).max().unwrap_or(Confidence::Low);
    let mut confidence = stated.min(most(level));
    if level > Level::G1 && words(level) == Carried::Unknown {
        notes.push(OTHER_LANGUAGE.to_owned());
        confidence = confidence.min(Confidence::Medium);
    }
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

/// Whether the words of a statement stand in findings that cite these sources. Claims are in the language of the
/// answer, so that passages in another one are asked only where no claim can be.
fn said(statement: &str, citing: &[&Finding], cited: &BTreeSet<SourceId>, level: Level) -> Carried {
    let comparable: Vec<Vec<&str>> = citing
        .iter()
        .map(|finding| {
            let mut texts = texts(finding, cited, level);
            texts.retain(|text| words::are_comparable(statement, text));
            texts
        })
        .collect();
    let in_one = |text: &str| comparable.iter().any(|texts| words::hold(text, texts, WORDS_IN_ONE));
    let all: Vec<&str> = comparable.concat();
    // Each sentence may be carried by a finding of its own.
    let sentences = words::sentences(statement);
    let by_sentence = !sentences.is_empty() && sentences.into_iter().all(in_one);
    if by_sentence || in_one(statement) || words::hold(statement, &all, WORDS_IN_ALL) {
        return Carried::Yes;
    }
    let has_claim = citing.iter().any(|finding| words::are_comparable(statement, &finding.grounded.claim));
    if all.is_empty() && !has_claim { Carried::Unknown } else { Carried::No }
}

/// What a finding says at this level or above.
fn texts<'a>(finding: &'a Finding, cited: &BTreeSet<SourceId>, level: Level) -> Vec<&'a str> {
    let evidence = verified(finding)
        .filter(|evidence| cited.contains(&evidence.source) && level_of(evidence.found) >= level);
    let mut texts: Vec<&str> = evidence
        .flat_map(|evidence| evidence.passage.iter().chain(&evidence.sentences))
        .map(String::as_str)
        .collect();
    if finding.grounded.level >= level {
        texts.push(&finding.grounded.claim);
    }
    texts
}

fn median(key_findings: &[GroundedKeyFinding]) -> Confidence {
    let mut confidences: Vec<Confidence> = key_findings.iter().map(|key| key.confidence).collect();
    confidences.sort_unstable();
    confidences.get(confidences.len().saturating_sub(1) / 2).copied().unwrap_or(Confidence::Low)
}

#[cfg(test)]
mod tests;

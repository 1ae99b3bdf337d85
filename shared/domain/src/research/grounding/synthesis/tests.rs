//! Statements of an answer, carried and not carried by findings.

use super::*;
use crate::research::{FindingId, GroundedFinding, SourceStatus};

fn source(id: u32) -> Source {
    Source {
        id: SourceId(id),
        url: String::new(),
        title: String::new(),
        snippet: String::new(),
        text: None,
        sha256: None,
        tool: "searxng".to_owned(),
        is_demo: id == 7,
        status: if id == 8 { SourceStatus::Placeholder } else { SourceStatus::Found },
        note: None,
        published: None,
        at: crate::Millis(0),
    }
}

fn finding(
    place: usize,
    claim: &str,
    level: Level,
    confidence: Confidence,
    evidence: &[(u32, Found, &str)],
) -> Finding {
    let evidence = evidence.iter().map(|(source, found, passage)| Evidence {
        source: SourceId(*source),
        quote: (*passage).to_owned(),
        found: *found,
        passage: (*found > Found::Nowhere).then(|| (*passage).to_owned()),
        sentences: None,
    });
    Finding {
        id: FindingId::new(1, place),
        subtask: 1,
        grounded: GroundedFinding {
            title: String::new(),
            claim: claim.to_owned(),
            confidence,
            stated_confidence: Confidence::High,
            level,
            evidence: evidence.collect(),
            notes: Vec::new(),
            is_demo: false,
        },
        reviewed_in: Some(1),
        verdict: Some(if place == 5 { Verdict::Rejected } else { Verdict::Supported }),
        verdict_note: None,
    }
}

fn findings() -> Vec<Finding> {
    use Confidence::{High, Low, Medium};
    vec![
        finding(1, "Bundles cost $150 in 2026.", Level::G3, High, &[(1, Found::Page, "from $150 a bundle")]),
        finding(
            2,
            "Resorts ask 40 dollars.",
            Level::G2,
            Medium,
            &[(2, Found::Snippet, "40 dollars for guests")],
        ),
        finding(
            3,
            "There are 99 mats.",
            Level::G1,
            Low,
            &[(3, Found::Page, "a room of 12 mats"), (6, Found::Nowhere, "77 mats")],
        ),
        finding(4, "Demo 5.", Level::G3, Medium, &[(7, Found::Page, "5 of them")]),
        finding(5, "It costs 66.", Level::G3, High, &[(4, Found::Page, "66 dollars")]),
    ]
}

fn synthesis(keys: &[(&str, &[&str])]) -> FinalSynthesis {
    let key = |(statement, ids): &(&str, &[&str])| KeyFinding {
        statement: (*statement).to_owned(),
        source_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
    };
    FinalSynthesis {
        summary: "It works.".to_owned(),
        key_findings: keys.iter().map(key).collect(),
        uncertainties: vec!["Winter is open.".to_owned()],
        recommendations: vec!["Try it.".to_owned()],
        conclusion: "Do it.".to_owned(),
        confidence: Confidence::High,
    }
}

fn grounded(keys: &[(&str, &[&str])]) -> GroundedSynthesis {
    ground_synthesis(&synthesis(keys), &findings(), &(1..=8).map(source).collect::<Vec<_>>())
}

#[test]
fn levels_and_confidence_of_a_statement() {
    use Confidence::{High, Low, Medium};
    use Level::{G0, G1, G2, G3};
    for (statement, ids, kept, level, confidence, note) in [
        ("Bundles cost $150.", &["S1"][..], &[1][..], G3, High, ""),
        ("Bundles cost $150.", &["s1", "[S1]"], &[1], G3, High, ""),
        // In the claim alone, which was found to be carried.
        ("It costs $150 in 2026.", &["S1"], &[1], G3, High, ""),
        ("Bundles are sold.", &["S1"], &[1], G3, High, ""),
        ("Resorts ask $40.", &["S2"], &[2], G2, Medium, ""),
        // One number by a page, one by a snippet: as weak as the snippet.
        ("$150 here, $40 there.", &["S1", "S2"], &[1, 2], G2, Medium, ""),
        // A number of a source that the statement does not cite.
        ("$150 here, $40 there.", &["S1"], &[1], G1, Low, "The figure 40 of the statement"),
        ("Bundles cost $151.", &["S1"], &[1], G1, Low, "The figure 151 of the statement"),
        // The words were found, the claim's own number was not.
        ("The room has 12 mats.", &["S3"], &[3], G3, Low, ""),
        ("There are 99 mats.", &["S3"], &[3], G1, Low, "The figure 99"),
        ("Demo has 5.", &["S7"], &[7], G3, Medium, ""),
        ("Bundles cost $150.", &["S1", "S9"], &[1], G3, Low, "S9 is no source"),
        ("Bundles cost $150.", &["S9"], &[], G0, Low, "S9 is no source"),
        ("Bundles cost $150.", &["the web"], &[], G0, Low, "`the web` is no source id"),
        ("Bundles cost $150.", &["S1", "S8"], &[1], G3, Low, "S8 stands for"),
        // Its only quote was not found; its finding was rejected; no finding has it.
        ("There are mats.", &["S6"], &[], G0, Low, "S6 has no verified quote"),
        ("It costs 66.", &["S4"], &[], G0, Low, "S4 has no verified quote"),
        ("Bundles cost $150.", &["S1", "S5"], &[1], G3, Low, "S5 has no verified quote"),
    ] {
        let answer = grounded(&[(statement, ids)]);
        let key = &answer.key_findings[0];
        assert_eq!((key.level, key.confidence), (level, confidence), "{statement} {ids:?}: {:?}", key.notes);
        assert_eq!(key.sources.iter().map(|id| id.0).collect::<Vec<_>>(), kept, "{statement} {ids:?}");
        match note {
            "" => assert_eq!(key.notes, Vec::<String>::new(), "{statement}"),
            _ => assert!(key.notes.iter().any(|given| given.contains(note)), "{note} / {:?}", key.notes),
        }
    }
}

#[test]
fn the_whole_is_no_surer_than_its_parts() {
    use Confidence::{High, Low, Medium};
    type Key = (&'static str, &'static [&'static str]);
    let (high, medium, low): (Key, Key, Key) =
        (("Bundles cost $150.", &["S1"]), ("Resorts ask $40.", &["S2"]), ("It costs 3.", &["S1"]));
    for (keys, confidence) in [
        (&[high, high, low][..], High),
        (&[high, medium, low], Medium),
        (&[high, medium], Medium),
        (&[high, low], Low),
        (&[high, low, low], Low),
        (&[low], Low),
        (&[], Low),
        (&[high, high, ("Demo has 5.", &["S7"])], Medium),
    ] {
        assert_eq!(grounded(keys).confidence, confidence, "{keys:?}");
    }
    let mut modest = synthesis(&[high]);
    modest.confidence = Low;
    let answer = ground_synthesis(&modest, &findings(), &(1..=8).map(source).collect::<Vec<_>>());
    assert_eq!(answer.confidence, Low, "never surer than stated");
}

#[test]
fn figures_out_of_nowhere_are_named_as_open() {
    let mut made_up = synthesis(&[("Bundles cost $150.", &["S1"])]);
    made_up.summary = "42 visitors pay $150, and $40 at resorts.".to_owned();
    made_up.conclusion = "Charge $66 on 3 May 2027.".to_owned();
    let answer = ground_synthesis(&made_up, &findings(), &(1..=8).map(source).collect::<Vec<_>>());
    assert_eq!(
        answer.uncertainties,
        [
            "Winter is open.",
            "The figure 42 in the summary is not in any verified passage.",
            "The figure 66 in the conclusion is not in any verified passage.",
            "The figure 3 May 2027 in the conclusion is not in any verified passage.",
        ]
    );
    assert_eq!((answer.summary, answer.conclusion), (made_up.summary, made_up.conclusion));
}

#[test]
fn a_source_does_not_carry_other_words_or_their_denial() {
    for (statement, note) in [
        ("The moon is made of cheese.", "The words of the statement are not in any finding"),
        ("Bundles do not cost $150 in 2026.", "The statement denies"),
    ] {
        let answer = grounded(&[(statement, &["S1"])]);
        let key = &answer.key_findings[0];
        assert_eq!((key.level, key.confidence), (Level::G1, Confidence::Low), "{statement}");
        assert!(key.notes.iter().any(|given| given.starts_with(note)), "{:?}", key.notes);
    }
}

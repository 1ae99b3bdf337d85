//! Findings as they stand in the views of Manager, Critic and Synthesizer.

use std::collections::BTreeSet;

use super::words::{figures, is_number, terms};

/// Share of their words that two claims need in common to speak of the same thing.
const SAME_THING: f64 = 0.4;

/// Stands in place of the sources of a claim without any.
const NO_SOURCE: &str = "no source";

/// How well a finding is grounded, as the view says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    G0,
    G1,
    G2,
    G3,
}

/// A finding in a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FindingLine {
    /// Such as F1.2.
    pub(super) id: String,
    pub(super) level: Level,
    /// What stands in the brackets beside the level: confidence, verdict.
    pub(super) marks: Vec<String>,
    /// What stands after the brackets.
    pub(super) text: String,
    /// Verified passages with their sources.
    pub(super) passages: Vec<(String, String)>,
    /// What was dropped or not found.
    pub(super) notes: Vec<String>,
}

/// Reads the blocks of a section; `- ` before an id is passed over.
pub(super) fn findings(section: &str) -> Vec<FindingLine> {
    let mut found: Vec<FindingLine> = Vec::new();
    for line in section.lines() {
        if let Some(first) = first_line(line.strip_prefix("- ").unwrap_or(line)) {
            found.push(first);
        } else if let Some(finding) = found.last_mut() {
            let line = line.trim();
            if let Some(note) = line.strip_prefix("note: ") {
                finding.notes.push(note.to_owned());
            } else if let Some((source, passage)) = line.split_once(" \"").filter(|(id, _)| is_source_id(id))
            {
                finding.passages.push((source.to_owned(), passage.trim_end_matches('"').to_owned()));
            }
        }
    }
    found
}

/// `F1.1 [G3, medium, unreviewed] title: claim`
fn first_line(line: &str) -> Option<FindingLine> {
    let (id, rest) = line.split_once(" [")?;
    let (task, place) = id.strip_prefix('F')?.split_once('.')?;
    if [task, place].iter().any(|number| number.parse::<u32>().is_err()) {
        return None;
    }
    let (inside, text) = rest.split_once(']')?;
    let mut marks = inside.split(',').map(|mark| mark.trim().to_owned());
    let level = match marks.next().as_deref() {
        Some("G3") => Level::G3,
        Some("G2") => Level::G2,
        Some("G1") => Level::G1,
        // The Critic also sees the verdict alone, of findings that were reviewed before.
        Some("supported") => Level::G2,
        Some("weak") => Level::G1,
        _ => Level::G0,
    };
    let marks = inside.split(',').map(|mark| mark.trim().to_owned()).collect();
    let (id, text) = (id.to_owned(), text.trim().to_owned());
    Some(FindingLine { id, level, marks, text, passages: Vec::new(), notes: Vec::new() })
}

fn is_source_id(text: &str) -> bool {
    text.strip_prefix('S').is_some_and(|digits| digits.parse::<u32>().is_ok())
}

impl FindingLine {
    pub(super) fn is(&self, mark: &str) -> bool {
        self.marks.iter().any(|known| known == mark)
    }

    /// The assignment's number.
    pub(super) fn subtask(&self) -> u32 {
        let digits = self.id.trim_start_matches('F').split('.').next();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    /// The claim without the sources in brackets at its end, and those sources.
    pub(super) fn claim_and_sources(&self) -> (&str, Vec<String>) {
        let parts = self.text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
        let Some((claim, inside)) = parts else {
            return (&self.text, Vec::new());
        };
        if inside == NO_SOURCE {
            return (claim.trim_end(), Vec::new());
        }
        let ids: Vec<String> = inside.split(',').map(|id| id.trim().to_owned()).collect();
        if ids.iter().all(|id| is_source_id(id)) { (claim.trim_end(), ids) } else { (&self.text, Vec::new()) }
    }
}

/// Two statements and the sources of each, for [`disagree`].
pub(super) struct Statement<'a> {
    pub(super) text: &'a str,
    pub(super) sources: &'a [String],
}

/// Whether two statements of different sources give other figures for the same thing.
pub(super) fn disagree(one: &Statement<'_>, other: &Statement<'_>) -> bool {
    let (left, right) = (figures(one.text), figures(other.text));
    let shares_source = one.sources.iter().any(|id| other.sources.contains(id));
    if shares_source || left.is_empty() || right.is_empty() || !left.is_disjoint(&right) {
        return false;
    }
    let words = |text| terms(text).into_iter().filter(|term| !is_number(term)).collect::<BTreeSet<_>>();
    let (left, right) = (words(one.text), words(other.text));
    let (common, all) = (left.intersection(&right).count(), left.union(&right).count());
    #[expect(clippy::cast_precision_loss, reason = "counts of words in a sentence")]
    let share = common as f64 / all.max(1) as f64;
    common >= 2 && share >= SAME_THING
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_with_passages_and_notes() {
        let section = "F1.1 [G3, medium] A title: a claim: 1\n  S3 \"says \"so\" here\"\n  note: dropped.\n\
            - F2.10 [G0, low, unreviewed] t: c\n(two more)\n[G3] none";
        let found = findings(section);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].level, found[0].text.as_str()), (Level::G3, "A title: a claim: 1"));
        assert_eq!(found[0].passages, [("S3".to_owned(), "says \"so\" here".to_owned())]);
        assert_eq!(found[0].notes, ["dropped."]);
        assert_eq!((found[1].subtask(), found[1].level, found[1].is("unreviewed")), (2, Level::G0, true));
    }

    #[test]
    fn a_claim_ends_before_its_sources() {
        let of = |text: &str| findings(&format!("F1.1 [G3, low, weak] {text}")).remove(0);
        let with = of("It costs $38 (or less) (S3, S12)");
        assert_eq!(
            with.claim_and_sources(),
            ("It costs $38 (or less)", vec!["S3".to_owned(), "S12".to_owned()])
        );
        assert_eq!(of("It costs $38 (or less)").claim_and_sources(), ("It costs $38 (or less)", vec![]));
    }

    #[test]
    fn other_figures_for_the_same_thing_disagree() {
        let (one, other) = (["S1".to_owned()], ["S2".to_owned()]);
        let case = |left, right, sources: &[String]| {
            disagree(&Statement { text: left, sources: &one }, &Statement { text: right, sources })
        };
        let bulletin = "In the year 2025 the bulletin counts 1,486,000 stopover visitors in Nassau.";
        let yearbook = "In the year 2025 the yearbook counts 1,742,000 stopover visitors in Nassau.";
        assert!(case(bulletin, yearbook, &other));
        assert!(!case(bulletin, yearbook, &one), "one source does not contradict itself");
        assert!(!case(bulletin, bulletin, &other));
        assert!(!case(bulletin, "A card for ten classes costs $320.", &other));
        let (japan, other_japan) = ("茶道体験に参加した人は11%でした。", "茶道体験に参加した人は7%でした。");
        assert!(case(japan, other_japan, &other));
    }
}

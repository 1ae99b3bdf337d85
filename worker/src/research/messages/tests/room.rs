//! A view that keeps its budget gives a prompt that keeps it, whatever its texts are.

use nightforge_domain::research::views::{FIXED_BYTES, LEAST_BYTES};
use nightforge_domain::research::{FindingId, SourceStatus};
use proptest::prelude::*;

use super::*;

/// Texts of agents, persons and pages: long, of many lines, in several scripts, with markup.
fn text() -> impl Strategy<Value = String> {
    ("([a-z]{1,9}[ .]|日本|é|\\n|\\nMENU:|<|\\||\\[|#|: |\"){0,20}", 1usize..12)
        .prop_map(|(text, times)| text.repeat(times))
}

fn research() -> impl Strategy<Value = Research> {
    let parts = (proptest::collection::vec(text(), 1..6), 0usize..24, 0usize..6, any::<bool>());
    parts.prop_map(|(texts, findings, reviews, is_hostile)| {
        let sent_back = || first_review(ReviewDecision::NeedsMoreWork);
        let mut research = if is_hostile { hostile().1 } else { sent_back() };
        let text = |at: usize| texts[at % texts.len()].clone();
        for place in 0..findings {
            let mut finding = nassau::visitor_price();
            finding.id = FindingId::new(9, place + 1);
            finding.grounded.title = text(place);
            finding.grounded.claim = text(place + 1);
            finding.reviewed_in = (place % 2 == 0).then_some(1);
            for evidence in &mut finding.grounded.evidence {
                evidence.passage = Some(text(place + 2));
            }
            finding.grounded.notes = vec![text(place + 3); place % 4];
            research.findings.push(finding);
        }
        for number in 0..reviews {
            let mut review = research.reviews[0].clone();
            review.number += u32::try_from(number).unwrap();
            review.summary = text(number);
            for issue in &mut review.issues {
                issue.description = text(number + 1);
            }
            research.reviews.push(review);
        }
        for subtask in &mut research.subtasks {
            subtask.description = text(4);
            subtask.outcome = Some(text(5));
        }
        research.rejection = Some(Rejection { action: "COMPLETE".to_owned(), reason: text(2) });
        research
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_prompt_keeps_its_budget(research in research(), objective in text(), budget in 0usize..9_000) {
        let asked = Asked { objective: &objective, language: None, searched_in: Some(&objective) };
        let most = budget.max(LEAST_BYTES) + FIXED_BYTES;
        let mut found = sources();
        for source in &mut found {
            source.title.push_str(&objective);
            if source.status == SourceStatus::Read {
                source.text = Some(objective.repeat(3));
            }
        }
        let view = ReportView::of(&asked, &research, 3, &[], &found, budget).unwrap();
        let long_marker = |_| "m".repeat(32);
        let reasons = vec![objective.clone(); 9];
        for text in [
            decide(&asked, &research, budget),
            ask_queries(&asked, &research, 3, budget),
            user(report_again(&view, long_marker, &reasons)),
            ask_critic(&asked, &research, budget),
            ask_synthesis(&asked, &research, budget),
        ] {
            prop_assert!(text.len() <= most, "{} bytes, at most {most}:\n{text}", text.len());
            for header in nassau::HEADERS {
                let opened = text.lines().filter(|line| line.starts_with(header)).count();
                prop_assert!(opened <= 1, "{header}:\n{text}");
            }
        }
    }
}

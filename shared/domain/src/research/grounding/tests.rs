//! Findings and their quotes, found, changed and invented.

use super::*;

const PAGE: &str = "Harbour Pilates, Nassau\n\nTwo studios serve residents; resort classes are for guests only.\n\nA bundle of \
                    five visitor classes costs between $150 and $180 in the high season. Prices are of 3 March 2026.\n\n\
                    The studio has 12 mats.";
const JAPANESE: &str = "ナッソーの観光客向け料金は一回三十五ドルです。\n住民は二十ドルを支払います。";

fn source(id: u32, text: Option<&str>, snippet: &str) -> Source {
    Source {
        id: SourceId(id),
        url: format!("https://example.org/{id}"),
        title: "Harbour Pilates".to_owned(),
        snippet: snippet.to_owned(),
        text: text.map(str::to_owned),
        sha256: None,
        tool: "searxng".to_owned(),
        is_demo: false,
        status: if text.is_some() { SourceStatus::Read } else { SourceStatus::Found },
        note: None,
        published: None,
        at: crate::Millis(0),
    }
}

fn sources() -> Vec<Source> {
    let mut demo = source(4, Some(PAGE), "");
    demo.is_demo = true;
    let mut placeholder = source(5, None, "No curated demo data is known for this topic at all.");
    placeholder.status = SourceStatus::Placeholder;
    let mut refused = source(6, None, "Visitor bundles benchmark at 150 to 180 dollars in Nassau.");
    refused.status = SourceStatus::Refused;
    let mut duplicate = source(7, None, "The same page: two studios serve residents of Nassau.");
    duplicate.status = SourceStatus::Duplicate;
    vec![
        source(1, Some(PAGE), "Classes for visitors from 99 dollars a week."),
        source(2, None, "Resort classes cost 40 dollars for guests of the hotel."),
        source(3, Some(JAPANESE), ""),
        demo,
        placeholder,
        refused,
        duplicate,
    ]
}

fn finding(claim: &str, quotes: &[(&str, &str)]) -> GroundedFinding {
    let evidence =
        quotes.iter().map(|(id, quote)| Quote { source_id: (*id).to_owned(), quote: (*quote).to_owned() });
    let reported = ReportedFinding {
        title: "t".to_owned(),
        claim: claim.to_owned(),
        evidence: evidence.collect(),
        confidence: Confidence::High,
    };
    ground(&reported, &sources())
}

const BUNDLE: &str = "A bundle of five visitor classes costs between $150 and $180";

#[test]
fn levels_and_confidence_of_a_finding() {
    use Confidence::{High, Low, Medium};
    use Level::{G0, G1, G2, G3};
    for (claim, quotes, level, confidence, note) in [
        ("Bundles cost 150 to 180 dollars.", &[("S1", BUNDLE)][..], G3, High, ""),
        // Ids as models write them.
        ("Bundles cost 150 to 180 dollars.", &[("[s1]", BUNDLE)], G3, High, ""),
        // The words of the page in other clothes.
        (
            "It costs $150.",
            &[("S1", "“a  BUNDLE of five visitor classes costs\nbetween ＄150 and $180…”")],
            G3,
            High,
            "",
        ),
        // Three slips in sixty characters.
        (
            "It costs $150.",
            &[("S1", "A bundle of five visitors clases costs betwen $150 and $180 in the high season")],
            G3,
            High,
            "",
        ),
        // A number in the same paragraph, but not in the quote; and one of another paragraph.
        ("From $150, as of March 3, 2026.", &[("S1", BUNDLE)], G3, High, ""),
        (
            "The studio has 12 mats.",
            &[("S1", BUNDLE)],
            G1,
            Low,
            "The figure 12 of the claim is not in any cited passage.",
        ),
        (
            "Bundles cost $190.",
            &[("S1", BUNDLE)],
            G1,
            Low,
            "The figure 190 of the claim is not in any cited passage.",
        ),
        ("Bundles cost €150.", &[("S1", BUNDLE)], G1, Low, "The figure 150"),
        ("Prices of 4 March 2026.", &[("S1", BUNDLE)], G1, Low, "The figure 4 March 2026 of the claim"),
        // Only what the search showed.
        ("Resort classes cost $40.", &[("S2", "Resort classes cost 40 dollars for guests")], G2, Medium, ""),
        (
            "Visitors pay 99 dollars.",
            &[("S1", "Classes for visitors from 99 dollars a week")],
            G2,
            Medium,
            "",
        ),
        ("Bundles cost 150.", &[("S6", "Visitor bundles benchmark at 150 to 180 dollars")], G2, Medium, ""),
        ("Two studios.", &[("S7", "two studios serve residents of Nassau")], G2, Medium, ""),
        // The page carries the words, the snippet of another source the number.
        (
            "$40 in two studios.",
            &[("S1", "Two studios serve residents"), ("S2", "Resort classes cost 40 dollars for guests")],
            G2,
            Medium,
            "",
        ),
        // Hallucinated citations: one of two, and all.
        ("It costs $150.", &[("S1", BUNDLE), ("S9", BUNDLE)], G3, Low, "S9 is no source that a search gave"),
        ("It costs $150.", &[("S9", BUNDLE)], G0, Low, "S9 is no source that a search gave"),
        ("It costs $150.", &[("https://made.up", BUNDLE)], G0, Low, "`https://made.up` is no source id"),
        (
            "Nothing is known.",
            &[("S5", "No curated demo data is known for this topic")],
            G0,
            Low,
            "S5 stands for \"nothing known\"",
        ),
        (
            "It costs $150.",
            &[("S1", BUNDLE), ("S5", "No curated demo data is known for this topic")],
            G3,
            Low,
            "S5 stands",
        ),
        (
            "It is loved.",
            &[("S1", "Tourists are delighted by the sunrise classes")],
            G1,
            Low,
            "The quote of S1 is not in its text",
        ),
        (
            "It costs $150.",
            &[("S1", BUNDLE), ("S2", "Tourists are delighted by it all")],
            G3,
            Low,
            "The quote of S2 is not in its text",
        ),
        (
            "Two studios.",
            &[("S1", "Two studios serve")],
            G1,
            Low,
            "The quote of S1 has 17 characters and needs 20",
        ),
        ("Two studios.", &[("S1", "  \"Two studios serve\"  …")], G1, Low, "has 17 characters"),
        // Not one contiguous stretch.
        (
            "It costs $150.",
            &[("S1", "A bundle of five visitor classes costs … in the high season")],
            G1,
            Low,
            "The quote of S1 leaves words out",
        ),
        (
            "It costs $150.",
            &[("S1", "A bundle of five visitor classes costs between $150 and [...]$180 in the high season")],
            G1,
            Low,
            "leaves words out",
        ),
        // A near quote that changes a number.
        (
            "It costs $190.",
            &[("S1", "A bundle of five visitor classes costs between $150 and $190 in the high season")],
            G1,
            Low,
            "has the figure 190, the source has not",
        ),
        ("It costs $150.", &[("S4", BUNDLE)], G3, Medium, ""),
        ("観光客は35ドルを払う。", &[("S3", "観光客向け料金は一回三十五ドル")], G3, High, ""),
        ("観光客は35ドルを払う。", &[("S3", "観光客向けの料金")], G1, Low, "not in its text"),
        ("観光客は35ドルを払う。", &[("S3", "観光客向け料金")], G1, Low, "has 7 characters and needs 8"),
        ("It is there.", &[], G0, Low, "The claim cites no source."),
    ] {
        let grounded = finding(claim, quotes);
        assert_eq!(
            (grounded.level, grounded.confidence),
            (level, confidence),
            "{claim} {quotes:?}: {:?}",
            grounded.notes
        );
        assert_eq!(grounded.stated_confidence, High);
        match note {
            "" => assert_eq!(grounded.notes, Vec::<String>::new(), "{claim} {quotes:?}"),
            _ => assert!(
                grounded.notes.iter().any(|given| given.contains(note)),
                "{note} / {:?}",
                grounded.notes
            ),
        }
    }
}

#[test]
fn evidence_has_the_words_of_its_source() {
    let grounded = finding(
        "c",
        &[
            ("S1", "a BUNDLE of five visitors classes costs between"),
            ("S1", "nothing like that in the page"),
            ("S9", BUNDLE),
        ],
    );
    let evidence: Vec<_> =
        grounded.evidence.iter().map(|one| (one.source.0, one.found, one.passage.as_deref())).collect();
    assert_eq!(
        evidence,
        [(1, Found::Page, Some("A bundle of five visitor classes costs between")), (1, Found::Nowhere, None)],
        "an id that is none leaves no evidence"
    );
    assert_eq!(finding("c", &[("S1", BUNDLE), ("S1", BUNDLE)]).evidence.len(), 1, "the same twice is once");
    assert!(finding("c", &[("S4", BUNDLE)]).is_demo && !grounded.is_demo);
}

#[test]
fn a_stated_low_stays_low_and_a_long_passage_is_clipped() {
    let text = "word after word ".repeat(60);
    let quote = Quote { source_id: "S1".to_owned(), quote: text.clone() };
    let reported = ReportedFinding {
        title: String::new(),
        claim: "Word after word.".to_owned(),
        evidence: vec![quote],
        confidence: Confidence::Low,
    };
    let grounded = ground(&reported, &[source(1, Some(&text), "")]);
    assert_eq!((grounded.level, grounded.confidence), (Level::G3, Confidence::Low));
    let passage = grounded.evidence[0].passage.as_deref().unwrap();
    assert!(passage.chars().count() <= 400 && passage.ends_with("[…]"), "{passage}");
}

#[test]
fn an_ellipsis_of_the_source_itself_is_its_words() {
    let text = "The coach said: well … it depends on the season, as ever.";
    let quote = Quote {
        source_id: "S1".to_owned(),
        quote: "The coach said: well... it depends on the season".to_owned(),
    };
    let reported = ReportedFinding {
        title: String::new(),
        claim: "It depends on the season.".to_owned(),
        evidence: vec![quote],
        confidence: Confidence::High,
    };
    assert_eq!(ground(&reported, &[source(1, Some(text), "")]).level, Level::G3);
}

#[test]
fn a_cited_passage_is_bounded() {
    let text = format!("{}QUOTE\n{}\n \n99", "7 x\n".repeat(400), "y ".repeat(20));
    let at = text.find("QUOTE").unwrap();
    let passage = around(&text, at..at + 5);
    assert!(passage.contains("7 x\n7 x"), "{passage}");
    assert!(passage.chars().count() <= 2 * 600 + 5 && !passage.contains("99"), "{passage}");
    assert_eq!(around("a\n\nb\nc\n \t\nd", 3..4), "b\nc");
    assert_eq!(around("日本", 0..6), "日本");
}

#[test]
fn a_hostile_page_does_not_take_long() {
    // Every piece of the quote everywhere, and never the quote.
    let page = "a bundle of five visitor classes costs between ".repeat(4400);
    let quote = "a bundle of five visitor prices costs over ".repeat(7);
    let reported = ReportedFinding {
        title: String::new(),
        claim: "c".to_owned(),
        evidence: vec![Quote { source_id: "S1".to_owned(), quote }],
        confidence: Confidence::High,
    };
    assert_eq!(ground(&reported, &[source(1, Some(&page), "")]).level, Level::G1);
}

#[test]
fn a_found_quote_comes_with_its_sentences() {
    let around = "The bells may be lost. As long as Redis is away, workers look every 100 ms. Then they stop. ずっと前。\
                  そのとき来た。";
    let of = |words| sentences(around, words);
    assert_eq!(
        of("workers look every 100 ms"),
        "The bells may be lost. As long as Redis is away, workers look every 100 ms."
    );
    assert_eq!(of("The bells"), "The bells may be lost.");
    assert_eq!(of("そのとき"), "ずっと前。そのとき来た。");
    let long = format!("{} In the end it costs $5. {}", "word ".repeat(100), "more ".repeat(100));
    assert_eq!(sentences(&long, "costs $5"), "costs $5", "what does not fit is left away");
    assert_eq!(sentences("none of it", "other words"), "other words");
}

#[test]
fn a_real_quote_does_not_carry_other_words() {
    let made_up = finding("Everyone may buy a bundle, the moon is made of cheese.", &[("S1", BUNDLE)]);
    assert_eq!((made_up.level, made_up.confidence), (Level::G1, Confidence::Low));
    assert_eq!(made_up.notes, ["The words of the claim are not in any cited passage."]);
    let foreign = finding("五回の券は150ドルからです。", &[("S1", BUNDLE)]);
    assert_eq!((foreign.level, foreign.confidence), (Level::G3, Confidence::Medium));
    assert_eq!(foreign.notes, [OTHER_LANGUAGE]);
}

//! What a task leaves behind, whole or partial, for people and for programs.

use nightforge_domain::research::{html, markdown};

use super::team::Team;

const WHOLE: &str = "submitted; plan A, B; found 1; found 2; review; approve; complete; answer";

#[test]
fn the_answer_names_its_sources_from_their_rows() {
    let mut team = Team::new();
    team.tell(WHOLE);
    let page = team.markdown.clone().unwrap();
    for part in [
        "# Would tourists come?",
        "**completed**",
        "Tourists would come.",
        "A class costs $15. [G3, medium] (S1)",
        "## Sources",
        "S1: Page 1 <https://example.org/1>",
        "1970-01-02",
        "## Found but not cited",
        "S2: Page 2",
        "proves the words, not the conclusion",
    ] {
        assert!(page.contains(part), "{part} is missing in\n{page}");
    }
    let result = team.result();
    assert_eq!((result.counts.sources, result.counts.sources_cited, result.counts.findings), (3, 1, 3));
    assert_eq!(serde_json::json!(result.outcome), "answered");
}

#[test]
fn demonstration_data_is_warned_of_before_anything_else() {
    let mut team = Team::new();
    team.sources[1].is_demo = true;
    team.tell(WHOLE);
    let page = team.markdown.clone().unwrap();
    let (warning, summary) = (page.find("Demonstration data").unwrap(), page.find("## Summary").unwrap());
    assert!(warning < summary);
    assert!(html(team.result()).contains("Demonstration data"));
}

#[test]
fn the_page_speaks_the_language_of_the_task() {
    let headings =
        [("ja", "## 主な調査結果"), ("pt-BR", "## Principais resultados"), ("tlh", "## Key findings")];
    for (language, heading) in headings {
        let mut team = Team::new();
        team.language = Some(language);
        team.tell(WHOLE);
        assert!(team.markdown.as_ref().unwrap().contains(heading), "{language}");
        assert!(html(team.result()).contains(&format!("<html lang=\"{language}\">")));
    }
}

#[test]
fn hostile_text_is_text() {
    let mut team = Team::new();
    team.tell(WHOLE);
    let mut result = team.result().clone();
    let hostile = "<script>alert(1)</script> [x](javascript:alert(1)) ![p](http://evil/p.png) \"onload='x' `code` | # h\n# forged";
    result.objective = hostile.to_owned();
    result.summary = hostile.to_owned();
    result.key_findings[0].statement = hostile.to_owned();
    result.key_findings[0].notes = vec![hostile.to_owned()];
    result.findings[0].grounded.claim = hostile.to_owned();
    result.sources[0].title = hostile.to_owned();
    result.sources[0].url = "https://evil/\"><script>alert(2)</script>".to_owned();
    result.sources[1].url = "javascript:alert(3)".to_owned();
    result.sources[1].note = Some(hostile.to_owned());
    let page = html(&result);
    for part in ["<script", "href=\"javascript", "<img", "onload='"] {
        assert!(!page.contains(part), "{part} in\n{page}");
    }
    // An escaped bracket ends no link.
    let page = markdown(&result).replace("\\]", "").replace("\\[", "").replace("\\!", "");
    for part in ["<script", "](javascript", "![p]", "\n# forged", "<javascript"] {
        assert!(!page.contains(part), "{part} in\n{page}");
    }
    assert_eq!(page.lines().filter(|line| line.starts_with("# ")).count(), 1);
}

#[test]
fn what_is_below_g2_is_marked_and_counted() {
    let mut team = Team::new();
    team.tell("submitted; plan A; found 1; review; approve; complete");
    let mut synthesis = super::team::synthesis();
    synthesis.key_findings[0].level = nightforge_domain::research::Level::G1;
    synthesis.key_findings[0].notes = vec!["The number 15 is not in S1.".to_owned()];
    let job = *team.state.awaited.keys().next().unwrap();
    let result = nightforge_domain::JobResult::Synthesized { synthesis, working_ms: 1 };
    team.step(&nightforge_domain::Input::JobDone { job, result });
    let page = team.markdown.clone().unwrap();
    assert!(page.contains("- ⚠ A class costs $15. [G1, medium]"), "{page}");
    assert!(page.contains("1 of 1 key findings were not found"), "{page}");
}

#[test]
fn a_repeated_question_says_what_changed() {
    let mut first = Team::new();
    first.tell(WHOLE);
    let mut before = first.result().clone();
    before.key_findings[0].statement = "A single class costs $12 for tourists in the high season.".to_owned();
    let mut gone = before.key_findings[0].clone();
    gone.statement = "No studio on the island offers classes in the evening.".to_owned();
    before.key_findings.push(gone);
    before.sources[0].sha256 = Some("other".to_owned());
    before.sources.remove(2);
    let mut now = first.result().clone();
    now.key_findings[0].statement = "A single class costs $18 for tourists in the high season.".to_owned();
    let mut new = now.key_findings[0].clone();
    new.statement = "Cruise lines sell morning excursions.".to_owned();
    now.key_findings.push(new);
    let changes = nightforge_domain::research::changes(&now, &before);
    assert_eq!(changes.new, ["Cruise lines sell morning excursions."]);
    assert_eq!(changes.gone, ["No studio on the island offers classes in the evening."]);
    assert_eq!(changes.changed.len(), 1);
    assert!(changes.changed[0].0.contains("$12") && changes.changed[0].1.contains("$18"));
    let ids = |ids: &[nightforge_domain::research::SourceId]| {
        ids.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(&changes.new_sources), ids(&changes.changed_sources)),
        (vec!["S3".to_owned()], vec!["S1".to_owned()])
    );

    for (one, other) in [
        (
            "The rate of interest on the island is 4.5 percent.",
            "The rate of interest on the island is 45 percent.",
        ),
        ("The package is viable in the high season.", "The package is not viable in the high season."),
        ("The number of visitors grew by 12 thousand.", "The number of visitors fell by 12 thousand."),
    ] {
        let (mut before, mut now) = (first.result().clone(), first.result().clone());
        before.key_findings[0].statement = one.to_owned();
        now.key_findings[0].statement = other.to_owned();
        let changes = nightforge_domain::research::changes(&now, &before);
        assert_eq!((changes.unchanged, changes.changed.len()), (0, 1), "{one} / {other}");
    }

    let mut again = Team::new();
    again.previous = Some(first.result().clone());
    again.tell(WHOLE);
    let changes = again.result().changes.clone().unwrap();
    assert_eq!((changes.unchanged, changes.new.len(), changes.gone.len()), (1, 0, 0));
    assert!(again.markdown.unwrap().contains("## What changed"));
}

#[test]
fn what_one_report_has_too_much_of_is_told() {
    let mut team = Team::new();
    team.tell("submitted; plan A; found 20; fail");
    let result = team.result();
    assert_eq!(result.findings.len(), 12);
    let told = "8 further findings and 0 open questions of one report were dropped: it may have 12 of each.";
    assert!(result.uncertainties.iter().any(|text| text == told), "{:?}", result.uncertainties);
}

//! The result as Markdown.

use std::fmt::Write;

use super::{by_use, can_be_opened, name, provenance, state, words};
use crate::contract::research::Confidence;
use crate::research::outside::cleaned;
use crate::research::{Changes, Finding, GroundedKeyFinding, Level, ResearchResult, ResultSource, SourceId};

use super::words::Words;

/// The result as a Markdown page.
pub fn markdown(result: &ResearchResult) -> String {
    let words = words(result.language.as_deref());
    let mut page = Page { words, text: String::new() };
    page.line(&format!("# {}", inline(&result.objective)));
    page.line(&format!("**{}**", state(result, words)));
    if let Some(reason) = &result.reason {
        page.line(&format!("{}: {}", words.reason, inline(reason)));
    }
    for warning in &result.warnings {
        page.line(&format!("> **{}:** {}", words.warning, inline(warning)));
    }
    page.paragraphs(words.summary, &result.summary);
    if let Some(conclusion) = &result.conclusion {
        page.paragraphs(words.conclusion, conclusion);
    }
    if let Some(confidence) = result.confidence {
        page.line(&format!("{}: **{}**", words.confidence, page.confidence(confidence)));
    }
    if let Some(changes) = &result.changes {
        page.changes(changes);
    }
    if !result.key_findings.is_empty() {
        page.heading(words.key_findings);
        for finding in &result.key_findings {
            page.key_finding(finding);
        }
        page.line(&format!("\n{}", words.grounding));
    }
    page.list(words.recommendations, &result.recommendations);
    page.list(words.open, &result.uncertainties);
    page.objections(result);
    let requests: Vec<String> = result
        .open_requests
        .iter()
        .map(|request| format!("{}: {}", request.title, request.description))
        .collect();
    page.list(words.requests, &requests);
    if !result.findings.is_empty() {
        page.heading(words.findings);
        for finding in &result.findings {
            page.finding(finding);
        }
        if result.key_findings.is_empty() {
            page.line(&format!("\n{}", words.grounding));
        }
    }
    page.assignments(result);
    page.sources(result);
    page.cost(result);
    page.text
}

struct Page {
    words: &'static Words,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}\n");
    }

    fn item(&mut self, item: &str) {
        let _ = writeln!(self.text, "- {item}");
    }

    fn heading(&mut self, heading: &str) {
        let gap = if self.text.ends_with("\n\n") { "" } else { "\n" };
        let _ = writeln!(self.text, "{gap}## {heading}\n");
    }

    fn paragraphs(&mut self, heading: &str, text: &str) {
        self.heading(heading);
        for paragraph in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.line(&inline(paragraph));
        }
    }

    fn list(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.heading(heading);
        for item in items {
            self.item(&inline(item));
        }
    }

    fn confidence(&self, confidence: Confidence) -> &'static str {
        self.words.confidences[confidence as usize]
    }

    fn key_finding(&mut self, finding: &GroundedKeyFinding) {
        let mark = mark(finding.level);
        let (level, confidence) = (finding.level, self.confidence(finding.confidence));
        let cites = cites(&finding.sources);
        self.item(&format!("{mark}{} [{level:?}, {confidence}]{cites}", inline(&finding.statement)));
        self.notes(&finding.notes);
    }

    fn finding(&mut self, finding: &Finding) {
        let grounded = &finding.grounded;
        let mark = mark(grounded.level);
        let (level, confidence) = (grounded.level, self.confidence(grounded.confidence));
        let verdict = finding.verdict.map(|verdict| format!(", {}", verdict.as_str())).unwrap_or_default();
        self.item(&format!(
            "{mark}{}: {} [{level:?}, {confidence}{verdict}]",
            finding.id,
            inline(&grounded.claim)
        ));
        for evidence in &grounded.evidence {
            let quote = evidence.passage.as_ref().unwrap_or(&evidence.quote);
            let unfound = if evidence.passage.is_some() { "" } else { " ⚠" };
            let _ = writeln!(self.text, "  - {}{unfound}: “{}”", evidence.source, inline(quote));
        }
        self.notes(&grounded.notes);
    }

    fn notes(&mut self, notes: &[String]) {
        for note in notes {
            let _ = writeln!(self.text, "  - ⚠ {}", inline(note));
        }
    }

    fn objections(&mut self, result: &ResearchResult) {
        if result.reviews.is_empty() {
            return;
        }
        self.heading(self.words.objections);
        for review in &result.reviews {
            let decision = name(&review.decision);
            self.item(&format!("**{}** {decision}: {}", review.number, inline(&review.summary)));
            for issue in &review.issues {
                let (severity, kind) = (issue.severity.as_str(), issue.kind.as_str());
                let _ = writeln!(self.text, "  - {severity}, {kind}: {}", inline(&issue.description));
            }
        }
    }

    fn assignments(&mut self, result: &ResearchResult) {
        if result.assignments.is_empty() {
            return;
        }
        self.heading(self.words.assignments);
        for subtask in &result.assignments {
            let status = name(&subtask.status);
            let outcome = subtask.outcome.as_deref().map(|outcome| format!(" {}", inline(outcome)));
            let outcome = outcome.unwrap_or_default();
            self.item(&format!("T{} {status}: **{}**{outcome}", subtask.number, inline(&subtask.title)));
        }
    }

    fn sources(&mut self, result: &ResearchResult) {
        let (cited, uncited) = by_use(result);
        if !cited.is_empty() {
            self.heading(self.words.sources);
            cited.into_iter().for_each(|source| self.source(source));
        }
        if !uncited.is_empty() {
            self.heading(self.words.uncited);
            uncited.into_iter().for_each(|source| self.source(source));
        }
    }

    fn source(&mut self, source: &ResultSource) {
        let address =
            if can_be_opened(source) { format!("<{}>", link(&source.url)) } else { code(&source.url) };
        let told = inline(&provenance(source, self.words));
        self.item(&format!("{}: {} {address} ({told})", source.id, inline(&source.title)));
    }

    fn changes(&mut self, changes: &Changes) {
        self.heading(self.words.changes);
        let [new, changed, gone, unchanged] = self.words.change_kinds;
        let since = changes.since.map(|since| format!(" ({})", since.date())).unwrap_or_default();
        let compared = self.words.compared;
        self.line(&format!("{compared} {}{since}; {unchanged}: {}", changes.since_task, changes.unchanged));
        for statement in &changes.new {
            self.item(&format!("**{new}**: {}", inline(statement)));
        }
        for (before, now) in &changes.changed {
            self.item(&format!("**{changed}**: {} → {}", inline(before), inline(now)));
        }
        for statement in &changes.gone {
            self.item(&format!("**{gone}**: {}", inline(statement)));
        }
        let sources = [(new, &changes.new_sources), (changed, &changes.changed_sources)];
        for (kind, ids) in sources {
            if !ids.is_empty() {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                self.item(&format!("**{kind}**, {}: {}", self.words.sources, ids.join(", ")));
            }
        }
    }

    fn cost(&mut self, result: &ResearchResult) {
        self.heading(self.words.cost);
        for line in self.words.cost(&result.cost) {
            self.item(&line);
        }
        let _ = writeln!(self.text, "\n{}", result.task);
    }
}

/// What is below G2 is marked where it stands.
fn mark(level: Level) -> &'static str {
    if level < Level::G2 { "⚠ " } else { "" }
}

fn cites(sources: &[SourceId]) -> String {
    if sources.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = sources.iter().map(ToString::to_string).collect();
    format!(" ({})", ids.join(", "))
}

/// One line of text in which nothing is Markdown or HTML.
fn inline(text: &str) -> String {
    let line = cleaned(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut escaped = String::with_capacity(line.len());
    for letter in line.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// An address between angle brackets can't end them.
fn link(url: &str) -> String {
    cleaned(url)
        .chars()
        .filter(|letter| !letter.is_whitespace() && !letter.is_control() && !matches!(letter, '<' | '>'))
        .collect()
}

fn code(text: &str) -> String {
    let text: String = cleaned(text)
        .chars()
        .map(|letter| if letter == '`' || letter.is_control() { ' ' } else { letter })
        .collect();
    format!("`{text}`")
}

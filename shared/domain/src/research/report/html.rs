//! The result as one HTML page without scripts, images or addresses of others.

use std::fmt::Write;

use super::words::Words;
use super::{by_use, can_be_opened, name, provenance, state, words};
use crate::contract::research::Confidence;
use crate::research::outside::cleaned;
use crate::research::{Changes, Level, ResearchResult, ResultSource, SourceId};

const STYLE: &str = "body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;\
    color:#1a1a1a;background:#fff;overflow-wrap:anywhere}h1{font-size:1.5rem;line-height:1.3}h2{font-size:1.15rem;margin-top:2rem}\
    li{margin:.35rem 0}.state{font-weight:600}.warning{border-left:4px solid #b35900;\
    background:#fff4e5;padding:.6rem 1rem}.level{font-size:.85em;white-space:nowrap;border:1px solid #767676;\
    border-radius:4px;padding:0 .35em}.note,.small{color:#555;font-size:.9em}\
    @media(prefers-color-scheme:dark){body{color:#eee;background:#141414}.warning{background:#3a2400}\
    .note,.small{color:#aaa}a{color:#8ab4f8}}";

/// The result as an HTML page.
pub fn html(result: &ResearchResult) -> String {
    let words = words(result.language.as_deref());
    let mut page = Page { words, text: String::new() };
    let language = result.language.as_deref().unwrap_or("en");
    let title = text(&result.objective);
    page.raw(&format!(
        "<!doctype html>\n<html lang=\"{}\">\n<head><meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>{STYLE}</style></head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n<p class=\"state\">{}</p>",
        text(language),
        state(result, words)
    ));
    if let Some(reason) = &result.reason {
        page.raw(&format!("<p>{}: {}</p>", words.reason, text(reason)));
    }
    for warning in &result.warnings {
        let (word, warning) = (words.warning, text(warning));
        page.raw(&format!("<p class=\"warning\" role=\"note\"><strong>{word}:</strong> {warning}</p>"));
    }
    page.paragraphs(words.summary, &result.summary);
    if let Some(conclusion) = &result.conclusion {
        page.paragraphs(words.conclusion, conclusion);
    }
    if let Some(confidence) = result.confidence {
        let (word, value) = (words.confidence, page.confidence(confidence));
        page.raw(&format!("<p>{word}: <strong>{value}</strong></p>"));
    }
    if let Some(changes) = &result.changes {
        page.changes(changes);
    }
    page.key_findings(result);
    page.list(words.recommendations, &result.recommendations);
    page.list(words.open, &result.uncertainties);
    page.objections(result);
    let requests = result.open_requests.iter();
    let requests: Vec<String> =
        requests.map(|request| format!("{}: {}", request.title, request.description)).collect();
    page.list(words.requests, &requests);
    page.findings(result);
    page.assignments(result);
    page.sources(result);
    page.cost(result);
    page.raw("</main>\n</body>\n</html>");
    page.text
}

struct Page {
    words: &'static Words,
    text: String,
}

impl Page {
    fn raw(&mut self, html: &str) {
        let _ = writeln!(self.text, "{html}");
    }

    fn items(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.raw(&format!("<h2>{heading}</h2>\n<ul>"));
        for item in items {
            self.raw(&format!("<li>{item}</li>"));
        }
        self.raw("</ul>");
    }

    fn list(&mut self, heading: &str, items: &[String]) {
        let items: Vec<String> = items.iter().map(|item| text(item)).collect();
        self.items(heading, &items);
    }

    fn paragraphs(&mut self, heading: &str, all: &str) {
        self.raw(&format!("<h2>{heading}</h2>"));
        for paragraph in all.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.raw(&format!("<p>{}</p>", text(paragraph)));
        }
    }

    fn confidence(&self, confidence: Confidence) -> &'static str {
        self.words.confidences[confidence as usize]
    }

    fn level(&self, level: Level, confidence: Confidence, more: &str) -> String {
        let mark = if level < Level::G2 { "⚠ " } else { "" };
        format!("<span class=\"level\">{mark}{level:?}, {}{more}</span>", self.confidence(confidence))
    }

    fn key_findings(&mut self, result: &ResearchResult) {
        let items: Vec<String> = result
            .key_findings
            .iter()
            .map(|finding| {
                let level = self.level(finding.level, finding.confidence, "");
                let (statement, cites) = (text(&finding.statement), cites(&finding.sources));
                format!("{statement} {level}{cites}{}", notes(&finding.notes))
            })
            .collect();
        self.items(self.words.key_findings, &items);
        if !items.is_empty() {
            self.raw(&format!("<p class=\"note\">{}</p>", self.words.grounding));
        }
    }

    fn findings(&mut self, result: &ResearchResult) {
        let items: Vec<String> = result
            .findings
            .iter()
            .map(|finding| {
                let grounded = &finding.grounded;
                let verdict =
                    finding.verdict.map(|verdict| format!(", {}", verdict.as_str())).unwrap_or_default();
                let level = self.level(grounded.level, grounded.confidence, &verdict);
                let mut quotes = String::new();
                for evidence in &grounded.evidence {
                    let quote = text(evidence.passage.as_ref().unwrap_or(&evidence.quote));
                    let mark = if evidence.passage.is_some() { "" } else { " ⚠" };
                    let id = evidence.source;
                    let _ = write!(
                        quotes,
                        "<br><span class=\"small\"><a href=\"#{id}\">{id}</a>{mark}: “{quote}”</span>"
                    );
                }
                format!(
                    "<strong>{}</strong> {} {level}{quotes}{}",
                    finding.id,
                    text(&grounded.claim),
                    notes(&grounded.notes)
                )
            })
            .collect();
        self.items(self.words.findings, &items);
    }

    fn objections(&mut self, result: &ResearchResult) {
        let items: Vec<String> = result
            .reviews
            .iter()
            .map(|review| {
                let issues: Vec<String> = review
                    .issues
                    .iter()
                    .map(|issue| {
                        format!("{}, {}: {}", issue.severity.as_str(), issue.kind.as_str(), issue.description)
                    })
                    .collect();
                format!(
                    "<strong>{}</strong>: {}{}",
                    name(&review.decision),
                    text(&review.summary),
                    notes(&issues)
                )
            })
            .collect();
        self.items(self.words.objections, &items);
    }

    fn assignments(&mut self, result: &ResearchResult) {
        let items: Vec<String> = result
            .assignments
            .iter()
            .map(|subtask| {
                let outcome = subtask.outcome.as_deref().map(text).unwrap_or_default();
                let (number, status) = (subtask.number, name(&subtask.status));
                format!("T{number} {status}: <strong>{}</strong> {outcome}", text(&subtask.title))
            })
            .collect();
        self.items(self.words.assignments, &items);
    }

    fn sources(&mut self, result: &ResearchResult) {
        let (cited, uncited) = by_use(result);
        for (heading, sources) in [(self.words.sources, cited), (self.words.uncited, uncited)] {
            let items: Vec<String> = sources.into_iter().map(|source| self.source(source)).collect();
            self.items(heading, &items);
        }
    }

    fn source(&self, source: &ResultSource) -> String {
        let url = text(&source.url);
        let address = if can_be_opened(source) {
            format!("<a href=\"{url}\" rel=\"noreferrer noopener nofollow\">{url}</a>")
        } else {
            format!("<code>{url}</code>")
        };
        let (id, title, told) = (source.id, text(&source.title), text(&provenance(source, self.words)));
        format!("<span id=\"{id}\">{id}</span>: {title} {address} <span class=\"small\">({told})</span>")
    }

    fn changes(&mut self, changes: &Changes) {
        let [new, changed, gone, unchanged] = self.words.change_kinds;
        let mut items = vec![format!(
            "{} {}; {unchanged}: {}",
            self.words.compared, changes.since_task, changes.unchanged
        )];
        items.extend(changes.new.iter().map(|now| format!("<strong>{new}</strong>: {}", text(now))));
        items.extend(
            changes
                .changed
                .iter()
                .map(|(before, now)| format!("<strong>{changed}</strong>: {} → {}", text(before), text(now))),
        );
        items.extend(changes.gone.iter().map(|before| format!("<strong>{gone}</strong>: {}", text(before))));
        for (kind, ids) in [(new, &changes.new_sources), (changed, &changes.changed_sources)] {
            if !ids.is_empty() {
                items.push(format!("<strong>{kind}</strong>, {}:{}", self.words.sources, cites(ids)));
            }
        }
        self.items(self.words.changes, &items);
    }

    fn cost(&mut self, result: &ResearchResult) {
        let items = self.words.cost(&result.cost);
        self.items(self.words.cost, &items);
        self.raw(&format!("<p class=\"small\">{}</p>", result.task));
    }
}

fn notes(notes: &[String]) -> String {
    let notes = notes.iter().map(|note| format!("<br><span class=\"small\">⚠ {}</span>", text(note)));
    notes.collect()
}

fn cites(sources: &[SourceId]) -> String {
    let ids: Vec<String> = sources.iter().map(|id| format!("<a href=\"#{id}\">{id}</a>")).collect();
    if ids.is_empty() { String::new() } else { format!(" ({})", ids.join(", ")) }
}

/// Text in which nothing is HTML, also between quotation marks.
fn text(text: &str) -> String {
    let text = cleaned(text);
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

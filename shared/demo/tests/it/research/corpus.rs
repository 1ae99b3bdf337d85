//! The demo's documents, read from their folder, and a search over them that is good enough for stories.

use std::fs;
use std::path::{Path, PathBuf};

use nightforge_domain::Millis;
use nightforge_domain::research::{Source, SourceId, SourceStatus, normalised};

/// Hits of one query.
const HITS: usize = 4;

pub(crate) struct Document {
    url: String,
    title: String,
    text: String,
}

/// Every document, in the order of their addresses.
pub(crate) fn documents() -> Vec<Document> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sources/demo/documents");
    let mut paths = Vec::new();
    walk(&folder, &mut paths);
    paths.sort();
    assert!(paths.len() > 10, "{paths:?}");
    paths.iter().map(|path| document(&folder, path)).collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, paths) } else { paths.push(path) }
    }
}

fn document(folder: &Path, path: &Path) -> Document {
    let raw = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let text = match path.extension().unwrap().to_str().unwrap() {
        "html" => from_html(&raw),
        "pdf" => from_pdf(&raw),
        _ => raw,
    };
    let title = text.lines().next().unwrap().trim_start_matches('#').trim().to_owned();
    Document { url: format!("demo://{}", path.strip_prefix(folder).unwrap().display()), title, text }
}

fn from_html(html: &str) -> String {
    let article = html.split_once("<article>").unwrap().1.split_once("</article>").unwrap().0;
    let mut text = String::new();
    for part in article.split('<') {
        let (tag, words) = part.split_once('>').unwrap_or(("", part));
        text.push_str(words.trim());
        text.push_str(match tag {
            "/p" | "/h1" | "/h2" | "/table" => "\n\n",
            "/td" | "/th" => " ",
            _ => "",
        });
    }
    text.trim().to_owned()
}

/// The lines that the page shows; it is not packed.
fn from_pdf(pdf: &str) -> String {
    let shown = pdf.lines().filter_map(|line| line.split_once(") Tj").map(|(before, _)| before));
    let lines = shown.map(|line| line.split_once('(').unwrap().1.replace("\\(", "(").replace("\\)", ")"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The best documents for a query, as sources from this number on.
pub(crate) fn search(documents: &[Document], query: &str) -> Vec<Source> {
    let mut scored: Vec<(usize, &Document)> = documents
        .iter()
        .map(|document| (points(query, document), document))
        .filter(|(points, _)| *points > 0)
        .collect();
    scored.sort_by_key(|(points, document)| (std::cmp::Reverse(*points), document.url.clone()));
    scored.into_iter().take(HITS).map(|(_, document)| source(document)).collect()
}

/// Words of the query in the document, those in its title three times; Japanese by pairs of characters.
fn points(query: &str, document: &Document) -> usize {
    let (query, text, title) = (normalised(query), normalised(&document.text), normalised(&document.title));
    let mut points = 0;
    for word in query.text().split_whitespace() {
        let chars: Vec<char> = word.chars().collect();
        let parts: Vec<String> = if word.is_ascii() {
            vec![word.strip_suffix('s').unwrap_or(word).to_owned()]
        } else {
            chars.windows(2).map(|pair| pair.iter().collect()).collect()
        };
        for part in parts.iter().filter(|part| part.chars().count() > 1) {
            points += usize::from(text.text().contains(part.as_str()))
                + 3 * usize::from(title.text().contains(part.as_str()));
        }
    }
    points
}

fn source(document: &Document) -> Source {
    Source {
        id: SourceId(0),
        url: document.url.clone(),
        title: document.title.clone(),
        snippet: document.text.chars().take(200).collect(),
        text: Some(document.text.clone()),
        sha256: None,
        tool: "demo".to_owned(),
        is_demo: true,
        status: SourceStatus::Read,
        note: None,
        published: None,
        at: Millis(0),
    }
}

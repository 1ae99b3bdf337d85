//! Where research looks for sources: a line for each back-end.

use std::fs;
use std::path::Path;

use nightforge_sources::{Backend, SearchAnswer};

use super::{Finding, Verdict};
use crate::search::{Place, SearchPlan};

/// File names that a corpus reads end in one of these.
const DOCUMENTS: [&str; 6] = ["md", "markdown", "txt", "html", "htm", "pdf"];

/// More files than this are not counted to the end.
const COUNTED: usize = 100_000;

/// What a back-end is asked, so that it shows how it answers.
const QUERY: &str = "nightforge";

pub(super) async fn search(plan: &SearchPlan) -> Vec<Finding> {
    if plan.places.is_empty() {
        let message = "no back-end is configured; research is refused until nightforge.toml has a [[research.search]] \
                       with kind = \"corpus\" and folder, kind = \"searxng\" and url, or another";
        return vec![Finding::new("search", Verdict::Ok, message)];
    }
    let mut findings = Vec::with_capacity(plan.places.len());
    for place in &plan.places {
        let (verdict, message) = look(place).await;
        findings.push(Finding::new(format!("search {}", place.name()), verdict, message));
    }
    findings
}

async fn look(place: &Place) -> (Verdict, String) {
    match place {
        Place::Corpus(folder) => corpus(folder),
        Place::SearxNg(config) => asked(place, config.base_url.as_str()).await,
        Place::Feeds(urls) => asked(place, &format!("{} feeds", urls.len())).await,
        // A question would cost money.
        Place::Tavily { variable, .. } | Place::Brave { variable, .. } => {
            (Verdict::Ok, format!("its key is in {variable}; not asked, since every question is counted"))
        }
        Place::Replay(file) => match place.open(file).await {
            Ok(_) => (Verdict::Ok, format!("{} is a recording", file.display())),
            Err(reason) => (Verdict::Wrong, reason),
        },
        Place::Demo => {
            (Verdict::Warning, "the demo's documents are invented; use it to try things only".to_owned())
        }
    }
}

/// Counts without indexing: nothing is made.
fn corpus(folder: &Path) -> (Verdict, String) {
    let mut documents = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                let message =
                    format!("{} can't be read: {error}; make it readable for this user", folder.display());
                return (Verdict::Wrong, message);
            }
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_hidden => folders.push(path),
                Ok(kind) if kind.is_file() && !is_hidden && is_document(&path) => documents += 1,
                _ => {}
            }
        }
        if documents >= COUNTED {
            return (Verdict::Ok, format!("{} with {COUNTED} documents or more", folder.display()));
        }
    }
    match documents {
        0 => (
            Verdict::Warning,
            format!(
                "{} holds no document; put files ending in {} there",
                folder.display(),
                DOCUMENTS.join(", ")
            ),
        ),
        documents => (Verdict::Ok, format!("{} with {documents} documents", folder.display())),
    }
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    extension.is_some_and(|extension| DOCUMENTS.contains(&extension.as_str()))
}

/// Asks once; hits and no hits are both an answer.
async fn asked(place: &Place, what: &str) -> (Verdict, String) {
    let backend: Result<Backend, String> = place.open(Path::new("")).await;
    match backend {
        Err(reason) => (Verdict::Wrong, reason),
        Ok(backend) => match backend.search(QUERY, 1).await {
            SearchAnswer::Hits { .. } | SearchAnswer::Empty => (Verdict::Ok, format!("{what} answers")),
            SearchAnswer::Unavailable { reason, .. } => (Verdict::Wrong, reason),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_counted_and_nothing_is_made() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(corpus(folder.path()).0, Verdict::Warning);
        fs::create_dir(folder.path().join("deep")).unwrap();
        for name in ["a.md", "b.PDF", "deep/c.txt", ".hidden.md", "d.exe"] {
            fs::write(folder.path().join(name), "text").unwrap();
        }
        let (verdict, message) = corpus(folder.path());
        assert_eq!(verdict, Verdict::Ok);
        assert!(message.ends_with("with 3 documents"), "{message}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
        assert_eq!(corpus(&folder.path().join("absent")).0, Verdict::Wrong);
    }
}

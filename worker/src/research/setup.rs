//! Where a worker's researchers look for sources, and how an address is read.

use std::fmt;

use nightforge_domain::research::SourceStatus;
use nightforge_sources::{
    Demo, Extractor, Found, HostTurns, Page, PageProblem, Reader, ReaderConfig, ReaderConfigError, Search,
};
use sha2::{Digest, Sha256};

/// Addresses of the demo's own documents.
const DEMO_SCHEME: &str = "demo://";

/// Search back-ends and the page reader. One for a whole process: it remembers what each host allows.
pub struct SearchSetup {
    search: Search,
    reader: Reader,
    extractor: Extractor,
}

impl fmt::Debug for SearchSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchSetup").field("search", &self.search).finish_non_exhaustive()
    }
}

impl SearchSetup {
    /// With these back-ends, reading pages as configured.
    ///
    /// # Errors
    /// When the reader's configuration can't work.
    pub fn new(search: Search, reader: ReaderConfig) -> Result<Self, ReaderConfigError> {
        let extractor = reader.extractor.clone();
        Ok(Self { search, reader: Reader::new(reader)?, extractor })
    }

    /// Where its back-ends look, in a few words for the agents: queries for a folder of notes are not those for the web.
    pub(crate) fn places(&self) -> String {
        let mut places: Vec<&str> = Vec::new();
        for backend in self.search.backends() {
            let place = match backend.name() {
                "corpus" => "a folder of documents of the person who asked",
                "searxng" | "tavily" | "brave" => "the web",
                "feeds" => "news feeds",
                "demo" => "invented documents for a demonstration",
                _ => "recorded answers",
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places.join(", ")
    }

    /// Asks every back-end.
    pub(crate) async fn search(&self, query: &str, limit: usize) -> Found {
        self.search.search(query, limit).await
    }

    /// Reads one address that a search or the user named; the demo's own only where the demo named it.
    ///
    /// # Errors
    /// What becomes of the source.
    pub(crate) async fn read(
        &self,
        url: &str,
        is_demo: bool,
        turns: &impl HostTurns,
    ) -> Result<Page, PageProblem> {
        if is_demo && url.starts_with(DEMO_SCHEME) {
            return self.read_demo(url).await;
        }
        self.reader.read(url, turns).await
    }

    async fn read_demo(&self, url: &str) -> Result<Page, PageProblem> {
        let problem = |status, note: String| PageProblem { status, note };
        let document = Demo::document(url).ok_or_else(|| {
            problem(SourceStatus::Unreachable, "the demo has no document at this address".to_owned())
        })?;
        let extracted = self
            .extractor
            .extract(document.media_type, None, url, document.bytes)
            .await
            .map_err(|error| problem(SourceStatus::Unreadable, error.to_string()))?;
        Ok(Page {
            url: url.to_owned(),
            media_type: document.media_type.to_owned(),
            title: extracted.title,
            sha256: sha256(&extracted.text),
            text: extracted.text,
            published: extracted.published,
        })
    }
}

/// In hexadecimal.
pub(super) fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

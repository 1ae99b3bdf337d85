//! Search back-ends as configured, opened once for all workers of this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nightforge_sources::search::{
    Brave, BraveConfig, Feeds, FeedsConfig, Replay, SearxNg, SearxNgConfig, Tavily, TavilyConfig,
};
use nightforge_sources::{Backend, Corpus, CorpusError, Demo, Extractor, Reader, ReaderConfig, Search};
use nightforge_worker::SearchSetup;
use reqwest::Url;

use crate::exit::Failure;
use crate::output::{note, one_line};

/// This executable, also when a newer one lies where it was started from.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The hidden verb that gets the text out of one document.
const EXTRACT_PAGE: &str = "extract-page";

/// Where research looks for sources, and which places may be read although they are not public.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchPlan {
    /// `host:port` each.
    pub(crate) allow: Vec<String>,
    /// In the order of the configuration.
    pub(crate) places: Vec<Place>,
}

/// One back-end, checked as far as that goes without asking it.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A folder of documents.
    Corpus(PathBuf),
    SearxNg(SearxNgConfig),
    Tavily {
        config: TavilyConfig,
        /// Where its key comes from.
        variable: String,
    },
    Brave {
        config: BraveConfig,
        /// Where its key comes from.
        variable: String,
    },
    Feeds(Vec<Url>),
    /// A file of recorded answers.
    Replay(PathBuf),
    /// The demo's invented documents.
    Demo,
}

impl Place {
    /// The name in the configuration.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Place::Corpus(_) => "corpus",
            Place::SearxNg(_) => "searxng",
            Place::Tavily { .. } => "tavily",
            Place::Brave { .. } => "brave",
            Place::Feeds(_) => "feeds",
            Place::Replay(_) => "replay",
            Place::Demo => "demo",
        }
    }

    /// The back-end. `index` is where a corpus keeps its index.
    ///
    /// # Errors
    /// With what is wrong, and the remedy.
    pub(crate) async fn open(&self, index: &Path) -> Result<Backend, String> {
        let text = |error: nightforge_sources::search::ConfigError| error.to_string();
        match self {
            Place::Corpus(folder) => corpus(folder, index).await.map_err(|error| error.to_string()),
            Place::SearxNg(config) => SearxNg::new(config.clone()).map(Backend::SearxNg).map_err(text),
            Place::Tavily { config, .. } => Tavily::new(config.clone()).map(Backend::Tavily).map_err(text),
            Place::Brave { config, .. } => Brave::new(config.clone()).map(Backend::Brave).map_err(text),
            Place::Feeds(urls) => {
                Feeds::new(FeedsConfig::new(urls.clone())).map(Backend::Feeds).map_err(text)
            }
            Place::Replay(file) => Replay::new(file).map(Backend::Replay).map_err(text),
            Place::Demo => Ok(Backend::Demo(Demo::new())),
        }
    }
}

impl SearchPlan {
    /// The demo's documents and nothing else.
    pub(crate) fn demo() -> Self {
        Self { allow: Vec::new(), places: vec![Place::Demo] }
    }

    /// The names of the back-ends, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.places.iter().map(|place| place.name().to_owned()).collect()
    }

    /// Opens every back-end; `None` where none is configured. A corpus is brought up to date first, which takes its
    /// time when it is new.
    ///
    /// # Errors
    /// With the back-end, what is wrong, and the remedy.
    pub(crate) async fn open(&self, data: &Path) -> Result<Option<Arc<SearchSetup>>, Failure> {
        if self.places.is_empty() {
            return Ok(None);
        }
        let mut backends = Vec::with_capacity(self.places.len());
        for (at, place) in self.places.iter().enumerate() {
            let folder = data.join("corpus");
            if let Place::Corpus(documents) = place {
                std::fs::create_dir_all(&folder).map_err(|error| {
                    Failure::config(format!("{} can't be made: {error}; make room for it", folder.display()))
                })?;
                note(&format!("indexing {}", documents.display()));
            }
            let backend = place.open(&folder.join(format!("{}.db", at + 1))).await;
            let wrong = |reason| Failure::config(format!("[research] back-end {}: {reason}", at + 1));
            backends.push(backend.map_err(wrong)?);
        }
        let search = Search::new(backends).map_err(|error| Failure::config(error.to_string()))?;
        let reader = ReaderConfig { allow: self.allow.clone(), ..ReaderConfig::new(extractor()) };
        let setup = SearchSetup::new(search, reader)
            .map_err(|error| Failure::config(format!("[research] {error}")))?;
        Ok(Some(Arc::new(setup)))
    }
}

/// Left-out files that are named; of more, the number is told.
const NAMED: usize = 5;

/// Opens a corpus, and says what of it can't be searched.
async fn corpus(folder: &Path, index: &Path) -> Result<Backend, CorpusError> {
    let corpus = Corpus::open(folder, index, extractor()).await?;
    let report = corpus.refresh().await?;
    let (documents, skipped) = (report.documents, report.skipped.len());
    note(&format!("{}: {documents} documents can be searched, {skipped} were left out", folder.display()));
    for (path, reason) in report.skipped.iter().take(NAMED) {
        note(&format!("left out: {} ({})", path.escape_default(), one_line(reason, 200)));
    }
    if skipped > NAMED {
        note(&format!("left out: {} more", skipped - NAMED));
    }
    Ok(Backend::Corpus(corpus))
}

/// Documents are read by this same program, in a child of its own.
fn extractor() -> Extractor {
    Extractor::new(PathBuf::from(THIS_PROGRAM), vec![EXTRACT_PAGE.to_owned()])
}

/// Whether pages can be read with this allow-list.
///
/// # Errors
/// With the entry, and how to write one.
pub(crate) fn check_reader(allow: &[String]) -> Result<(), String> {
    let config = ReaderConfig { allow: allow.to_vec(), ..ReaderConfig::new(extractor()) };
    Reader::new(config).map(|_| ()).map_err(|error| error.to_string())
}

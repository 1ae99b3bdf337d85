//! A local folder as a place to search: its documents cut into passages in an index of the worker's own.
//!
//! `folder.rs` lists files, `document.rs` reads and `passages.rs` cuts them, `indexing.rs` keeps the index (`index.rs`)
//! like the folder, `query.rs` and `ranking.rs` find.

mod document;
mod extraction;
pub(crate) mod fold;
mod folder;
mod index;
mod indexing;
mod passages;
pub(crate) mod query;
mod ranking;
pub(crate) mod snippet;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::answer::SearchAnswer;
use crate::extract::Extractor;

use extraction::Extraction;
use index::Index;
use query::Query;

/// How old the last look at the folder may be when a search comes.
const FRESH_FOR: Duration = Duration::from_secs(30);

/// Most hits that one search gives.
const MOST_HITS: usize = 50;

/// A folder that is indexed and searched.
#[derive(Debug)]
pub struct Corpus {
    folder: PathBuf,
    index: Index,
    extraction: Extraction,
    /// The last look at the folder. Held while looking, so that one look serves all who wait for it.
    looked: Mutex<Option<(Instant, CorpusReport)>>,
}

/// What a look at the folder gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CorpusReport {
    /// Documents in the index.
    pub documents: usize,
    /// Their passages.
    pub passages: usize,
    /// What was left out, with the reason: paths relative to the folder, sorted.
    pub skipped: Vec<(String, String)>,
    /// How many of those could not be looked at this time and are tried again; the others are left out until they
    /// change.
    pub not_now: usize,
    /// How long it took.
    pub took: Duration,
}

/// A corpus that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The folder can't be listed.
    #[error(
        "the corpus folder {} can't be read: {source}; make the folder readable for this user, or name another one",
        folder.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The index can't be opened, read or written.
    #[error(
        "the corpus index {} can't be used: {source}; see that its folder is writable and its disk has room, or \
         delete the file: it is made anew from the folder",
        file.display()
    )]
    Index {
        /// The index file.
        file: PathBuf,
        /// The database's own words.
        source: sqlx::Error,
    },
    /// The index file is another program's database.
    #[error("{} is a database of something else; name another file for the corpus index", file.display())]
    ForeignIndex {
        /// The file.
        file: PathBuf,
    },
}

impl Corpus {
    /// Opens the index of `folder` at `index_file`, made when it is missing, damaged or of another version, and brings
    /// it up to date. HTML and PDF go through `extractor`.
    ///
    /// Several workers may share one index file.
    ///
    /// # Errors
    /// When the folder can't be read, or the index can't be used.
    pub async fn open(folder: &Path, index_file: &Path, extractor: Extractor) -> Result<Self, CorpusError> {
        let corpus = Self {
            folder: folder.to_owned(),
            index: Index::open(index_file).await?,
            extraction: Extraction::new(extractor),
            looked: Mutex::new(None),
        };
        corpus.index.forget_skipped().await?;
        corpus.refresh().await?;
        Ok(corpus)
    }

    /// Brings the index up to date now. Cheap when nothing changed.
    ///
    /// # Errors
    /// When the folder can't be read, or the index can't be used.
    pub async fn refresh(&self) -> Result<CorpusReport, CorpusError> {
        let mut looked = self.looked.lock().await;
        self.look(&mut looked).await
    }

    /// At most `limit` passages (and at most 50) for the words of `query`, best first, two of a document at most.
    ///
    /// Looks at the folder first when the last look is older than 30 s.
    pub async fn search(&self, query: &str, limit: usize) -> SearchAnswer {
        match self.found(query, limit.min(MOST_HITS)).await {
            Ok(answer) => answer,
            Err(error) => SearchAnswer::Unavailable { reason: error.to_string(), retry_after: None },
        }
    }

    async fn found(&self, query: &str, limit: usize) -> Result<SearchAnswer, CorpusError> {
        let report = self.fresh().await?;
        let query = Query::parse(query);
        let mut hits = ranking::search(&self.index.pool(), &query, report.passages, limit).await;
        if hits.is_err() {
            // The file may have been damaged, or made anew by another worker, since it was opened.
            self.index.reopen().await?;
            let report = self.refresh().await?;
            hits = ranking::search(&self.index.pool(), &query, report.passages, limit).await;
        }
        let hits = hits.map_err(|source| self.index.failed(source))?;
        if !hits.is_empty() {
            return Ok(SearchAnswer::Hits { hits });
        }
        let unread = report.skipped.iter().find(|_| report.not_now > 0 && report.documents == 0);
        Ok(match unread {
            // Nothing could be looked at, so nothing is known to be absent.
            Some((path, reason)) => SearchAnswer::Unavailable {
                reason: format!(
                    "no document of the corpus folder {} could be read, for example {path}: {reason}",
                    self.folder.display()
                ),
                retry_after: None,
            },
            None => SearchAnswer::Empty,
        })
    }

    /// The report of a look that is not older than 30 s.
    async fn fresh(&self) -> Result<CorpusReport, CorpusError> {
        let mut looked = self.looked.lock().await;
        match &*looked {
            Some((at, report)) if at.elapsed() < FRESH_FOR => Ok(report.clone()),
            _ => self.look(&mut looked).await,
        }
    }

    async fn look(&self, looked: &mut Option<(Instant, CorpusReport)>) -> Result<CorpusReport, CorpusError> {
        // A look that fails leaves none behind, so the next search looks again.
        *looked = None;
        let looking = || indexing::bring_up_to_date(&self.folder, &self.index, &self.extraction);
        let report = match looking().await {
            Err(CorpusError::Index { .. }) => {
                self.index.reopen().await?;
                looking().await?
            }
            report => report?,
        };
        *looked = Some((Instant::now(), report.clone()));
        Ok(report)
    }
}

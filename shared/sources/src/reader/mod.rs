//! Reading one page of the public net: guarded, polite, bounded. Whatever the page does, all that can come of it
//! is its text or the status of its source.

mod body;
mod exchange;
mod journey;
mod media;
mod page;
mod robots;
mod turns;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nightforge_domain::research::SourceStatus;
use sha2::{Digest, Sha256};

use crate::extract::Extractor;
use crate::guard::{AllowedPlace, Guard, NoPlace, Resolve, SystemResolve};
use journey::Journey;
use robots::RobotsCache;

pub use page::{Page, PageProblem};
pub use turns::{HostTurns, LocalTurns};

/// How pages are read.
#[derive(Clone)]
pub struct ReaderConfig {
    /// The child that gets the text out of a document.
    pub extractor: Extractor,
    /// Places as `host:port` that may be asked although they are not public, or have another port than 80 and 443.
    /// None by default.
    pub allow: Vec<String>,
    /// Where names are looked up; the operating system by default.
    pub resolve: Arc<dyn Resolve>,
    /// All lookups, connections and answers of one reading: 20 s by default. Waiting for turns does not count, and
    /// the extraction has its own limit.
    pub total: Duration,
    /// One connection: 5 s by default.
    pub connect: Duration,
    /// Longest document after unpacking: 2 MiB by default.
    pub max_bytes: usize,
    /// How long a robots.txt is believed: an hour by default.
    pub robots_age: Duration,
}

impl ReaderConfig {
    /// The defaults.
    pub fn new(extractor: Extractor) -> Self {
        Self {
            extractor,
            allow: Vec::new(),
            resolve: Arc::new(SystemResolve),
            total: Duration::from_secs(20),
            connect: Duration::from_secs(5),
            max_bytes: 2 * 1024 * 1024,
            robots_age: Duration::from_secs(3600),
        }
    }
}

/// A configuration that no reader can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReaderConfigError {
    /// An entry of the allow-list names no place.
    #[error(transparent)]
    Allow(#[from] NoPlace),
    /// The extraction's program is missing.
    #[error("the program that gets the text out of pages, {}, is no file", .0.display())]
    Extractor(PathBuf),
}

/// Reads pages. One for the whole process: it remembers each place's robots.txt.
pub struct Reader {
    extractor: Extractor,
    guard: Guard,
    robots: RobotsCache,
    total: Duration,
    connect: Duration,
    max_bytes: usize,
}

impl Reader {
    /// Checks the configuration; asks nothing yet.
    pub fn new(config: ReaderConfig) -> Result<Self, ReaderConfigError> {
        let allow = config.allow.iter().map(|entry| AllowedPlace::parse(entry)).collect::<Result<_, _>>()?;
        if !config.extractor.program().is_file() {
            return Err(ReaderConfigError::Extractor(config.extractor.program().to_owned()));
        }
        Ok(Self {
            extractor: config.extractor,
            guard: Guard::new(allow, config.resolve),
            robots: RobotsCache::new(config.robots_age),
            total: config.total,
            connect: config.connect,
            max_bytes: config.max_bytes,
        })
    }

    /// Reads one page, or says what becomes of its source. `url` is one that a search or the user named: whether
    /// it may be read at all is the caller's to decide.
    pub async fn read(&self, url: &str, turns: &impl HostTurns) -> Result<Page, PageProblem> {
        let start = Guard::parse(url)?;
        let document = Journey::new(self, turns).page(start).await?;
        let media = &document.media;
        let extracted = self
            .extractor
            .extract(&media.media_type, media.charset.as_deref(), document.url.as_str(), &document.bytes)
            .await
            .map_err(|error| PageProblem::new(SourceStatus::Unreadable, error.to_string()))?;
        Ok(Page {
            url: document.url.into(),
            media_type: document.media.media_type,
            title: extracted.title,
            sha256: format!("{:x}", Sha256::digest(&extracted.text)),
            text: extracted.text,
            published: extracted.published,
        })
    }
}

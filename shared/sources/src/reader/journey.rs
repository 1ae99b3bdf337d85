//! One reading: from an address over redirects to a document, each step checked, allowed and waited for.

use std::time::Duration;

use nightforge_domain::research::SourceStatus;
use reqwest::Response;
use reqwest::header::LOCATION;
use tokio::time::{Instant, timeout};
use url::Url;

use super::body::{self, Body};
use super::media::{self, Media};
use super::page::PageProblem;
use super::robots::{MAX_ROBOTS_BYTES, Robots};
use super::turns::HostTurns;
use super::{Reader, exchange};
use crate::guard::{Checked, Seen, refused};

/// Most redirects of one document.
const MAX_REDIRECTS: usize = 5;

/// What came of it.
pub(super) struct Document {
    pub(super) url: Url,
    pub(super) media: Media,
    pub(super) bytes: Vec<u8>,
}

/// One step.
enum Hop {
    Arrived(Response),
    Moved(Url),
}

pub(super) struct Journey<'a, T> {
    reader: &'a Reader,
    turns: &'a T,
    seen: Seen,
    /// What is left of the reading's time.
    left: Duration,
}

impl<'a, T: HostTurns> Journey<'a, T> {
    pub(super) fn new(reader: &'a Reader, turns: &'a T) -> Self {
        Self { reader, turns, seen: Seen::new(), left: reader.total }
    }

    pub(super) async fn page(mut self, start: Url) -> Result<Document, PageProblem> {
        let mut url = start;
        for _ in 0..=MAX_REDIRECTS {
            self.ask_robots(&url).await?;
            match self.hop(&url).await? {
                Hop::Arrived(response) => return self.document(url, response).await,
                Hop::Moved(next) => url = next,
            }
        }
        Err(too_many_redirects())
    }

    async fn document(&mut self, url: Url, response: Response) -> Result<Document, PageProblem> {
        let status = response.status();
        if !status.is_success() {
            return Err(PageProblem::new(SourceStatus::Unreachable, format!("it answered {status}")));
        }
        let named = media::named(response.headers())?;
        let most = self.reader.max_bytes;
        let too_large = || PageProblem::new(SourceStatus::TooLarge, format!("longer than {most} bytes"));
        if response.content_length().is_some_and(|length| length > most as u64) {
            return Err(too_large());
        }
        let Body { bytes, whole } = self.within(body::read(response, most)).await?;
        if !whole {
            return Err(too_large());
        }
        let media = match named {
            Some(media) => media,
            None => media::sniffed(&bytes)?,
        };
        Ok(Document { url, media, bytes })
    }

    async fn check(&mut self, url: &Url) -> Result<Checked, PageProblem> {
        let mut seen = std::mem::take(&mut self.seen);
        let checked = self.within(self.reader.guard.check(url, &mut seen)).await;
        self.seen = seen;
        checked
    }

    /// Checks the address, waits for the host's turn, asks.
    async fn hop(&mut self, url: &Url) -> Result<Hop, PageProblem> {
        let reader = self.reader;
        let place = self.check(url).await?;
        // With and without the dot at its end it is one host.
        self.turns.turn(place.host.trim_end_matches('.')).await;
        let response = self.within(exchange::ask(url, &place, reader.connect)).await?;
        let target = match response.status().as_u16() {
            301 | 302 | 303 | 307 | 308 => response.headers().get(LOCATION),
            _ => None,
        };
        let Some(target) = target else { return Ok(Hop::Arrived(response)) };
        let target = String::from_utf8_lossy(target.as_bytes());
        let next = url.join(&target).map_err(|error| refused(format!("it leads to no address: {error}")))?;
        Ok(Hop::Moved(next))
    }

    /// Fails where the place does not want this address to be read.
    async fn ask_robots(&mut self, url: &Url) -> Result<(), PageProblem> {
        // The robots.txt of a place that may not be asked is not asked for either.
        self.check(url).await?;
        let origin = url.origin().ascii_serialization();
        let robots = match self.reader.robots.get(&origin, Instant::now()) {
            Some(robots) => robots,
            None => {
                let robots = self.fetch_robots(url).await;
                self.reader.robots.put(origin, robots.clone(), Instant::now());
                robots
            }
        };
        let rules = match robots {
            Robots::Open => return Ok(()),
            Robots::Closed(problem) => return Err(problem),
            Robots::Rules(rules) => rules,
        };
        let disallowed = |note: String| Err(PageProblem::new(SourceStatus::Disallowed, note));
        match self.reader.extractor.robots_allow(&rules, url.as_str()).await {
            Ok(true) => Ok(()),
            Ok(false) => disallowed("its robots.txt does not want it read".to_owned()),
            Err(error) => disallowed(format!("its robots.txt could not be understood: {error}")),
        }
    }

    async fn fetch_robots(&mut self, url: &Url) -> Robots {
        self.robots_answer(url).await.unwrap_or_else(|problem| {
            let note = format!("its robots.txt could not be read: {}", problem.note);
            // Where the place gives no answer the page has none either; whatever else is wrong with robots.txt is
            // not wrong with the page.
            let status = match problem.status {
                SourceStatus::Unreachable => SourceStatus::Unreachable,
                _ => SourceStatus::Disallowed,
            };
            Robots::Closed(PageProblem::new(status, note))
        })
    }

    async fn robots_answer(&mut self, page: &Url) -> Result<Robots, PageProblem> {
        let mut url = page.join("/robots.txt").map_err(|error| refused(error.to_string()))?;
        for _ in 0..=MAX_REDIRECTS {
            let response = match self.hop(&url).await? {
                Hop::Moved(next) => {
                    url = next;
                    continue;
                }
                Hop::Arrived(response) => response,
            };
            let status = response.status();
            if status.is_client_error() {
                return Ok(Robots::Open);
            }
            if !status.is_success() {
                return Err(PageProblem::new(SourceStatus::Disallowed, format!("it answered {status}")));
            }
            let Body { bytes, whole } = self.within(body::read(response, MAX_ROBOTS_BYTES)).await?;
            return Ok(Robots::rules(bytes, whole));
        }
        Err(too_many_redirects())
    }

    /// Spends of the reading's time.
    async fn within<V>(
        &mut self,
        step: impl Future<Output = Result<V, PageProblem>>,
    ) -> Result<V, PageProblem> {
        let start = Instant::now();
        let done = timeout(self.left, step).await;
        self.left = self.left.saturating_sub(start.elapsed());
        let total = self.reader.total;
        done.unwrap_or_else(|_| {
            Err(PageProblem::new(SourceStatus::Unreachable, format!("reading it took longer than {total:?}")))
        })
    }
}

fn too_many_redirects() -> PageProblem {
    refused(format!("more than {MAX_REDIRECTS} redirects"))
}

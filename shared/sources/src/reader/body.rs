//! An answer's content, unpacked, and never more of it than the limit.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use nightforge_domain::research::SourceStatus;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

use super::exchange::causes;
use super::media::shown;
use super::page::PageProblem;

/// As much of a content as was wanted.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// There is no more of it.
    pub(super) whole: bool,
}

/// Reads at most so many unpacked bytes, and no more packed ones than that either.
pub(super) async fn read(mut response: Response, most_bytes: usize) -> Result<Body, PageProblem> {
    let mut sink = Sink::of(&response, most_bytes)?;
    let mut left = most_bytes;
    while let Some(chunk) = response.chunk().await.map_err(|error| cut_off(&error))? {
        let fits = chunk.len() <= left;
        left = left.saturating_sub(chunk.len());
        if !sink.take(&chunk)? || !fits {
            return Ok(Body { bytes: sink.into_bytes(), whole: false });
        }
    }
    let whole = sink.finish()?;
    Ok(Body { bytes: sink.into_bytes(), whole })
}

fn cut_off(error: &reqwest::Error) -> PageProblem {
    PageProblem::new(SourceStatus::Unreachable, format!("the answer broke off: {}", causes(error)))
}

/// Where the bytes go.
enum Sink {
    Plain(Capped),
    // Boxed because it is large.
    Gzip(Box<MultiGzDecoder<Capped>>),
}

impl Sink {
    fn of(response: &Response, most_bytes: usize) -> Result<Self, PageProblem> {
        let mut values = response.headers().get_all(CONTENT_ENCODING).iter();
        let capped = Capped { bytes: Vec::new(), most_bytes };
        let value =
            values.next().map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase());
        match value.as_deref() {
            _ if values.next().is_some() => Err(not_unpacked("several encodings")),
            None | Some("" | "identity") => Ok(Self::Plain(capped)),
            Some("gzip" | "x-gzip") => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(capped)))),
            Some(other) => Err(not_unpacked(&shown(other))),
        }
    }

    /// Whether there was room for all that came out of it.
    fn take(&mut self, chunk: &[u8]) -> Result<bool, PageProblem> {
        let written = match self {
            Self::Plain(capped) => capped.write_all(chunk),
            Self::Gzip(decoder) => decoder.write_all(chunk),
        };
        self.judge(written)
    }

    fn finish(&mut self) -> Result<bool, PageProblem> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Gzip(decoder) => {
                let finished = decoder.try_finish();
                self.judge(finished)
            }
        }
    }

    fn judge(&self, written: io::Result<()>) -> Result<bool, PageProblem> {
        match written {
            Ok(()) => Ok(true),
            Err(_) if self.capped().is_full() => Ok(false),
            Err(error) => {
                Err(PageProblem::new(SourceStatus::Unreadable, format!("its gzip is broken: {error}")))
            }
        }
    }

    fn capped(&self) -> &Capped {
        match self {
            Self::Plain(capped) => capped,
            Self::Gzip(decoder) => decoder.get_ref(),
        }
    }

    fn into_bytes(mut self) -> Vec<u8> {
        let capped = match &mut self {
            Self::Plain(capped) => capped,
            Self::Gzip(decoder) => decoder.get_mut(),
        };
        let mut bytes = std::mem::take(&mut capped.bytes);
        bytes.truncate(capped.most_bytes);
        bytes
    }
}

fn not_unpacked(what: &str) -> PageProblem {
    PageProblem::new(SourceStatus::WrongType, format!("its content encoding ({what}) was not asked for"))
}

/// Takes one byte more than the limit, so that "full" and "too much" differ, and then refuses.
struct Capped {
    bytes: Vec<u8>,
    most_bytes: usize,
}

impl Capped {
    fn is_full(&self) -> bool {
        self.bytes.len() > self.most_bytes
    }
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (self.most_bytes + 1).saturating_sub(self.bytes.len());
        let taken = room.min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if self.is_full() { Err(io::Error::other("over the limit")) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

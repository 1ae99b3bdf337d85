//! HTML and PDF on their way through the extraction's child process.

use super::folder::Kind;
use crate::extract::Extractor;

/// Title, where there is one, and text of a document, or why it has none.
pub(super) type Extracted = Result<(Option<String>, String), String>;

/// The extractor, as the corpus asks it.
#[derive(Debug, Clone)]
pub(super) struct Extraction {
    extractor: Extractor,
}

impl Extraction {
    pub(super) fn new(extractor: Extractor) -> Self {
        Self { extractor }
    }

    /// The text of an HTML or PDF file. The outer error means that nothing was looked at, whatever the file holds.
    pub(super) async fn extract(&self, kind: Kind, path: &str, bytes: &[u8]) -> Result<Extracted, String> {
        let media_type = match kind {
            Kind::Pdf => "application/pdf",
            Kind::Html => "text/html",
            Kind::Markdown | Kind::Text => return Err("a plain file needs no extraction".to_owned()),
        };
        match self.extractor.extract_own(media_type, path, bytes).await {
            Ok(extracted) => Ok(Ok((extracted.title, extracted.text))),
            Err(unreadable) if !self.extractor.program().is_file() => {
                Err(format!("{unreadable}: there is no program {}", self.extractor.program().display()))
            }
            Err(unreadable) => Ok(Err(unreadable.to_string())),
        }
    }
}

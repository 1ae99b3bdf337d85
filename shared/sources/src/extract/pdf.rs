//! The text of a PDF. The parser panics and recurses without end on broken files; the child is there for that.

use pdf_extract::{Document, PlainTextOutput, decode_text_string, output_doc};

use super::wire::Extracted;

/// Text and title, or why there are none.
pub(super) fn read(bytes: &[u8]) -> Result<Extracted, String> {
    let mut document = Document::load_mem(bytes).map_err(|_| broken())?;
    if document.is_encrypted() {
        document.decrypt("").map_err(|_| "the PDF wants a password".to_owned())?;
    }
    let mut text = String::new();
    output_doc(&document, &mut PlainTextOutput::new(&mut text)).map_err(|_| broken())?;
    Ok(Extracted { title: title(&document), text, published: None })
}

/// The parser's own errors hold parts of the document, and those are not for people's eyes.
fn broken() -> String {
    "no PDF that can be read".to_owned()
}

fn title(document: &Document) -> Option<String> {
    let info = document.trailer.get(b"Info").ok()?;
    let (_, info) = document.dereference(info).ok()?;
    let title = info.as_dict().ok()?.get(b"Title").ok()?;
    decode_text_string(document.dereference(title).ok()?.1).ok()
}

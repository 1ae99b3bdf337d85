//! PDFs, good and hostile, written object by object.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// A PDF of these objects; the first is number 1 and its catalogue, number 2 its information.
pub(crate) fn of(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (n, object) in objects.iter().enumerate() {
        offsets.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n", n + 1).as_bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let start = bytes.len();
    bytes.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).as_bytes());
    for offset in offsets {
        bytes.extend(format!("{offset:010} 00000 n \n").as_bytes());
    }
    let size = objects.len() + 1;
    bytes.extend(
        format!("trailer << /Size {size} /Root 1 0 R /Info 2 0 R >>\nstartxref\n{start}\n%%EOF\n").as_bytes(),
    );
    bytes
}

pub(crate) fn object(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

pub(crate) fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {dictionary} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// One page with this object 5 as its content and these resources.
pub(crate) fn page(resources: &str, content: Vec<u8>, more: &[Vec<u8>]) -> Vec<u8> {
    let mut objects = vec![
        object("<< /Type /Catalog /Pages 3 0 R >>"),
        object("<< /Title (Harbour) >>"),
        object("<< /Type /Pages /Kids [4 0 R] /Count 1 >>"),
        object(&format!(
            "<< /Type /Page /Parent 3 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources << {resources} >> >>"
        )),
        content,
    ];
    objects.extend_from_slice(more);
    of(&objects)
}

const FONT: &str =
    "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> >>";

fn words(text: &str) -> Vec<u8> {
    let lines: String = text.split_inclusive(", ").map(|line| format!("({line}) Tj 0 -20 Td ")).collect();
    format!("BT /F1 12 Tf 20 700 Td {lines}ET").into_bytes()
}

/// A page that says this.
pub(crate) fn with_text(text: &str) -> Vec<u8> {
    page(FONT, stream("", &words(text)), &[])
}

/// A form that draws itself.
pub(crate) fn drawing_itself() -> Vec<u8> {
    let form = stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>",
        b"/X Do",
    );
    page("/XObject << /X 6 0 R >>", stream("", b"/X Do"), &[form])
}

/// Pages that are each other's parents, and nobody has a media box.
pub(crate) fn own_ancestor() -> Vec<u8> {
    of(&[
        object("<< /Type /Catalog /Pages 3 0 R >>"),
        object("<< >>"),
        object("<< /Type /Pages /Kids [4 0 R] /Count 1 /Parent 4 0 R >>"),
        object("<< /Type /Page /Parent 3 0 R /Contents 5 0 R >>"),
        stream("", b"BT ET"),
    ])
}

/// A font whose encoding is no encoding.
pub(crate) fn with_a_font_that_is_none() -> Vec<u8> {
    let font = "/Font << /F1 << /Type /Font /Subtype /Type0 /BaseFont /None /Encoding /None /DescendantFonts [] >> >>";
    page(font, stream("", &words("Words, and more words, ")), &[])
}

/// Arrays in arrays.
pub(crate) fn nested(levels: usize) -> Vec<u8> {
    let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    page(&format!("/Deep {deep}"), stream("", deep.as_bytes()), &[])
}

/// A page content that unpacks to so many bytes.
pub(crate) fn bomb(unpacked_bytes: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let block = b"BT (a) Tj ET\n".repeat(10_000);
    for _ in 0..unpacked_bytes / block.len() {
        encoder.write_all(&block).unwrap();
    }
    page(FONT, stream("/Filter /FlateDecode", &encoder.finish().unwrap()), &[])
}

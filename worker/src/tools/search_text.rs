//! `search_text`: where a text stands.

use std::io::Read;
use std::ops::ControlFlow;

use super::ToolError;
use super::confined::{Files, Found, ProjectPath, operator};
use super::lines::is_binary;
use super::walk::walk;
use crate::project::folder::Kind;

const MAX_HITS: usize = 50;
const MAX_CHARS: usize = 200;
/// Longer files are data rather than code.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// At most 50 lines, as `path:line: text`, in which `pattern` stands exactly so. `path` is a file or a
/// folder, by default the whole project. Binary files, files over 4 MB and what git ignores are left out.
pub fn search_text(files: &Files, pattern: &str, path: Option<&str>) -> Result<String, ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::model("pattern is empty; give the text to find"));
    }
    let path: ProjectPath = path.filter(|path| !path.trim().is_empty()).unwrap_or(".").parse()?;
    let mut hits = Hits { pattern, shown: String::new(), count: 0, skipped: 0 };
    match files.find(&path)? {
        Found::File(mut file) => {
            let mut bytes = Vec::new();
            file.by_ref().take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(operator(&path))?;
            let _ = hits.search(&bytes, &path.text);
        }
        Found::Folder => walk(files, &path, &mut |folder, entry, at| {
            if !matches!(entry.kind, Kind::File { .. }) {
                return Ok(ControlFlow::Continue(()));
            }
            let mut bytes = Vec::new();
            // A file that can't be read, or that is gone again, has no hits.
            let Ok(file) = folder.read(&entry.name) else { return Ok(ControlFlow::Continue(())) };
            file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(operator(&path))?;
            Ok(hits.search(&bytes, at))
        })?,
    }
    let Hits { mut shown, count, skipped, .. } = hits;
    if count > MAX_HITS {
        shown.push_str("(more than 50 hits; search a folder or a longer text)\n");
    }
    if shown.is_empty() {
        shown = format!("no hits for this text in {path}\n");
    }
    if skipped > 0 {
        shown.push_str(&format!("({skipped} files over 4 MB were left out)\n"));
    }
    Ok(shown)
}

struct Hits<'a> {
    pattern: &'a str,
    shown: String,
    count: usize,
    skipped: usize,
}

impl Hits<'_> {
    fn search(&mut self, bytes: &[u8], path: &str) -> ControlFlow<()> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            self.skipped += 1;
            return ControlFlow::Continue(());
        }
        if is_binary(bytes) {
            return ControlFlow::Continue(());
        }
        let text = String::from_utf8_lossy(bytes);
        let mut counted_to = 0;
        let mut line = 1;
        let mut last = 0;
        for (at, _) in text.match_indices(self.pattern) {
            line += text[counted_to..at].matches('\n').count();
            counted_to = at;
            if line == last {
                continue;
            }
            last = line;
            self.count += 1;
            if self.count > MAX_HITS {
                return ControlFlow::Break(());
            }
            self.shown.push_str(&format!("{path}:{line}: {}\n", around(&text, at)));
        }
        ControlFlow::Continue(())
    }
}

/// The line with the hit, or the part of a long line around it.
fn around(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    let line = text[start..end].trim_end_matches('\r');
    if line.chars().count() <= MAX_CHARS {
        return line.to_owned();
    }
    // The two marks count.
    let before = text[start..at].chars().count().saturating_sub(60);
    let cut: String = line.chars().skip(before).take(MAX_CHARS - 2).collect();
    format!("{}{cut}…", if before > 0 { "…" } else { "" })
}

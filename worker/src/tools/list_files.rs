//! `list_files`: the paths below a folder.

use std::ops::ControlFlow;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::ToolError;
use super::confined::{Files, Found, ProjectPath};
use super::walk::walk;
use crate::project::folder::Kind;

const MAX_ENTRIES: usize = 200;

/// At most 200 paths of files below `path` that git would not ignore, one a line; links with their target.
/// `glob` is a pattern as in `.gitignore`: `*.py` matches at every level, `src/**/*.py` from the project on.
pub fn list_files(files: &Files, path: &str, glob: Option<&str>) -> Result<String, ToolError> {
    let path: ProjectPath = path.parse()?;
    if let Found::File(_) = files.find(&path)? {
        return Ok(format!("{path} is a file\n"));
    }
    let glob = glob.map(str::trim).filter(|glob| !glob.is_empty()).map(pattern).transpose()?;
    let mut shown = String::new();
    let mut count = 0;
    walk(files, &path, &mut |folder, entry, at| {
        if glob.as_ref().is_some_and(|glob| !glob.matched(at, false).is_ignore()) {
            return Ok(ControlFlow::Continue(()));
        }
        count += 1;
        if count > MAX_ENTRIES {
            return Ok(ControlFlow::Break(()));
        }
        // A name with a line break would look like two files.
        shown.push_str(&at.replace(['\n', '\r'], "�"));
        if entry.kind == Kind::Link {
            let target = folder.link_target(&entry.name).unwrap_or_default();
            shown.push_str(" -> ");
            shown.push_str(&String::from_utf8_lossy(&target).replace(['\n', '\r'], "�"));
        }
        shown.push('\n');
        Ok(ControlFlow::Continue(()))
    })?;
    if count > MAX_ENTRIES {
        shown.push_str("(more than 200 files; give a folder or a glob)\n");
    }
    if shown.is_empty() {
        let which = if glob.is_some() { "no files match" } else { "there are no files" };
        return Ok(format!("{which} below {path}\n"));
    }
    Ok(shown)
}

fn pattern(glob: &str) -> Result<Gitignore, ToolError> {
    let wrong =
        |error: ignore::Error| ToolError::model(format!("`{glob}` is not a pattern such as *.py: {error}"));
    let glob = glob.trim_start_matches("./");
    let mut builder = GitignoreBuilder::new("");
    builder.add_line(None, glob.trim_start_matches('!')).map_err(wrong)?;
    builder.build().map_err(wrong)
}

//! `write_file`: a whole file.

use super::ToolError;
use super::confined::{Files, ProjectPath, operator};
use crate::project::folder::Kind;

const MAX_LINES: usize = 400;
const MAX_BYTES: usize = 256 * 1024;
/// A longer file is not replaced: models lose parts of it on the way.
const MAX_REPLACED_LINES: usize = 150;

/// Writes `content` as it is, with the folders that lead there; at most 400 lines. Refuses to replace a file
/// of more than 150 lines, and protected files. An executable file stays executable.
pub fn write_file(files: &Files, path: &str, content: &str) -> Result<String, ToolError> {
    let path: ProjectPath = path.parse()?;
    let lines = content.lines().count();
    if lines > MAX_LINES || content.len() > MAX_BYTES {
        return Err(ToolError::model(format!(
            "the content has {lines} lines and {} bytes; at most {MAX_LINES} lines and {MAX_BYTES} bytes are taken. \
             Write a first part, or several files",
            content.len()
        )));
    }
    let (folder, name, there) = files.place_to_write(&path)?;
    let mut executable = false;
    let mut replaced = String::new();
    if let Some(Kind::File { executable: was_executable, .. }) = there {
        let old = files.bytes(&path)?;
        let old_lines = String::from_utf8_lossy(&old).lines().count();
        if old_lines > MAX_REPLACED_LINES {
            return Err(ToolError::model(format!(
                "`{path}` has {old_lines} lines already; files over {MAX_REPLACED_LINES} lines are changed with edit_file"
            )));
        }
        executable = was_executable;
        replaced = format!(", in place of {old_lines}");
    }
    folder.replace(&name, content.as_bytes(), executable).map_err(operator(&path))?;
    Ok(format!("wrote {path}: {lines} lines{replaced}\n"))
}

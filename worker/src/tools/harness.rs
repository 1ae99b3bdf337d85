//! What the harness itself asks of a workspace's files, confined like the tools.

use super::ToolError;
use super::confined::{Files, Found, ProjectPath};

/// A path as the project knows it: relative, without `.` and doubled slashes. `/project/a` is `a`.
///
/// # Errors
/// For the model, when the path leads outside.
pub fn project_path(path: &str) -> Result<String, ToolError> {
    Ok(path.parse::<ProjectPath>()?.text)
}

impl Files {
    /// Whether the path leads to a regular file. Links are followed as long as they stay inside.
    ///
    /// # Errors
    /// For the model, when the path leads outside.
    pub fn has_file(&self, path: &str) -> Result<bool, ToolError> {
        match self.find(&path.parse()?) {
            Ok(Found::File(_)) => Ok(true),
            Ok(Found::Folder) | Err(ToolError::ForModel(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

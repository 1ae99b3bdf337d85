//! The file tools of the coding agent, one file each. They run outside the sandbox, so they never leave the
//! workspace: no `..`, no link that leads out, nothing that could make the harness wait.

mod clip;
mod confined;
mod edit_file;
mod harness;
mod lines;
mod list_files;
mod read_file;
mod search_text;
#[cfg(test)]
mod tests;
mod walk;
mod write_file;

pub use clip::clip;
pub use confined::Files;
pub use edit_file::edit_file;
pub use harness::project_path;
pub use list_files::list_files;
pub use read_file::read_file;
pub use search_text::search_text;
pub use write_file::write_file;

use crate::project::ProjectError;

/// Why a tool gave no result, by who has to read it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The model's call was wrong; the text says what to do instead.
    #[error("{0}")]
    ForModel(String),
    /// The machine failed; asking again may help.
    #[error("{0:#}")]
    Operator(anyhow::Error),
}

impl From<anyhow::Error> for ToolError {
    fn from(error: anyhow::Error) -> Self {
        ToolError::Operator(error)
    }
}

impl From<std::io::Error> for ToolError {
    fn from(error: std::io::Error) -> Self {
        ToolError::Operator(error.into())
    }
}

impl From<ProjectError> for ToolError {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::TooDeep(_) | ProjectError::NoSuchPath(_) => ToolError::ForModel(error.to_string()),
            other => ToolError::Operator(other.into()),
        }
    }
}

impl ToolError {
    fn model(text: impl Into<String>) -> Self {
        ToolError::ForModel(text.into())
    }
}

//! A back-end whose answers are written down, for [`Replay`](super::Replay) to give them again.

use std::path::{Path, PathBuf};

use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;

use super::config::ConfigError;
use super::replay::Recording;
use super::{Backend, Looked};
use crate::answer::SearchAnswer;

/// Passes every query on; an answer that says what there is goes to the end of a file. That a back-end could not look
/// is not written: it says nothing that would hold at another time.
#[derive(Debug)]
pub struct Recorded {
    backend: Box<Backend>,
    path: PathBuf,
    /// Held while a line is written, so that lines never mix.
    file: Mutex<tokio::fs::File>,
}

impl Recorded {
    /// Makes the file where there is none, and adds to one that is there.
    pub fn new(backend: Backend, path: &Path) -> Result<Self, ConfigError> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
            let why = format!("can't be written ({error}); choose a path in a folder that is there");
            ConfigError::Recording { path: path.to_owned(), why }
        })?;
        let file = Mutex::new(tokio::fs::File::from_std(file));
        Ok(Self { backend: Box::new(backend), path: path.to_owned(), file })
    }

    /// The back-end that is recorded.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(crate) async fn look(&self, query: &str, limit: usize) -> Looked {
        let mut looked = self.backend.look(query, limit).await;
        if !matches!(looked.answer, SearchAnswer::Unavailable { .. }) {
            let (query, answer) = (query.to_owned(), looked.answer.clone());
            let line = Recording { query, answer, is_demo: self.backend.is_demo() };
            if let Err(error) = self.write(&line).await {
                let problem =
                    format!("recording {}: an answer was not written: {error}", self.path.display());
                looked.problems.push(problem);
            }
        }
        looked
    }

    async fn write(&self, line: &Recording) -> std::io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        let mut file = self.file.lock().await;
        file.write_all(&bytes).await?;
        file.flush().await
    }
}

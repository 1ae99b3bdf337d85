//! Locks that a killed process left.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Repository, Result, at};

impl Repository {
    /// Removes every lock file, and says which there were. Only for a claim whose lease is its own: whoever
    /// wrote them is dead or fenced off. A fenced-off writer that still lives fails when it finds its lock
    /// gone.
    pub fn clear_stale_locks(&self) -> Result<Vec<PathBuf>> {
        let mut removed = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(at(&folder))? {
                let entry = entry.map_err(at(&folder))?;
                let path = entry.path();
                let is_folder = entry.file_type().map_err(at(&path))?.is_dir();
                if is_folder && path != self.path().join("objects") {
                    folders.push(path);
                } else if !is_folder && path.extension().is_some_and(|extension| extension == "lock") {
                    remove(&path)?;
                    removed.push(path);
                }
            }
        }
        Ok(removed)
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

//! Each tool with the traps that an agent, or its model, sets.

mod clipping;
mod confinement;
mod editing;
mod looking;
mod writing;

use std::fs;
use std::path::Path;

use super::{Files, ToolError};

/// A workspace beside a file that must stay out of reach.
pub(super) struct Place {
    pub(super) folder: tempfile::TempDir,
    pub(super) files: Files,
}

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        fs::write(folder.path().join("secret"), "the secret").unwrap();
        let protected = ["feature_list.json", "progress.txt", "tests/test_f001.py", "kept/"];
        let files = Files::open(&workspace, protected.map(str::to_owned).to_vec()).unwrap();
        Self { folder, files }
    }

    pub(super) fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join("workspace").join(path)
    }

    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(super) fn secret(&self) -> String {
        fs::read_to_string(self.folder.path().join("secret")).unwrap()
    }
}

/// What the model is told.
pub(super) fn told<T: std::fmt::Debug>(result: Result<T, ToolError>) -> String {
    match result {
        Err(ToolError::ForModel(text)) => text,
        other => panic!("not for the model: {other:?}"),
    }
}

pub(super) fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

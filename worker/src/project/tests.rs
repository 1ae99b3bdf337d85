//! Round trips, hostile workspaces, and what survives a kill.

mod hostile;
mod round_trips;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nightforge_domain::{CommitId, Millis};

use super::{Repository, TreeId};

/// A repository and an empty workspace beside it.
pub(super) struct Place {
    pub(super) folder: tempfile::TempDir,
    pub(super) repository: Repository,
    pub(super) workspace: PathBuf,
}

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::create(&folder.path().join("project.git")).unwrap();
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        Self { folder, repository, workspace }
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.workspace.join(path)).unwrap()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.workspace.join(path).symlink_metadata().is_ok()
    }

    pub(super) fn snapshot(&self, base: Option<&CommitId>) -> TreeId {
        self.repository.snapshot(&self.workspace, base).unwrap()
    }

    pub(super) fn commit(&self, message: &str, parents: &[CommitId]) -> CommitId {
        let tree = self.snapshot(parents.first());
        self.repository
            .commit(tree, parents, message, Millis(1_700_000_000_123), "refs/nightforge/test")
            .unwrap()
    }

    /// Every path with its mode and content, links as their target.
    pub(super) fn listing(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                let meta = path.symlink_metadata().unwrap();
                let relative = path.strip_prefix(folder).unwrap().to_owned();
                if meta.is_dir() {
                    folders.push(path);
                } else if meta.is_symlink() {
                    let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                    found.push((relative, 0o120_000, target));
                } else {
                    found.push((relative, meta.mode() & 0o111, fs::read(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }
}

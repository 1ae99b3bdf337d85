//! A commit with some of its files as they are in another one: the start of a session with its new tests.

use git2::build::TreeUpdateBuilder;
use nightforge_domain::{CommitId, Millis};

use super::{Repository, Result, TreeId, oid};

impl Repository {
    /// Commits `base` with these paths as they are in `from`; what is not there is removed. Points `reference` at it.
    ///
    /// # Errors
    /// When git fails.
    pub fn overlay(
        &self,
        base: &CommitId,
        from: &CommitId,
        paths: &[String],
        now: Millis,
        reference: &str,
    ) -> Result<CommitId> {
        let git = self.git()?;
        let base_tree = git.find_commit(oid(base)?)?.tree()?;
        let from_tree = git.find_commit(oid(from)?)?.tree()?;
        let mut update = TreeUpdateBuilder::new();
        for path in paths {
            match from_tree.get_path(path.as_ref()) {
                Ok(entry) => {
                    let mode = match entry.filemode() {
                        0o100_755 => git2::FileMode::BlobExecutable,
                        0o120_000 => git2::FileMode::Link,
                        _ => git2::FileMode::Blob,
                    };
                    update.upsert(path.as_str(), entry.id(), mode);
                }
                Err(error) if error.code() == git2::ErrorCode::NotFound => {
                    if base_tree.get_path(path.as_ref()).is_ok() {
                        update.remove(path.as_str());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        let tree = update.create_updated(&git, &base_tree)?;
        self.commit(
            TreeId(tree),
            std::slice::from_ref(base),
            "the start, with the session's tests",
            now,
            reference,
        )
    }
}

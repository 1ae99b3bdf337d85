//! The branch and the side references.

use git2::ErrorCode;
use nightforge_domain::CommitId;

use super::{BRANCH, Repository, Result, commit_id, is_missing, oid};

impl Repository {
    /// Where [`BRANCH`] stands; `None` before the first commit.
    pub fn branch(&self) -> Result<Option<CommitId>> {
        match self.git()?.find_reference(BRANCH) {
            Ok(reference) => Ok(Some(commit_id(reference.peel_to_commit()?.id())?)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves [`BRANCH`] to `to` if it stands at `from`, and says whether it did. `None` is a branch that
    /// does not exist yet.
    pub fn move_branch(&self, from: Option<&CommitId>, to: &CommitId) -> Result<bool> {
        let git = self.git()?;
        // A branch must not point at nothing, whatever the caller believes.
        let to = git.find_commit(oid(to)?)?.id();
        let moved = match from {
            Some(from) => git.reference_matching(BRANCH, to, true, oid(from)?, "").map(drop),
            None => git.reference(BRANCH, to, false, "").map(drop),
        };
        match moved {
            Ok(()) => {
                self.make_durable()?;
                Ok(true)
            }
            Err(error)
                if matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::NotFound) =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Points a reference at a commit, whatever it pointed at before.
    pub fn set_ref(&self, name: &str, to: &CommitId) -> Result<()> {
        let git = self.git()?;
        git.reference(name, git.find_commit(oid(to)?)?.id(), true, "")?;
        self.make_durable()
    }

    /// Removes a reference; one that is gone already is no error.
    pub fn delete_ref(&self, name: &str) -> Result<()> {
        match self.git()?.find_reference(name) {
            Ok(mut reference) => Ok(reference.delete()?),
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// All references whose name starts with `prefix`, in the order of their names.
    pub fn refs(&self, prefix: &str) -> Result<Vec<(String, CommitId)>> {
        let git = self.git()?;
        let mut found = Vec::new();
        for reference in git.references()? {
            let reference = reference?;
            let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
            if name.starts_with(prefix) {
                found.push((name, commit_id(reference.peel_to_commit()?.id())?));
            }
        }
        found.sort();
        Ok(found)
    }
}

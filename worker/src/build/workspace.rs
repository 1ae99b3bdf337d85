//! A claim's own folder and its side branch in the project's repository.
//!
//! The folder holds no `.git`: the harness keeps the repository beside it, so nothing that an agent writes can
//! configure, hook or break it. Each claim has a folder of its own, named by job and fence: a stale claim may
//! still be acting in its own when its successor starts.

use std::path::{Path, PathBuf};

use anyhow::Context;
use nightforge_domain::{CommitId, Fence, JobId, Millis};
use nightforge_store::Claim;

use crate::branch::repository_path;
use crate::project::{ProjectError, Repository, remove_folder};
use crate::sandbox::Sandbox;

/// A claim's own folder.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    folder: PathBuf,
    repository: PathBuf,
    sandbox: Sandbox,
    job: JobId,
    fence: Fence,
}

impl Workspace {
    /// The workspace of a claim. Makes the repository at its first use, and clears what older claims of the task
    /// left, except folders that are ignored by git: those are taken over.
    ///
    /// # Errors
    /// When the data folder can't be written to.
    pub(crate) async fn open(data: &Path, claim: &Claim, sandbox: &Sandbox) -> anyhow::Result<Self> {
        let task = claim.job.task.clone();
        let workspace = Self {
            folder: data.join("work").join(task.as_str()).join(format!("{}-{}", claim.job.no, claim.fence)),
            repository: repository_path(data, &task),
            sandbox: sandbox.clone(),
            job: claim.job.clone(),
            fence: claim.fence,
        };
        let this = workspace.clone();
        blocking(move || {
            std::fs::create_dir_all(this.project())
                .with_context(|| format!("the workspace {} can't be made", this.folder.display()))?;
            if !this.repository.exists() {
                if let Some(parent) = this.repository.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                Repository::create(&this.repository)?;
            }
            let removed = Repository::open(&this.repository)?.clear_stale_locks()?;
            if !removed.is_empty() {
                tracing::warn!(?removed, "locks of a killed process removed");
            }
            // The newest one may hold folders that are worth taking over.
            let older = this.older()?;
            for folder in &older[..older.len().saturating_sub(1)] {
                remove_folder(folder)?;
            }
            Ok(())
        })
        .await?;
        Ok(workspace)
    }

    /// The project's files.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// The bare repository.
    pub(crate) fn repository(&self) -> &Path {
        &self.repository
    }

    /// The side branch that keeps this claim's commits.
    pub(crate) fn reference(&self) -> String {
        format!("refs/nightforge/job-{}/{}", self.job.no, self.fence)
    }

    /// A reference beside the side branch.
    pub(crate) fn side_reference(&self, name: &str) -> String {
        format!("refs/nightforge/job-{}/{}-{name}", self.job.no, self.fence)
    }

    /// Removes all of the project's files.
    ///
    /// # Errors
    /// When the disk fails.
    pub(crate) async fn empty(&self) -> anyhow::Result<()> {
        let this = self.clone();
        blocking(move || {
            let project = this.project();
            remove_folder(&project)?;
            std::fs::create_dir_all(&project)?;
            Ok(this.sandbox.own(&project)?)
        })
        .await
    }

    /// Makes the project's files exactly those of `commit`, in an empty folder, and gives them to the sandbox.
    /// Ignored folders of the newest older workspace (installed packages, caches) are moved here first.
    ///
    /// # Errors
    /// When git or the disk fails.
    pub(crate) async fn materialise(&self, commit: &CommitId) -> anyhow::Result<()> {
        self.fill(commit, true).await
    }

    /// The same as a fresh clone is: with nothing of older workspaces, which stay as they are.
    ///
    /// # Errors
    /// When git or the disk fails.
    pub(crate) async fn clone_afresh(&self, commit: &CommitId) -> anyhow::Result<()> {
        self.fill(commit, false).await
    }

    async fn fill(&self, commit: &CommitId, take_over: bool) -> anyhow::Result<()> {
        let (this, commit) = (self.clone(), commit.clone());
        blocking(move || {
            let project = this.project();
            remove_folder(&project)?;
            std::fs::create_dir_all(&project)?;
            let repository = Repository::open(&this.repository)?;
            repository.checkout(&commit, &project)?;
            if take_over {
                this.take_over(&repository)?;
            }
            this.sandbox.own(&project)?;
            Ok(())
        })
        .await
    }

    /// A second folder with the files of `commit`, for a check that must not touch the first.
    ///
    /// # Errors
    /// When git or the disk fails.
    pub(crate) async fn second(&self, name: &str, commit: &CommitId) -> anyhow::Result<PathBuf> {
        let (this, commit, folder) = (self.clone(), commit.clone(), self.folder.join(name));
        blocking(move || {
            remove_folder(&folder)?;
            std::fs::create_dir_all(&folder)?;
            Repository::open(&this.repository)?.checkout(&commit, &folder)?;
            this.sandbox.own(&folder)?;
            Ok(folder)
        })
        .await
    }

    /// Gives files that the harness has just written to the sandbox.
    ///
    /// # Errors
    /// When the disk fails.
    pub(crate) async fn own(&self, folder: PathBuf) -> anyhow::Result<()> {
        let sandbox = self.sandbox.clone();
        blocking(move || Ok(sandbox.own(&folder)?)).await
    }

    /// Records the files as they are as a commit on the side branch; `parent` itself when nothing changed.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) async fn checkpoint(&self, parent: &CommitId, now: Millis) -> anyhow::Result<CommitId> {
        let (project, reference, parent) = (self.project(), self.reference(), parent.clone());
        self.git(move |repository| {
            let tree = repository.snapshot(&project, Some(&parent))?;
            if tree == repository.tree_of(&parent)? {
                return Ok(parent);
            }
            Ok(repository.commit(tree, &[parent], "checkpoint", now, &reference)?)
        })
        .await
    }

    /// Records the files as they are as the commit that ends a session, on top of `parent`; of a project's first
    /// commit there is none.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) async fn commit(
        &self,
        parent: Option<&CommitId>,
        message: String,
        now: Millis,
    ) -> anyhow::Result<CommitId> {
        let (project, reference, parent) = (self.project(), self.reference(), parent.cloned());
        self.git(move |repository| {
            let tree = repository.snapshot(&project, parent.as_ref())?;
            let parents: Vec<CommitId> = parent.into_iter().collect();
            Ok(repository.commit(tree, &parents, &message, now, &reference)?)
        })
        .await
    }

    /// Puts one path, or everything that git tracks, back to `commit`.
    ///
    /// # Errors
    /// When git or the disk fails.
    pub(crate) async fn restore(&self, commit: &CommitId, path: Option<String>) -> anyhow::Result<()> {
        let (project, commit) = (self.project(), commit.clone());
        self.git(move |repository| Ok(repository.restore(&commit, &project, path.as_deref())?)).await
    }

    /// Puts these paths back to `commit`.
    ///
    /// # Errors
    /// When git or the disk fails.
    pub(crate) async fn restore_paths(&self, commit: &CommitId, paths: Vec<String>) -> anyhow::Result<()> {
        let (project, commit) = (self.project(), commit.clone());
        self.git(move |repository| {
            for path in paths {
                match repository.restore(&commit, &project, Some(&path)) {
                    // It went away with a folder that was put back before it.
                    Err(ProjectError::NoSuchPath(_)) => {}
                    restored => restored?,
                }
            }
            Ok(())
        })
        .await
    }

    /// Moves the ignored folders of one project folder to another that has none of that name. Returns what was moved.
    ///
    /// # Errors
    /// When git or the disk fails.
    pub(crate) async fn lend(&self, from: PathBuf, to: PathBuf) -> anyhow::Result<Vec<String>> {
        self.git(move |repository| move_ignored(repository, &from, &to)).await
    }

    /// Runs a git operation of the harness.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) async fn git<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Repository) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let path = self.repository.clone();
        blocking(move || operation(&Repository::open(&path)?)).await
    }

    /// Moves ignored top-level folders of the newest older workspace here and removes that one.
    fn take_over(&self, repository: &Repository) -> anyhow::Result<()> {
        if let Some(folder) = self.older()?.pop() {
            move_ignored(repository, &folder.join("project"), &self.project())?;
            remove_folder(&folder)?;
        }
        Ok(())
    }

    /// Workspaces of the task's earlier claims, oldest first.
    fn older(&self) -> anyhow::Result<Vec<PathBuf>> {
        let Some(parent) = self.folder.parent() else { return Ok(Vec::new()) };
        let mut older: Vec<(u32, i64, PathBuf)> = Vec::new();
        for entry in std::fs::read_dir(parent)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((job, fence)) = name.split_once('-') else { continue };
            let (Ok(job), Ok(fence)) = (job.parse(), fence.parse()) else { continue };
            if (job, fence) < (self.job.no.0, self.fence.0) {
                older.push((job, fence, entry.path()));
            }
        }
        older.sort_unstable();
        Ok(older.into_iter().map(|(.., folder)| folder).collect())
    }
}

/// Moves ignored top-level folders; what has the name already stays. Names are single ones and the kind was looked at
/// without following links, so nothing outside of the two folders is touched, whatever an agent put there.
fn move_ignored(repository: &Repository, from: &Path, to: &Path) -> anyhow::Result<Vec<String>> {
    let mut moved = Vec::new();
    for name in repository.ignored_folders(from)? {
        // A link that leads nowhere has the name, too.
        if to.join(&name).symlink_metadata().is_err() {
            std::fs::rename(from.join(&name), to.join(&name))
                .with_context(|| format!("taking over {name}"))?;
            moved.push(name);
        }
    }
    Ok(moved)
}

/// Moves folders back that were lent; one that the run removed is gone.
///
/// # Errors
/// When the disk fails.
pub(crate) fn give_back(names: &[String], from: &Path, to: &Path) -> anyhow::Result<()> {
    for name in names {
        match std::fs::rename(from.join(name), to.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("giving back {name}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Runs blocking work beside the runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("blocking work ended early")?
}

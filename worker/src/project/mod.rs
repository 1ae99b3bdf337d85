//! A task's git repository, which belongs to the harness: bare, and written through git2 only. Workspaces are
//! plain folders without a `.git`; what an agent leaves there (hooks, filters, attributes, nested
//! repositories) is data and nothing runs it.
//!
//! Everything here blocks. A [`Repository`] is a path, cheap to clone into a blocking task.

mod checkout;
pub(crate) mod folder;
mod history;
pub(crate) mod ignored;
mod locks;
mod overlay;
mod references;
mod snapshot;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, RepositoryInitOptions, RepositoryOpenFlags, Signature, Time};
use nightforge_domain::{CommitId, Millis};

pub use history::{Change, ChangeKind, LogEntry};

/// The branch that people clone.
pub const BRANCH: &str = "refs/heads/main";

/// Folders nested deeper than this are refused: nobody writes them by hand, and each costs a descriptor.
pub const MAX_DEPTH: usize = 100;

/// What can go wrong. `TooDeep` and `NoSuchPath` are the agent's doing, all others are the machine's.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// libgit2 said no.
    #[error("git: {0}")]
    Git(#[from] git2::Error),
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// Relative to the workspace, or the whole path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The workspace holds folders nested deeper than [`MAX_DEPTH`].
    #[error("folders are nested deeper than {MAX_DEPTH} at {0}")]
    TooDeep(String),
    /// A checkout needs an empty folder.
    #[error("{0} is not empty")]
    NotEmpty(PathBuf),
    /// Neither the commit nor the workspace has it, or it is not a path inside the project.
    #[error("there is no {0} in the project")]
    NoSuchPath(String),
}

/// What this module's functions return.
pub type Result<T> = std::result::Result<T, ProjectError>;

/// The content of a whole project: equal ids are equal content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TreeId(Oid);

impl std::fmt::Display for TreeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A bare repository on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    path: PathBuf,
}

impl Repository {
    /// Makes an empty repository, or opens the one that is there already. A kill in between leaves nothing
    /// that a second call does not repair.
    pub fn create(path: &Path) -> Result<Self> {
        if path.exists() {
            return Self::open(path);
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(at(&partial))?;
        }
        let mut options = RepositoryInitOptions::new();
        options.bare(true).no_reinit(true).mkpath(true).external_template(false).initial_head("main");
        let git = git2::Repository::init_opts(&partial, &options)?;
        let mut config = git.config()?.open_level(git2::ConfigLevel::Local)?;
        // For the git that looks at it from a sandbox or a clone; libgit2 itself runs no hooks.
        config.set_str("core.hooksPath", "/dev/null")?;
        config.set_bool("core.logAllRefUpdates", false)?;
        config.set_bool("core.autocrlf", false)?;
        config.set_bool("core.fsmonitor", false)?;
        config.set_i32("gc.auto", 0)?;
        drop((config, git));
        // libgit2 puts a sample there.
        fs::remove_dir_all(partial.join("hooks")).map_err(at(&partial))?;
        fs::rename(&partial, path).map_err(at(path))?;
        let repository = Self::open(path)?;
        repository.make_durable()?;
        Ok(repository)
    }

    /// Opens a repository that [`Repository::create`] made.
    pub fn open(path: &Path) -> Result<Self> {
        let repository = Self { path: path.to_owned() };
        repository.git()?;
        Ok(repository)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a commit and points `reference` at it, whatever it pointed at before. The author is always
    /// Nightforge, so the same arguments give the same id. When this returns, the commit and its whole
    /// content survive a power failure.
    pub fn commit(
        &self,
        tree: TreeId,
        parents: &[CommitId],
        message: &str,
        at: Millis,
        reference: &str,
    ) -> Result<CommitId> {
        let git = self.git()?;
        let author =
            Signature::new("Nightforge", "nightforge@localhost", &Time::new(at.0.div_euclid(1000), 0))?;
        let parents =
            parents.iter().map(|id| git.find_commit(oid(id)?)).collect::<std::result::Result<Vec<_>, _>>()?;
        let parents: Vec<_> = parents.iter().collect();
        let commit = git.commit(None, &author, &author, message, &git.find_tree(tree.0)?, &parents)?;
        git.reference(reference, commit, true, "")?;
        self.make_durable()?;
        commit_id(commit)
    }

    /// The content of a commit.
    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId> {
        Ok(TreeId(self.git()?.find_commit(oid(commit)?)?.tree_id()))
    }

    /// Whether the commit is here.
    pub fn has(&self, commit: &CommitId) -> Result<bool> {
        match self.git()?.find_commit(oid(commit)?) {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn git(&self) -> Result<git2::Repository> {
        let flags =
            RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_DOTGIT;
        Ok(git2::Repository::open_ext(&self.path, flags, &[] as &[&std::ffi::OsStr])?)
    }

    /// One call for everything that was written, objects first among them: cheaper than a sync for each of
    /// thousands of objects, which is what libgit2 would do.
    fn make_durable(&self) -> Result<()> {
        let folder = File::open(&self.path).map_err(at(&self.path))?;
        rustix::fs::syncfs(folder).map_err(|error| at(&self.path)(error.into()))
    }
}

/// Removes a workspace or any other folder that an agent could write to, however deep it is nested and
/// whatever rights were taken away in it. One that is gone already is no error.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a root can't be removed"));
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let name = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(name))?;
    match folder::Folder::open(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        parent => parent?.remove(&name),
    }
}

fn oid(commit: &CommitId) -> std::result::Result<Oid, git2::Error> {
    Oid::from_str(commit.as_str())
}

fn commit_id(id: Oid) -> Result<CommitId> {
    id.to_string().parse().map_err(|error| git2::Error::from_str(&format!("{error}")).into())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ProjectError {
    let path = path.display().to_string();
    move |source| ProjectError::Io { path, source }
}

fn is_missing(error: &git2::Error) -> bool {
    error.code() == ErrorCode::NotFound
}

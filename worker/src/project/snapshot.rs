//! From a workspace to a tree: every file byte for byte, without filters.

use std::io::{self, Read};
use std::path::Path;

use git2::{ObjectType, Oid, Tree, TreeEntry};
use nightforge_domain::CommitId;

use super::folder::{Entry, Folder, Kind};
use super::ignored::{Rules, is_git_name};
use super::{MAX_DEPTH, ProjectError, Repository, Result, TreeId, oid};

/// Longer files go through a stream instead of memory.
const IN_MEMORY_BYTES: u64 = 16 << 20;

impl Repository {
    /// Stores the content of a workspace: all files that are tracked or not ignored. Tracked are the files
    /// of `base`, so an ignore rule that is written later can't make them vanish.
    ///
    /// Left out are `.git` at every level, FIFOs, sockets and devices, and folders without files. The new
    /// objects are on disk, and durable with the commit that follows.
    pub fn snapshot(&self, workspace: &Path, base: Option<&CommitId>) -> Result<TreeId> {
        let git = self.git()?;
        let tracked = base.map(|base| git.find_commit(oid(base)?)?.tree()).transpose()?;
        let top = Folder::open(workspace).map_err(super::at(workspace))?;
        let store = Store { git: &git };
        let mut path = Vec::new();
        let tree = store.folder(&top, tracked.as_ref(), None, false, &mut path)?;
        Ok(TreeId(match tree {
            Some(tree) => tree,
            None => git.treebuilder(None)?.write()?,
        }))
    }
}

impl Repository {
    /// The folders directly in a workspace that its own rules ignore, such as `node_modules`; links and names
    /// that are not UTF-8 do not count.
    pub fn ignored_folders(&self, workspace: &Path) -> Result<Vec<String>> {
        let top = Folder::open(workspace).map_err(super::at(workspace))?;
        let rules = Rules::of(&top, b"", None);
        let entries = top.entries().map_err(super::at(workspace))?;
        let ignored = entries.into_iter().filter(|entry| {
            let name = entry.name.as_bytes();
            entry.kind == Kind::Folder && !is_git_name(name) && rules.ignore(name, true)
        });
        Ok(ignored.filter_map(|entry| entry.name.into_string().ok()).collect())
    }
}

struct Store<'git> {
    git: &'git git2::Repository,
}

impl Store<'_> {
    /// `None` when there is nothing to store.
    fn folder(
        &self,
        folder: &Folder,
        tracked: Option<&Tree<'_>>,
        above: Option<&Rules<'_>>,
        ignored: bool,
        path: &mut Vec<u8>,
    ) -> Result<Option<Oid>> {
        check_depth(path)?;
        let rules = Rules::of(folder, path, above);
        let mut builder = self.git.treebuilder(None)?;
        for entry in folder.entries().map_err(|error| at(path, error))? {
            let name = entry.name.as_bytes();
            if is_git_name(name) {
                continue;
            }
            let length = path.len();
            join(path, name);
            let known = tracked.and_then(|tree| tree.get_name_bytes(name));
            let ignored = ignored || rules.ignore(path, entry.kind == Kind::Folder);
            let known_tree = known.as_ref().filter(|known| known.kind() == Some(ObjectType::Tree));
            let known_blob = known.as_ref().filter(|known| known.kind() == Some(ObjectType::Blob));
            let stored = match entry.kind {
                Kind::Folder if ignored && known_tree.is_none() => None,
                Kind::Folder => {
                    let below = folder.enter(&entry.name).map_err(|error| at(path, error))?;
                    let tracked = known_tree.map(|known| self.git.find_tree(known.id())).transpose()?;
                    self.folder(&below, tracked.as_ref(), Some(&rules), ignored, path)?
                        .map(|id| (id, 0o040_000))
                }
                Kind::Other => None,
                Kind::File { .. } | Kind::Link if ignored && known_blob.is_none() => None,
                Kind::File { executable, bytes } => {
                    let id = self.file(folder, &entry, bytes, known_blob.map(TreeEntry::id));
                    Some((
                        id.map_err(|error| named(error, path))?,
                        if executable { 0o100_755 } else { 0o100_644 },
                    ))
                }
                Kind::Link => {
                    let target = folder.link_target(&entry.name).map_err(|error| at(path, error))?;
                    Some((self.blob(&target, known_blob.map(TreeEntry::id))?, 0o120_000))
                }
            };
            if let Some((id, mode)) = stored {
                builder.insert(&entry.name, id, mode)?;
            }
            path.truncate(length);
        }
        Ok(if builder.is_empty() { None } else { Some(builder.write()?) })
    }

    fn file(&self, folder: &Folder, entry: &Entry, bytes: u64, known: Option<Oid>) -> Result<Oid> {
        let mut file = folder.read(&entry.name).map_err(|error| at(b"", error))?;
        if bytes > IN_MEMORY_BYTES {
            let mut writer = self.git.blob_writer(None)?;
            io::copy(&mut file, &mut writer).map_err(|error| at(b"", error))?;
            return Ok(writer.commit()?);
        }
        let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
        file.read_to_end(&mut content).map_err(|error| at(b"", error))?;
        self.blob(&content, known)
    }

    fn blob(&self, content: &[u8], known: Option<Oid>) -> Result<Oid> {
        match known {
            Some(known) if Oid::hash_object(ObjectType::Blob, content)? == known => Ok(known),
            _ => Ok(self.git.blob(content)?),
        }
    }
}

pub(super) fn check_depth(path: &[u8]) -> Result<()> {
    if path.iter().filter(|byte| **byte == b'/').count() >= MAX_DEPTH {
        let start = String::from_utf8_lossy(&path[..path.len().min(200)]).into_owned();
        return Err(ProjectError::TooDeep(start));
    }
    Ok(())
}

pub(super) fn join(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

pub(super) fn at(path: &[u8], source: io::Error) -> ProjectError {
    ProjectError::Io { path: String::from_utf8_lossy(path).into_owned(), source }
}

fn named(error: ProjectError, path: &[u8]) -> ProjectError {
    match error {
        ProjectError::Io { source, .. } => at(path, source),
        other => other,
    }
}

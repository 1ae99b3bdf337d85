//! From a tree to a workspace. Files that already are as they should be are left alone, so that builds do not
//! start over.

use std::ffi::{CStr, CString};
use std::fs;
use std::path::Path;

use git2::{ObjectType, Oid, Tree, TreeEntry};
use nightforge_domain::CommitId;

use super::folder::{Folder, Kind};
use super::ignored::{Rules, is_git_name};
use super::snapshot::{at, check_depth, join};
use super::{ProjectError, Repository, Result, oid};

impl Repository {
    /// Writes the content of a commit into a folder that is empty or not there yet. As root, give the
    /// folder to the sandbox's user afterwards.
    pub fn checkout(&self, commit: &CommitId, into: &Path) -> Result<()> {
        fs::create_dir_all(into).map_err(super::at(into))?;
        if fs::read_dir(into).map_err(super::at(into))?.next().is_some() {
            return Err(ProjectError::NotEmpty(into.to_owned()));
        }
        self.restore(commit, into, None)
    }

    /// Puts a workspace back to a commit: its files as they were, and nothing else that is not ignored by
    /// the commit's own rules. With `path`, only that file or folder. What is ignored stays, except a
    /// `.git` outside of ignored folders.
    ///
    /// After the whole was put back, a snapshot with this commit as its base is the commit's tree.
    pub fn restore(&self, commit: &CommitId, into: &Path, path: Option<&str>) -> Result<()> {
        let git = self.git()?;
        let tree = git.find_commit(oid(commit)?)?.tree()?;
        let top = Folder::open(into).map_err(super::at(into))?;
        let restore = Restore { git: &git };
        let Some(path) = path.map(|path| path.trim_matches('/')).filter(|path| !matches!(*path, "" | "."))
        else {
            return restore.folder(&top, Some(&tree), None, false, &mut Vec::new());
        };
        let mut names = Vec::new();
        for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if name == ".." || is_git_name(name.as_bytes()) {
                return Err(ProjectError::NoSuchPath(path.to_owned()));
            }
            names.push(CString::new(name).map_err(|_| ProjectError::NoSuchPath(path.to_owned()))?);
        }
        if restore.one(&top, Some(&tree), None, false, &mut Vec::new(), &names)? {
            Ok(())
        } else {
            Err(ProjectError::NoSuchPath(path.to_owned()))
        }
    }
}

struct Restore<'git> {
    git: &'git git2::Repository,
}

impl Restore<'_> {
    fn folder(
        &self,
        folder: &Folder,
        tree: Option<&Tree<'_>>,
        above: Option<&Rules<'_>>,
        ignored: bool,
        path: &mut Vec<u8>,
    ) -> Result<()> {
        check_depth(path)?;
        for entry in
            tree.into_iter().flat_map(Tree::iter).filter(|entry| entry.kind() == Some(ObjectType::Blob))
        {
            self.file(folder, &entry, path)?;
        }
        self.forget_foreign_rules(folder, tree, above, ignored, path)?;
        let rules = Rules::of(folder, path, above);
        for entry in
            tree.into_iter().flat_map(Tree::iter).filter(|entry| entry.kind() == Some(ObjectType::Tree))
        {
            let name = name_of(&entry)?;
            let length = path.len();
            join(path, name.as_bytes());
            let below = make(folder, &name, path)?;
            let ignored = ignored || rules.ignore(path, true);
            self.folder(&below, Some(&self.git.find_tree(entry.id())?), Some(&rules), ignored, path)?;
            path.truncate(length);
        }
        for entry in folder.entries().map_err(|error| at(path, error))? {
            if tree.is_some_and(|tree| tree.get_name_bytes(entry.name.as_bytes()).is_some()) {
                continue;
            }
            let length = path.len();
            join(path, entry.name.as_bytes());
            self.foreign(folder, &entry.name, entry.kind, &rules, ignored, path)?;
            path.truncate(length);
        }
        Ok(())
    }

    /// A `.gitignore` that the commit does not have must not decide what stays.
    fn forget_foreign_rules(
        &self,
        folder: &Folder,
        tree: Option<&Tree<'_>>,
        above: Option<&Rules<'_>>,
        ignored: bool,
        path: &mut Vec<u8>,
    ) -> Result<()> {
        let name = c".gitignore";
        let length = path.len();
        join(path, name.to_bytes());
        let known = tree.is_some_and(|tree| tree.get_name_bytes(name.to_bytes()).is_some());
        let ignored = ignored || above.is_some_and(|above| above.ignore(path, false));
        if !known && !ignored {
            folder.remove(name).map_err(|error| at(path, error))?;
        }
        path.truncate(length);
        Ok(())
    }

    /// An entry that the commit does not have.
    fn foreign(
        &self,
        folder: &Folder,
        name: &CStr,
        kind: Kind,
        rules: &Rules<'_>,
        ignored: bool,
        path: &mut Vec<u8>,
    ) -> Result<()> {
        let is_folder = kind == Kind::Folder;
        let is_git = is_git_name(name.to_bytes());
        if ignored || (!is_git && rules.ignore(path, is_folder)) {
            return Ok(());
        }
        if is_git || !is_folder {
            return folder.remove(name).map_err(|error| at(path, error));
        }
        if check_depth(path).is_err() {
            // Nothing that deep is ignored by a rule that somebody meant.
            return folder.remove(name).map_err(|error| at(path, error));
        }
        let below = folder.enter(name).map_err(|error| at(path, error))?;
        self.folder(&below, None, Some(rules), false, path)?;
        if below.entries().map_err(|error| at(path, error))?.is_empty() {
            folder.remove_empty(name).map_err(|error| at(path, error))?;
        }
        Ok(())
    }

    /// Says whether there was such a path, in the commit or in the workspace.
    fn one(
        &self,
        folder: &Folder,
        tree: Option<&Tree<'_>>,
        above: Option<&Rules<'_>>,
        ignored: bool,
        path: &mut Vec<u8>,
        names: &[CString],
    ) -> Result<bool> {
        let Some((name, rest)) = names.split_first() else { return Ok(false) };
        let rules = Rules::of(folder, path, above);
        let length = path.len();
        join(path, name.as_bytes());
        let entry = tree.and_then(|tree| tree.get_name_bytes(name.as_bytes()));
        let there = folder.kind(name).map_err(|error| at(path, error))?;
        let is_folder = there == Some(Kind::Folder);
        let ignored_here = ignored || rules.ignore(path, is_folder);
        let subtree = match &entry {
            Some(entry) if entry.kind() == Some(ObjectType::Tree) => Some(self.git.find_tree(entry.id())?),
            Some(entry) if rest.is_empty() => {
                path.truncate(length);
                self.file(folder, entry, path)?;
                return Ok(true);
            }
            _ => None,
        };
        if !rest.is_empty() {
            let below = match (&subtree, is_folder) {
                (Some(_), _) => make(folder, name, path)?,
                (None, true) => folder.enter(name).map_err(|error| at(path, error))?,
                (None, false) => return Ok(false),
            };
            return self.one(&below, subtree.as_ref(), Some(&rules), ignored_here, path, rest);
        }
        if let Some(subtree) = &subtree {
            let below = make(folder, name, path)?;
            self.folder(&below, Some(subtree), Some(&rules), ignored_here, path)?;
        } else if let Some(kind) = there {
            self.foreign(folder, name, kind, &rules, ignored, path)?;
        }
        Ok(subtree.is_some() || there.is_some())
    }

    /// Writes a file or link, unless it is there as it should be.
    fn file(&self, folder: &Folder, entry: &TreeEntry<'_>, path: &[u8]) -> Result<()> {
        let name = name_of(entry)?;
        let failed = |error| {
            let mut path = path.to_vec();
            join(&mut path, name.as_bytes());
            at(&path, error)
        };
        let blob = self.git.find_blob(entry.id())?;
        let is_link = entry.filemode() == 0o120_000;
        let is_executable = entry.filemode() == 0o100_755;
        let there = folder.kind(&name).map_err(failed)?;
        let same = match there {
            Some(Kind::Link) if is_link => folder.link_target(&name).map_err(failed)? == blob.content(),
            Some(Kind::File { executable, bytes }) if !is_link => {
                executable == is_executable
                    && bytes == blob.size() as u64
                    && holds(folder, &name, blob.id()).map_err(failed)?
            }
            _ => false,
        };
        if same {
            return Ok(());
        }
        folder.remove(&name).map_err(failed)?;
        let written = if is_link {
            folder.link_new(&name, blob.content())
        } else {
            folder.write_new(&name, blob.content(), is_executable)
        };
        written.map_err(failed)
    }
}

fn holds(folder: &Folder, name: &CStr, id: Oid) -> std::io::Result<bool> {
    use std::io::Read;
    let mut content = Vec::new();
    folder.read(name)?.read_to_end(&mut content)?;
    Ok(Oid::hash_object(ObjectType::Blob, &content).is_ok_and(|found| found == id))
}

/// The folder of that name; what else has the name gives way.
fn make(folder: &Folder, name: &CStr, path: &[u8]) -> Result<Folder> {
    let there = folder.kind(name).map_err(|error| at(path, error))?;
    if !matches!(there, None | Some(Kind::Folder)) {
        folder.remove(name).map_err(|error| at(path, error))?;
    }
    folder.make(name).map_err(|error| at(path, error))
}

/// A name as git allows it. A tree that another program wrote may hold others, and `..` would lead out.
fn name_of(entry: &TreeEntry<'_>) -> Result<CString> {
    let name = entry.name_bytes();
    if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') || is_git_name(name) {
        return Err(ProjectError::NoSuchPath(String::from_utf8_lossy(name).into_owned()));
    }
    CString::new(name).map_err(|error| git2::Error::from_str(&error.to_string()).into())
}

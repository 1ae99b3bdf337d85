//! Looking at commits: log, changes, single files.

use git2::{Delta, DiffFormat, DiffOptions, ErrorCode, ObjectType, Sort, TreeWalkMode, TreeWalkResult};
use nightforge_domain::CommitId;

use super::{Repository, Result, TreeId, is_missing, oid};

/// One file that differs between two trees. A file that was moved is one removed and one added.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Inside the project; what is not UTF-8 is replaced.
    pub path: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Its length afterwards; 0 when it was removed.
    pub bytes: u64,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Was not there before.
    Added,
    /// Other content, mode or type.
    Modified,
    /// Is not there any more.
    Removed,
}

/// One line of `git log --oneline`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The first seven digits.
    pub short_id: String,
    /// The first line of the message.
    pub subject: String,
}

impl Repository {
    /// What changed from `before` to `after`, in the order of paths.
    pub fn changed_paths(&self, before: TreeId, after: TreeId) -> Result<Vec<Change>> {
        let git = self.git()?;
        let odb = git.odb()?;
        let diff =
            git.diff_tree_to_tree(Some(&git.find_tree(before.0)?), Some(&git.find_tree(after.0)?), None)?;
        let mut changes = Vec::new();
        for delta in diff.deltas() {
            let (kind, file) = match delta.status() {
                Delta::Added => (ChangeKind::Added, delta.new_file()),
                Delta::Deleted => (ChangeKind::Removed, delta.old_file()),
                _ => (ChangeKind::Modified, delta.new_file()),
            };
            let bytes = if kind == ChangeKind::Removed { 0 } else { odb.read_header(file.id())?.0 as u64 };
            let path = String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned();
            changes.push(Change { path, kind, bytes });
        }
        changes.sort();
        Ok(changes)
    }

    /// The difference as text, cut at the last whole line before `max_bytes`.
    pub fn diff_text(&self, before: TreeId, after: TreeId, max_bytes: usize) -> Result<String> {
        let git = self.git()?;
        let mut options = DiffOptions::new();
        // A file this large is reported as binary instead of being compared.
        options.max_size(1 << 20);
        let before = git.find_tree(before.0)?;
        let after = git.find_tree(after.0)?;
        let diff = git.diff_tree_to_tree(Some(&before), Some(&after), Some(&mut options))?;
        let mut text = String::new();
        let printed = diff.print(DiffFormat::Patch, |_, _, line| {
            let content = String::from_utf8_lossy(line.content());
            let origin = Some(line.origin()).filter(|origin| matches!(origin, '+' | '-' | ' '));
            if text.len() + content.len() + usize::from(origin.is_some()) > max_bytes {
                return false;
            }
            text.extend(origin);
            text.push_str(&content);
            true
        });
        match printed {
            Err(error) if error.code() != ErrorCode::User => Err(error.into()),
            _ => Ok(text),
        }
    }

    /// The content of a file in a commit; `None` when it has no such file. A symbolic link gives its target.
    pub fn file_at(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        let git = self.git()?;
        let tree = git.find_commit(oid(commit)?)?.tree()?;
        let entry = match tree.get_path(std::path::Path::new(path)) {
            Ok(entry) => entry,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match entry.to_object(&git)?.into_blob() {
            Ok(blob) => Ok(Some(blob.content().to_vec())),
            Err(_) => Ok(None),
        }
    }

    /// Paths of the files of a commit in the order of their names: the first `most`, and how many there are in all.
    ///
    /// # Errors
    /// When git fails.
    pub fn paths(&self, commit: &CommitId, most: usize) -> Result<(Vec<String>, usize)> {
        let git = self.git()?;
        let (mut paths, mut count) = (Vec::new(), 0);
        git.find_commit(oid(commit)?)?.tree()?.walk(TreeWalkMode::PreOrder, |folder, entry| {
            if entry.kind() != Some(ObjectType::Tree) {
                count += 1;
                if paths.len() < most {
                    let name = String::from_utf8_lossy(entry.name_bytes());
                    paths.push(format!("{folder}{name}"));
                }
            }
            TreeWalkResult::Ok
        })?;
        Ok((paths, count))
    }

    /// The newest `count` commits that lead to `commit`, newest first.
    pub fn log(&self, commit: &CommitId, count: usize) -> Result<Vec<LogEntry>> {
        let git = self.git()?;
        let mut walk = git.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        walk.push(oid(commit)?)?;
        let mut entries = Vec::new();
        for id in walk.take(count) {
            let id = id?;
            let commit = git.find_commit(id)?;
            let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
            entries.push(LogEntry {
                short_id: id.to_string().chars().take(7).collect(),
                subject: message.lines().next().unwrap_or_default().to_owned(),
            });
        }
        Ok(entries)
    }
}

//! Which untracked files do not count: `.gitignore` files, as git reads them. Rules from outside the project
//! (a user's own exclude file) play no part, so every machine sees the same files.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::folder::Folder;

/// Longer files of rules are read up to here.
const MAX_BYTES: u64 = 256 * 1024;

/// The rules of one folder, and of all above it.
pub(crate) struct Rules<'above> {
    above: Option<&'above Rules<'above>>,
    /// How many bytes of a path lead to the folder.
    prefix: usize,
    own: Option<Gitignore>,
}

impl<'above> Rules<'above> {
    /// Reads the `.gitignore` of a folder. One that is a link or not a file does not count, as with git.
    /// `path` is the folder's own, relative to the workspace: empty, or without a slash at its end.
    pub(crate) fn of(folder: &Folder, path: &[u8], above: Option<&'above Rules<'above>>) -> Self {
        let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
        Self { above, prefix, own: read(folder) }
    }

    /// Whether an untracked entry does not count. The deepest rule that says anything decides.
    pub(crate) fn ignore(&self, path: &[u8], is_folder: bool) -> bool {
        let relative = Path::new(std::ffi::OsStr::from_bytes(&path[self.prefix..]));
        match self.own.as_ref().map_or(Match::None, |rules| rules.matched(relative, is_folder)) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.above.is_some_and(|above| above.ignore(path, is_folder)),
        }
    }
}

fn read(folder: &Folder) -> Option<Gitignore> {
    let mut bytes = Vec::new();
    folder.read(c".gitignore").ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A pattern that is none is skipped, as git does.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// A name that git keeps for itself. A nested repository's files are files like any other; its `.git` is not
/// taken over. libgit2 refuses the other spellings too, for the sake of other file systems.
pub(crate) fn is_git_name(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
}

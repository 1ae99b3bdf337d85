//! What a workspace must not hold when it is recorded: so much that recording it would fill the disk, or a
//! repository of its own. Looked at without opening a file, so nothing that lies there can make the harness wait.

use std::path::Path;

use crate::project::MAX_DEPTH;
use crate::project::folder::{Folder, Kind};
use crate::project::ignored::{Rules, is_git_name};

/// All files that are not ignored, together.
const MAX_BYTES: u64 = 200 * 1024 * 1024;

/// Files that are not ignored.
const MAX_FILES: usize = 20_000;

/// What lies in a workspace, ignored files and folders left out.
#[derive(Debug, Default)]
pub(crate) struct Burden {
    files: usize,
    bytes: u64,
    /// The first `.git` that was found.
    nested: Option<String>,
}

impl Burden {
    /// Looks at a workspace; stops as soon as it is too much. Blocks.
    ///
    /// # Errors
    /// When the disk fails.
    pub(crate) fn of(workspace: &Path) -> std::io::Result<Self> {
        let mut burden = Self::default();
        burden.add(&Folder::open(workspace)?, None, &mut Vec::new(), 0)?;
        Ok(burden)
    }

    /// Why these files can't be recorded, in words for the agent.
    pub(crate) fn excess(&self) -> Option<String> {
        if self.files > MAX_FILES {
            Some(format!("more than {MAX_FILES} files; put what is made at run time into .gitignore"))
        } else if self.bytes > MAX_BYTES {
            Some(format!(
                "files of more than {} MB in all; put what is made at run time into .gitignore",
                MAX_BYTES >> 20
            ))
        } else {
            None
        }
    }

    /// Where a repository lies inside the project.
    pub(crate) fn nested_repository(&self) -> Option<&str> {
        self.nested.as_deref()
    }

    fn add(
        &mut self,
        folder: &Folder,
        above: Option<&Rules<'_>>,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> std::io::Result<()> {
        let rules = Rules::of(folder, path, above);
        for entry in folder.entries()? {
            if self.excess().is_some() {
                return Ok(());
            }
            let length = path.len();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(entry.name.as_bytes());
            if is_git_name(entry.name.as_bytes()) {
                self.nested.get_or_insert_with(|| String::from_utf8_lossy(path).into_owned());
            } else if !rules.ignore(path, entry.kind == Kind::Folder) {
                match entry.kind {
                    // Deeper ones are refused when they are recorded.
                    Kind::Folder if depth < MAX_DEPTH => {
                        self.files += 1;
                        self.add(&folder.enter(&entry.name)?, Some(&rules), path, depth + 1)?;
                    }
                    Kind::File { bytes, .. } => {
                        self.files += 1;
                        self.bytes += bytes;
                    }
                    Kind::Folder | Kind::Link | Kind::Other => self.files += 1,
                }
            }
            path.truncate(length);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(write: impl Fn(&Path)) -> Burden {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        Burden::of(folder.path()).unwrap()
    }

    fn sparse(path: &Path, bytes: u64) {
        std::fs::File::create(path).unwrap().set_len(bytes).unwrap();
    }

    #[test]
    fn an_ordinary_project_is_light() {
        let burden = folder(|at| std::fs::write(at.join("app.py"), "x = 1\n").unwrap());
        assert_eq!((burden.excess(), burden.nested_repository()), (None, None));
    }

    #[test]
    fn large_files_are_counted_without_being_read() {
        let burden = folder(|at| {
            sparse(&at.join("a"), 150 << 20);
            sparse(&at.join("b"), 150 << 20);
        });
        assert!(burden.excess().unwrap().contains("200 MB"));
    }

    #[test]
    fn ignored_files_do_not_count() {
        let burden = folder(|at| {
            std::fs::write(at.join(".gitignore"), "*.db\nnode_modules/\n").unwrap();
            sparse(&at.join("a.db"), 300 << 20);
            std::fs::create_dir_all(at.join("node_modules/left-pad/.git")).unwrap();
        });
        assert_eq!((burden.excess(), burden.nested_repository()), (None, None));
    }

    #[test]
    fn a_nested_repository_is_named() {
        let burden = folder(|at| std::fs::create_dir_all(at.join("lib/.git")).unwrap());
        assert_eq!(burden.nested_repository(), Some("lib/.git"));
        let file = folder(|at| std::fs::write(at.join(".git"), "gitdir: /elsewhere").unwrap());
        assert_eq!(file.nested_repository(), Some(".git"));
    }

    #[test]
    fn a_fifo_in_the_place_of_the_rules_keeps_nobody_waiting() {
        let burden = folder(|at| {
            rustix::fs::mkfifoat(
                rustix::fs::CWD,
                at.join(".gitignore"),
                rustix::fs::Mode::from_raw_mode(0o644),
            )
            .unwrap();
        });
        assert_eq!(burden.excess(), None);
    }
}

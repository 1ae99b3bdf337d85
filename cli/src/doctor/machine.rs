//! This machine: data folder, disk, sandbox, git.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nightforge_worker::sandbox::Sandbox;

use super::{Finding, Verdict};
use crate::data_folder;

/// With less room than this, a night's work may not fit: repositories, workspaces, caches of package managers.
const LITTLE_ROOM_GIB: u64 = 5;

/// With less room than this, not even the database can be trusted to grow.
const NO_ROOM_GIB: u64 = 1;

pub(super) fn data_folder(data: &Path) -> Finding {
    let found = |verdict, message: String| Finding::new("data folder", verdict, message);
    if let Err(refusal) = data_folder::check_name(data) {
        return found(Verdict::Wrong, refusal.message);
    }
    let shown = data.display();
    let Some(there) = nearest(data) else {
        return found(
            Verdict::Wrong,
            format!("{shown}: no part of this path exists; name another with --data"),
        );
    };
    if !there.is_dir() {
        return found(Verdict::Wrong, format!("{} is a file; name a folder with --data", there.display()));
    }
    if let Err(error) = try_to_write(&there) {
        return found(
            Verdict::Wrong,
            format!(
                "{} can't be written to: {error}; name another with --data, or make it yours",
                there.display()
            ),
        );
    }
    if data.exists() {
        found(Verdict::Ok, format!("{shown}"))
    } else {
        found(Verdict::Ok, format!("{shown}, made at the first start"))
    }
}

/// Makes a file and removes it: some file systems take nothing, whatever the permissions say.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".nightforge-doctor-{}", std::process::id()));
    fs::File::create_new(&file)?;
    fs::remove_file(&file)
}

pub(super) fn disk(data: &Path) -> Finding {
    let found = |verdict, message: String| Finding::new("disk", verdict, message);
    let Some(there) = nearest(data) else {
        return found(Verdict::Wrong, format!("{} is on no file system", data.display()));
    };
    let statistics = match rustix::fs::statvfs(&there) {
        Ok(statistics) => statistics,
        Err(error) => {
            return found(Verdict::Warning, format!("the room can't be told: {}", io::Error::from(error)));
        }
    };
    let gib = statistics.f_bavail.saturating_mul(statistics.f_frsize) >> 30;
    let room = format!("{gib} GiB free for {}", data.display());
    match gib {
        gib if gib < NO_ROOM_GIB => found(Verdict::Wrong, format!("{room}; make room")),
        gib if gib < LITTLE_ROOM_GIB => {
            found(Verdict::Warning, format!("{room}; a night of builds may need more than {LITTLE_ROOM_GIB}"))
        }
        _ => found(Verdict::Ok, room),
    }
}

pub(super) async fn sandbox() -> Finding {
    let found = |verdict, message: String| Finding::new("sandbox", verdict, message);
    match tokio::task::spawn_blocking(Sandbox::detect).await {
        Ok(Ok(_)) => found(Verdict::Ok, "commands of agents run in bubblewrap".to_owned()),
        Ok(Err(missing)) => found(Verdict::Wrong, format!("{missing}; builds run in a sandbox only")),
        Err(error) => found(Verdict::Wrong, format!("it could not be looked for: {error}")),
    }
}

/// Repositories are written by a library; people clone them with the program.
pub(super) fn git() -> Finding {
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()) {
        Some(git) => Finding::new("git", Verdict::Ok, format!("{}", git.display())),
        None => Finding::new(
            "git",
            Verdict::Warning,
            "no git in PATH; builds do not need it, but you will to clone their repositories: install git",
        ),
    }
}

/// The folder itself, or the nearest one above it that exists.
fn nearest(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.ancestors().find(|part| part.exists()).map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_there_or_can_be_made_is_fine_and_a_file_is_not() {
        let parent = tempfile::tempdir().unwrap();
        assert_eq!(data_folder(parent.path()).verdict, Verdict::Ok);
        let later = data_folder(&parent.path().join("a/b"));
        assert_eq!(later.verdict, Verdict::Ok);
        assert!(later.message.ends_with("a/b, made at the first start"), "{}", later.message);
        let file = parent.path().join("file");
        std::fs::write(&file, "mine").unwrap();
        for path in [file.clone(), file.join("below")] {
            let finding = data_folder(&path);
            assert_eq!(finding.verdict, Verdict::Wrong, "{finding:?}");
            assert!(finding.message.contains("--data"), "{finding:?}");
        }
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing but that file is there");
        // Root may write anywhere, and these take nothing.
        for path in ["/proc/x", "/sys"] {
            let finding = data_folder(Path::new(path));
            assert_eq!(finding.verdict, Verdict::Wrong, "{finding:?}");
            assert!(finding.message.contains("can't be written to"), "{finding:?}");
        }
        assert_eq!(data_folder(Path::new("")).verdict, Verdict::Wrong);
    }

    #[test]
    fn the_room_is_that_of_the_file_system_that_the_folder_will_be_on() {
        let parent = tempfile::tempdir().unwrap();
        let finding = disk(&parent.path().join("not/there"));
        assert!(finding.message.contains("GiB free for"), "{finding:?}");
    }
}

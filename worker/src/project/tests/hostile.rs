//! What an agent can leave in a workspace, and what a kill can leave in a repository.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::super::{ProjectError, Repository, remove_folder};
use super::Place;

#[test]
fn pipes_sockets_and_devices_are_neither_opened_nor_kept() {
    let place = Place::new();
    place.write("a", "1");
    let commit = place.commit("base", &[]);
    let mode = Mode::from_raw_mode(0o666);
    for name in ["fifo", ".gitignore", "d/.gitignore"] {
        fs::create_dir_all(place.workspace.join("d")).unwrap();
        mknodat(CWD, place.workspace.join(name), FileType::Fifo, mode, 0).unwrap();
    }
    let _socket = UnixListener::bind(place.workspace.join("socket")).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let zero = rustix::fs::makedev(1, 5);
        mknodat(CWD, place.workspace.join("zero"), FileType::CharacterDevice, mode, zero).unwrap();
    }
    // Would never return if one of them was opened.
    assert_eq!(place.snapshot(Some(&commit)), place.repository.tree_of(&commit).unwrap());
    fs::remove_file(place.workspace.join("a")).unwrap();
    mknodat(CWD, place.workspace.join("a"), FileType::Fifo, mode, 0).unwrap();
    place.repository.restore(&commit, &place.workspace, None).unwrap();
    assert_eq!(place.text("a"), "1");
    assert_eq!(fs::read_dir(&place.workspace).unwrap().count(), 1);
}

#[test]
fn nothing_is_read_or_written_through_a_link() {
    let place = Place::new();
    place.write("dir/file", "ours");
    place.write("top", "ours");
    let commit = place.commit("base", &[]);
    let outside = place.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "theirs").unwrap();
    fs::write(outside.join("other"), "theirs").unwrap();
    fs::remove_dir_all(place.workspace.join("dir")).unwrap();
    fs::remove_file(place.workspace.join("top")).unwrap();
    symlink(&outside, place.workspace.join("dir")).unwrap();
    symlink(outside.join("file"), place.workspace.join("top")).unwrap();

    let tree = place.snapshot(Some(&commit));
    let kept =
        place.repository.commit(tree, &[], "links", nightforge_domain::Millis(0), "refs/x/links").unwrap();
    let target = outside.display().to_string().into_bytes();
    assert_eq!(place.repository.file_at(&kept, "dir").unwrap(), Some(target));
    assert_eq!(place.repository.file_at(&kept, "dir/other").unwrap(), None);

    for path in [Some("dir/file"), Some("top"), None] {
        place.repository.restore(&commit, &place.workspace, path).unwrap();
    }
    assert_eq!(place.text("dir/file"), "ours");
    assert_eq!(place.text("top"), "ours");
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "theirs");
    assert!(outside.join("other").exists());
}

#[test]
fn attributes_and_nested_repositories_are_data() {
    let place = Place::new();
    let trap = place.folder.path().join("trap");
    place.write(
        ".gitattributes",
        "* text eol=crlf filter=evil diff=evil\n*.txt working-tree-encoding=UTF-16\n",
    );
    place.write("a.txt", "one\r\ntwo\n");
    let evil = format!(
        "[filter \"evil\"]\n clean = touch {0}\n smudge = touch {0}\n required\n[core]\n fsmonitor = touch {0}\n",
        trap.display()
    );
    place.write(".git/config", &evil);
    place.write("lib/.git/config", &evil);
    place.write("lib/.git/hooks/post-checkout", format!("touch {}", trap.display()));
    place.write("lib/.GIT/x", "x");
    place.write("lib/GIT~1", "x");
    place.write("lib/code.py", "x");
    place.write("gitfile/.git", "gitdir: /etc");
    let commit = place.commit("base", &[]);
    assert_eq!(place.repository.file_at(&commit, "a.txt").unwrap().unwrap(), b"one\r\ntwo\n");
    let copy = place.folder.path().join("copy");
    place.repository.checkout(&commit, &copy).unwrap();
    let names: Vec<_> =
        Place::listing(&copy).into_iter().map(|(path, ..)| path.display().to_string()).collect();
    assert_eq!(names, [".gitattributes", "a.txt", "lib/code.py"]);
    assert_eq!(fs::read(copy.join("a.txt")).unwrap(), b"one\r\ntwo\n");
    assert!(!trap.exists());
}

#[test]
fn folders_without_end_are_refused_and_can_be_removed() {
    let place = Place::new();
    place.write("a", "1");
    let commit = place.commit("base", &[]);
    // Deeper than a path can be written, so it is made from inside.
    let mut folder =
        rustix::fs::open(&place.workspace, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..2000 {
        rustix::fs::mkdirat(&folder, "n", Mode::from_raw_mode(0o755)).unwrap();
        folder = rustix::fs::openat(&folder, "n", rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    drop(folder);
    let error = place.repository.snapshot(&place.workspace, Some(&commit)).unwrap_err();
    assert!(matches!(error, ProjectError::TooDeep(_)), "{error}");
    rustix::fs::mkdirat(CWD, place.workspace.join("kept"), Mode::from_raw_mode(0o755)).unwrap();
    fs::rename(place.workspace.join("n"), place.workspace.join("kept/n")).unwrap();
    place.repository.restore(&commit, &place.workspace, None).unwrap();
    assert!(!place.has("kept"));
    remove_folder(&place.workspace).unwrap();
    remove_folder(&place.workspace).unwrap();
    assert!(!place.workspace.exists());
}

#[test]
fn rights_that_an_agent_took_away_do_not_stop_the_harness() {
    let place = Place::new();
    place.write("locked/in/file", "1");
    place.write("file", "1");
    let commit = place.commit("base", &[]);
    place.write("locked/in/new", "x");
    for path in ["locked/in/new", "locked/in", "locked", "file"] {
        fs::set_permissions(place.workspace.join(path), Permissions::from_mode(0o000)).unwrap();
    }
    assert_ne!(place.snapshot(Some(&commit)), place.repository.tree_of(&commit).unwrap());
    place.repository.restore(&commit, &place.workspace, None).unwrap();
    assert_eq!(place.snapshot(Some(&commit)), place.repository.tree_of(&commit).unwrap());
    assert!(!place.has("locked/in/new"));
}

#[test]
fn restored_files_belong_to_the_owner_of_the_workspace() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    place.write("dir/file", "1");
    symlink("x", place.workspace.join("link")).unwrap();
    let commit = place.commit("base", &[]);
    let copy = place.folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    chown(&copy, Some(61_000), Some(61_000)).unwrap();
    place.repository.restore(&commit, &copy, None).unwrap();
    for path in ["dir", "dir/file", "link"] {
        assert_eq!(fs::symlink_metadata(copy.join(path)).unwrap().uid(), 61_000, "{path}");
    }
}

#[test]
fn locks_of_a_killed_process_are_removed() {
    let place = Place::new();
    place.write("a", "1");
    let commit = place.commit("base", &[]);
    place.repository.move_branch(None, &commit).unwrap();
    let path = place.repository.path().to_owned();
    for lock in ["refs/heads/main.lock", "index.lock", "HEAD.lock", "refs/nightforge/test.lock"] {
        fs::write(path.join(lock), "").unwrap();
    }
    place.write("a", "2");
    let next = place.commit_locked();
    assert!(next.is_err(), "a lock must hold");
    let mut removed = place.repository.clear_stale_locks().unwrap();
    removed.sort();
    assert_eq!(removed.len(), 4, "{removed:?}");
    let next = place.commit_locked().unwrap();
    assert!(place.repository.move_branch(Some(&commit), &next).unwrap());
    assert!(place.repository.clear_stale_locks().unwrap().is_empty());
}

impl Place {
    fn commit_locked(&self) -> super::super::Result<nightforge_domain::CommitId> {
        let tree = self.snapshot(None);
        self.repository.commit(tree, &[], "next", nightforge_domain::Millis(0), "refs/nightforge/test")
    }
}

#[test]
fn a_repository_that_was_half_made_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("task.git");
    fs::create_dir(folder.path().join("task.git.partial")).unwrap();
    fs::write(folder.path().join("task.git.partial/HEAD"), "").unwrap();
    let repository = Repository::create(&path).unwrap();
    assert_eq!(repository.branch().unwrap(), None);
    assert!(!path.join("hooks").read_dir().is_ok_and(|hooks| hooks.count() > 0));
    assert!(!folder.path().join("task.git.partial").exists());
    assert_eq!(fs::read_to_string(path.join("HEAD")).unwrap(), "ref: refs/heads/main\n");
    assert!(Repository::open(&folder.path().join("none")).is_err());
}

//! What goes in comes out.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

use nightforge_domain::Millis;
use proptest::prelude::*;

use super::super::{ChangeKind, ProjectError, Repository};
use super::Place;

#[test]
fn a_commit_comes_out_as_it_went_in() {
    let place = Place::new();
    place.write("README.md", "text\r\nwith both\n line ends");
    place.write("empty", "");
    place.write("deep/er/file.bin", [0, 159, 146, 150, 13, 10]);
    place.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(place.workspace.join("run.sh"), Permissions::from_mode(0o755)).unwrap();
    symlink("deep/er", place.workspace.join("link")).unwrap();
    symlink("/etc/passwd", place.workspace.join("out")).unwrap();
    symlink("loop", place.workspace.join("loop")).unwrap();
    fs::write(place.workspace.join(OsStr::from_bytes(b"latin-\xe9")), "x").unwrap();
    fs::create_dir(place.workspace.join("nothing in it")).unwrap();
    let commit = place.commit("first", &[]);

    let copy = place.folder.path().join("copy");
    place.repository.checkout(&commit, &copy).unwrap();
    assert_eq!(Place::listing(&copy), Place::listing(&place.workspace));
    assert_eq!(place.repository.snapshot(&copy, None).unwrap(), place.repository.tree_of(&commit).unwrap());
    assert!(matches!(place.repository.checkout(&commit, &copy), Err(ProjectError::NotEmpty(_))));
}

#[test]
fn the_same_arguments_give_the_same_commit() {
    let place = Place::new();
    place.write("a", "1");
    let first = place.commit("message", &[]);
    assert_eq!(first, place.commit("message", &[]));
    assert!(place.repository.has(&first).unwrap());
    assert!(!place.repository.has(&"0123456789012345678901234567890123456789".parse().unwrap()).unwrap());
    assert_ne!(first, place.commit("other", &[]));
    let reopened = Repository::create(place.repository.path()).unwrap();
    assert_eq!(reopened.file_at(&first, "a").unwrap().unwrap(), b"1");
    assert_eq!(reopened.file_at(&first, "b").unwrap(), None);
    assert!(reopened.commit(reopened.tree_of(&first).unwrap(), &[], "m", Millis(-1), "refs/x/y").is_ok());
}

#[test]
fn ignored_files_stay_out_unless_they_are_tracked() {
    let place = Place::new();
    place.write("kept.log", "tracked before the rule");
    let base = place.commit("base", &[]);
    place.write(".gitignore", "*.log\n/build/\n!important.log\nnode_modules\n");
    place.write("sub/.gitignore", "secret\n!noise.log\n");
    for path in ["new.log", "important.log", "build/x", "sub/build/x", "sub/secret", "sub/noise.log"] {
        place.write(path, path);
    }
    place.write("sub/node_modules/m/index.js", "x");
    let commit = place.commit("rules", &[base]);
    let copy = place.folder.path().join("copy");
    place.repository.checkout(&commit, &copy).unwrap();
    let names: Vec<_> =
        Place::listing(&copy).into_iter().map(|(path, ..)| path.display().to_string()).collect();
    let expected =
        [".gitignore", "important.log", "kept.log", "sub/.gitignore", "sub/build/x", "sub/noise.log"];
    assert_eq!(names, expected);
}

#[test]
fn an_ignore_rule_can_not_hide_what_is_tracked() {
    let place = Place::new();
    place.write("src/main.py", "1");
    let base = place.commit("base", &[]);
    place.write(".gitignore", "*\n");
    place.write("src/main.py", "2");
    let tree = place.snapshot(Some(&base));
    let changes = place.repository.changed_paths(place.repository.tree_of(&base).unwrap(), tree).unwrap();
    let changes: Vec<_> = changes.into_iter().map(|change| (change.path, change.kind)).collect();
    assert_eq!(changes, [("src/main.py".to_owned(), ChangeKind::Modified)]);
}

#[test]
fn ignored_folders_are_named() {
    let place = Place::new();
    place.write(".gitignore", "node_modules/\n/venv\n*.log\n");
    for path in ["node_modules/x", "venv/x", "src/node_modules/x", "x.log", ".git/x"] {
        place.write(path, "x");
    }
    symlink("/", place.workspace.join("link.log")).unwrap();
    assert_eq!(place.repository.ignored_folders(&place.workspace).unwrap(), ["node_modules", "venv"]);
}

#[test]
fn restoring_brings_everything_back() {
    let place = Place::new();
    place.write(".gitignore", "cache/\n");
    place.write("a", "1");
    place.write("dir/b", "2");
    symlink("a", place.workspace.join("link")).unwrap();
    let commit = place.commit("base", &[]);
    let before = Place::listing(&place.workspace);
    let untouched = fs::metadata(place.workspace.join("dir/b")).unwrap().mtime_nsec();

    place.write("cache/big", "stays");
    place.write("cache/.git/config", "stays too");
    place.write("a", "changed");
    place.write("new/deep/file", "x");
    place.write(".gitignore", "*\n");
    place.write("new/.gitignore", "!file\n");
    place.write(".git/hooks/pre-commit", "evil");
    fs::remove_file(place.workspace.join("link")).unwrap();
    fs::create_dir(place.workspace.join("link")).unwrap();
    place.write("link/inside", "x");
    place.repository.restore(&commit, &place.workspace, None).unwrap();

    assert_eq!(place.text("cache/big"), "stays");
    assert!(place.has("cache/.git/config") && !place.has(".git") && !place.has("new"));
    fs::remove_dir_all(place.workspace.join("cache")).unwrap();
    assert_eq!(Place::listing(&place.workspace), before);
    let now = fs::metadata(place.workspace.join("dir/b")).unwrap().mtime_nsec();
    assert_eq!(untouched, now, "what was right is left alone");
    assert_eq!(place.snapshot(Some(&commit)), place.repository.tree_of(&commit).unwrap());
}

#[test]
fn one_path_can_be_restored() {
    let place = Place::new();
    place.write("a", "1");
    place.write("dir/b", "2");
    place.write("dir/c", "3");
    let commit = place.commit("base", &[]);
    let restore = |path: &str| place.repository.restore(&commit, &place.workspace, Some(path));
    place.write("a", "x");
    place.write("dir/b", "x");
    place.write("dir/new", "x");
    restore("dir/b").unwrap();
    assert_eq!((place.text("a"), place.text("dir/b"), place.has("dir/new")), ("x".into(), "2".into(), true));
    restore("./dir/").unwrap();
    assert!(!place.has("dir/new"));
    place.write("other/new", "x");
    restore("other/new").unwrap();
    assert!(!place.has("other/new"));
    fs::remove_dir_all(place.workspace.join("dir")).unwrap();
    place.write("dir", "a file now");
    restore("dir/c").unwrap();
    assert_eq!(place.text("dir/c"), "3");
    for wrong in ["nowhere", "../a", "a/../a", ".git", "dir/../../a", "a/b/c"] {
        assert!(matches!(restore(wrong), Err(ProjectError::NoSuchPath(_))), "{wrong}");
    }
    restore("").unwrap();
    assert_eq!(place.text("a"), "1");
}

#[test]
fn the_branch_moves_by_compare_and_swap() {
    let place = Place::new();
    let repository = &place.repository;
    place.write("a", "1");
    let one = place.commit("one", &[]);
    place.write("a", "2");
    let two = place.commit("two", std::slice::from_ref(&one));
    assert_eq!(repository.branch().unwrap(), None);
    assert!(!repository.move_branch(Some(&one), &two).unwrap(), "there is none yet");
    assert!(repository.move_branch(None, &one).unwrap());
    assert!(!repository.move_branch(None, &two).unwrap(), "there is one already");
    assert!(!repository.move_branch(Some(&two), &one).unwrap(), "it stands elsewhere");
    assert!(repository.move_branch(Some(&one), &two).unwrap());
    assert_eq!(repository.branch().unwrap(), Some(two.clone()));
    let nothing = "0123456789012345678901234567890123456789".parse().unwrap();
    assert!(repository.move_branch(Some(&two), &nothing).is_err());
    let log = repository.log(&two, 10).unwrap();
    assert_eq!(log.iter().map(|entry| entry.subject.as_str()).collect::<Vec<_>>(), ["two", "one"]);
    assert_eq!(log[0].short_id, two.as_str()[..7]);
    assert_eq!(repository.log(&two, 1).unwrap().len(), 1);

    repository.set_ref("refs/nightforge/7/1", &one).unwrap();
    repository.set_ref("refs/nightforge/7/2", &two).unwrap();
    let side = repository.refs("refs/nightforge/7/").unwrap();
    assert_eq!(
        side,
        [("refs/nightforge/7/1".to_owned(), one.clone()), ("refs/nightforge/7/2".to_owned(), two)]
    );
    repository.delete_ref("refs/nightforge/7/1").unwrap();
    repository.delete_ref("refs/nightforge/7/1").unwrap();
    assert_eq!(repository.refs("refs/nightforge/7/").unwrap().len(), 1);
}

#[test]
fn differences_are_named_and_shown() {
    let place = Place::new();
    place.write("gone", "1\n");
    place.write("same", "1\n");
    place.write("text", "one\ntwo\n");
    let before = place.snapshot(None);
    fs::remove_file(place.workspace.join("gone")).unwrap();
    place.write("text", "one\n2\n");
    place.write("new", vec![b'x'; 6_000_000]);
    let after = place.snapshot(None);
    let changes: Vec<_> = place
        .repository
        .changed_paths(before, after)
        .unwrap()
        .into_iter()
        .map(|c| (c.path, c.kind, c.bytes))
        .collect();
    assert_eq!(
        changes,
        [
            ("gone".to_owned(), ChangeKind::Removed, 0),
            ("new".to_owned(), ChangeKind::Added, 6_000_000),
            ("text".to_owned(), ChangeKind::Modified, 6),
        ]
    );
    let text = place.repository.diff_text(before, after, 100_000).unwrap();
    assert!(text.contains("-two\n+2\n"), "{text}");
    let cut = place.repository.diff_text(before, after, 200).unwrap();
    assert!(cut.len() <= 200 && text.starts_with(&cut) && !cut.is_empty());
    assert_eq!(place.repository.diff_text(after, after, 100).unwrap(), "");
}

#[test]
fn thousands_of_files_are_no_burden_for_a_checkpoint() {
    let place = Place::new();
    for folder in 0..40 {
        for file in 0..100 {
            place.write(&format!("d{folder}/f{file}.txt"), format!("{folder} {file}\n").repeat(20));
        }
    }
    let commit = place.commit("many", &[]);
    place.write("d7/f7.txt", "changed");
    let start = Instant::now();
    let tree = place.snapshot(Some(&commit));
    let time = start.elapsed();
    assert!(time < Duration::from_secs(5), "a checkpoint took {time:?}");
    assert_eq!(
        place.repository.changed_paths(place.repository.tree_of(&commit).unwrap(), tree).unwrap().len(),
        1
    );
}

#[test]
fn a_file_that_goes_through_a_stream() {
    let place = Place::new();
    place.write("large", vec![b'l'; 40 << 20]);
    let commit = place.commit("large", &[]);
    let copy = place.folder.path().join("copy");
    place.repository.checkout(&commit, &copy).unwrap();
    assert_eq!(fs::metadata(copy.join("large")).unwrap().len(), 40 << 20);
}

/// A workspace as a list of small acts.
fn acts() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    prop::collection::vec((0..6_u8, 0..12_u8, 0..4_u8), 0..25)
}

fn act(place: &Place, acts: &[(u8, u8, u8)]) {
    let names = [
        "a",
        "b",
        "d/a",
        "d/b",
        "d/e/a",
        "e",
        "d",
        "build/x",
        "x.log",
        "d/x.log",
        ".gitignore",
        "d/.gitignore",
    ];
    for (what, name, content) in acts {
        let path = place.workspace.join(names[usize::from(*name)]);
        // Some acts can't be done on what others left; then they do nothing.
        let _ = fs::create_dir_all(path.parent().unwrap());
        let content = ["*.log\n", "build/\n*.log\n", "d\n", "*\n!d/\n"][usize::from(*content)];
        let _ = match what {
            0..=2 => fs::write(&path, content),
            3 => fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)),
            4 => symlink("a", &path),
            _ => fs::set_permissions(&path, Permissions::from_mode(0o755)),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_an_agent_did_can_be_undone(first in acts(), second in acts()) {
        let place = Place::new();
        act(&place, &first);
        let commit = place.commit("base", &[]);
        act(&place, &second);
        place.repository.restore(&commit, &place.workspace, None).unwrap();
        prop_assert_eq!(place.snapshot(Some(&commit)), place.repository.tree_of(&commit).unwrap());
        prop_assert_eq!(place.snapshot(None), {
            // Without a base, tracked files that are ignored are missing and nothing else differs.
            let copy = place.folder.path().join("copy");
            place.repository.checkout(&commit, &copy).unwrap();
            place.repository.snapshot(&copy, None).unwrap()
        });
    }
}

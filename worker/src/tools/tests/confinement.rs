//! No tool leaves the workspace.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use super::super::{Files, edit_file, list_files, read_file, search_text, write_file};
use super::{Place, fifo, told};

#[test]
fn paths_that_lead_out_are_refused_by_every_tool() {
    let place = Place::new();
    symlink(place.folder.path(), place.path("up")).unwrap();
    symlink("../secret", place.path("link")).unwrap();
    symlink("/etc/passwd", place.path("passwd")).unwrap();
    symlink("/proc/self/root", place.path("magic")).unwrap();
    place.put("sub/x", "x");
    let secret = place.folder.path().join("secret").display().to_string();
    let absolute = place.path("sub/x").display().to_string();
    let ways = [
        "../secret",
        "sub/../../secret",
        "sub/../x",
        &secret,
        &absolute,
        "/etc/passwd",
        "~/x",
        "up/secret",
        "link",
        "passwd",
        "magic/etc/passwd",
        "/project/../secret",
        "/projects/x",
        "a\0b",
    ];
    for path in ways {
        told(read_file(&place.files, path, None, None));
        told(search_text(&place.files, "e", Some(path)));
        told(list_files(&place.files, path, None));
        told(write_file(&place.files, path, "changed"));
        told(edit_file(&place.files, path, "the", "a"));
    }
    assert_eq!(place.secret(), "the secret");
    assert_eq!(place.text("sub/x"), "x");
    let names: Vec<_> =
        fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn links_that_stay_inside_can_be_read_and_not_written() {
    let place = Place::new();
    place.put("tests/test_f001.py", "x = 1\n");
    place.put("real/file", "x = 1\n");
    symlink("tests", place.path("t")).unwrap();
    symlink("feature_list.json", place.path("list")).unwrap();
    symlink("real/file", place.path("short")).unwrap();
    assert!(read_file(&place.files, "short", None, None).unwrap().contains("x = 1"));
    assert!(read_file(&place.files, "t/test_f001.py", None, None).unwrap().contains("x = 1"));
    assert!(told(write_file(&place.files, "t/test_f001.py", "x")).contains("symbolic link"));
    assert!(told(edit_file(&place.files, "t/test_f001.py", "1", "2")).contains("symbolic link"));
    assert!(told(write_file(&place.files, "list", "x")).contains("symbolic link"));
    assert_eq!(place.text("tests/test_f001.py"), "x = 1\n");
}

#[test]
fn what_the_harness_keeps_can_be_read_and_not_written() {
    let place = Place::new();
    for path in ["feature_list.json", "progress.txt", "tests/test_f001.py", "kept/deep/file"] {
        place.put(path, "1\n");
        for spelled in [path.to_owned(), format!("./{path}"), format!("/project//{path}"), format!("{path}/")]
        {
            assert!(told(write_file(&place.files, &spelled, "2")).contains("harness"), "{spelled}");
            assert!(told(edit_file(&place.files, &spelled, "1", "2")).contains("harness"), "{spelled}");
            assert!(place.files.check_writable(&spelled).is_err());
        }
        assert!(read_file(&place.files, path, None, None).is_ok());
        assert_eq!(place.text(path), "1\n");
    }
    for path in ["tests/test_f0011.py", "kept-not", "sub/progress.txt"] {
        write_file(&place.files, path, "2").unwrap();
    }
    // A second name of the same file keeps the old content.
    fs::hard_link(place.path("progress.txt"), place.path("other")).unwrap();
    edit_file(&place.files, "other", "1", "2").unwrap();
    assert_eq!(place.text("progress.txt"), "1\n");
}

#[test]
fn what_belongs_to_git_is_refused() {
    let place = Place::new();
    place.put(".git/config", "[core]\n");
    place.put("lib/.git/config", "[core]\n");
    for path in [".git/config", "lib/.git/config", ".GIT/config", ".git/hooks/pre-commit", ".git"] {
        told(read_file(&place.files, path, None, None));
        told(write_file(&place.files, path, "x"));
        told(edit_file(&place.files, path, "core", "x"));
    }
    assert!(!search_text(&place.files, "core", None).unwrap().contains(".git"));
    assert!(!list_files(&place.files, ".", None).unwrap().contains(".git"));
    write_file(&place.files, ".gitignore", "x\n").unwrap();
    write_file(&place.files, ".github/workflows/ci.yml", "x\n").unwrap();
}

#[test]
fn nothing_makes_a_tool_wait() {
    let place = Place::new();
    fifo(&place.path("fifo"));
    fifo(&place.path(".gitignore"));
    symlink("fifo", place.path("to-fifo")).unwrap();
    symlink("loop", place.path("loop")).unwrap();
    symlink("/dev/zero", place.path("zero")).unwrap();
    let mut ways = vec!["fifo", "to-fifo", "loop", "zero"];
    if rustix::process::geteuid().is_root() {
        let (mode, device) = (rustix::fs::Mode::from_raw_mode(0o666), rustix::fs::makedev(1, 5));
        let kind = rustix::fs::FileType::CharacterDevice;
        rustix::fs::mknodat(rustix::fs::CWD, place.path("device"), kind, mode, device).unwrap();
        ways.push("device");
    }
    for path in ways {
        told(read_file(&place.files, path, None, None));
        told(search_text(&place.files, "x", Some(path)));
        told(write_file(&place.files, path, "x"));
        told(edit_file(&place.files, path, "x", "y"));
    }
    assert!(search_text(&place.files, "x", None).unwrap().contains("no hits"));
    let listed = list_files(&place.files, ".", None).unwrap();
    assert!(listed.contains("loop -> loop\n") && !listed.contains("fifo\n.."), "{listed}");
}

#[test]
fn files_belong_to_the_owner_of_the_workspace() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    chown(place.path(""), Some(61_000), Some(61_000)).unwrap();
    let files = Files::open(&place.path(""), Vec::new()).unwrap();
    write_file(&files, "new/folder/file", "one\n").unwrap();
    edit_file(&files, "new/folder/file", "one", "two").unwrap();
    files.write("other/file", "x").unwrap();
    for path in ["new", "new/folder", "new/folder/file", "other", "other/file"] {
        let meta = fs::metadata(place.path(path)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (61_000, 61_000), "{path}");
        assert_eq!(meta.permissions().mode() & 0o044, 0o044, "{path}");
    }
}

#[test]
fn the_harness_writes_over_whatever_stands_there() {
    let place = Place::new();
    symlink("../secret", place.path("progress.txt")).unwrap();
    symlink(place.folder.path(), place.path("tests")).unwrap();
    place.put("feature_list.json/trap", "x");
    for path in ["progress.txt", "tests/secret", "feature_list.json"] {
        place.files.write(path, "ours").unwrap();
        assert_eq!(place.files.read(path).unwrap(), "ours");
    }
    assert_eq!(place.secret(), "the secret");
    told(place.files.write("../secret", "x"));
}

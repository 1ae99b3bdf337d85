//! Reading, listing, searching.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::super::{list_files, read_file, search_text};
use super::{Place, told};

#[test]
fn a_file_is_shown_with_line_numbers_and_says_how_to_go_on() {
    let place = Place::new();
    let text: String = (1..=450).map(|n| format!("line {n}\n")).collect();
    place.put("f.py", &text);
    let first = read_file(&place.files, "f.py", None, None).unwrap();
    assert!(first.starts_with("f.py, lines 1 to 200 of 450\n    1| line 1\n"), "{first}");
    assert!(first.ends_with("  200| line 200\n(more follows: start_line 201)\n"), "{first}");
    let last = read_file(&place.files, "./f.py", Some(441), Some(900)).unwrap();
    assert!(last.ends_with("  450| line 450\n") && last.contains("441 to 450"), "{last}");
    assert_eq!(read_file(&place.files, "/project/f.py", Some(0), Some(1)).unwrap().lines().count(), 3);
    assert_eq!(told(read_file(&place.files, "f.py", Some(451), None)), "`f.py` has only 450 lines");
    assert!(told(read_file(&place.files, "none.py", None, None)).contains("list_files"));
    assert!(told(read_file(&place.files, "f.py/x", None, None)).contains("there is no"));
    assert!(told(read_file(&place.files, ".", None, None)).contains("folder"));
}

#[test]
fn odd_files_are_shown_as_far_as_they_can_be() {
    let place = Place::new();
    place.put("empty", "");
    place.put("no-newline", "one\ntwo");
    place.put("dos", "one\r\ntwo\r\n");
    place.put("latin", b"caf\xe9\n");
    place.put("binary", b"GIF89a\0\0");
    place.put("long", "x".repeat(3_000_000) + "\nshort\n");
    fs::write(place.path("").join(OsStr::from_bytes(b"odd-\xff")), "x").unwrap();
    assert_eq!(read_file(&place.files, "empty", None, None).unwrap(), "empty is empty");
    assert_eq!(
        read_file(&place.files, "no-newline", None, None).unwrap(),
        "no-newline, lines 1 to 2 of 2\n    1| one\n    2| two\n"
    );
    assert!(read_file(&place.files, "dos", None, None).unwrap().ends_with("    1| one\n    2| two\n"));
    assert!(read_file(&place.files, "latin", None, None).unwrap().contains("caf�\n(the file is not UTF-8"));
    assert_eq!(told(read_file(&place.files, "binary", None, None)), "`binary` is a binary file of 8 bytes");
    let long = read_file(&place.files, "long", None, None).unwrap();
    assert!(long.contains("(the line has 3000000 characters)\n    2| short"), "{}", long.len());
    place.put("many-wide", ("z".repeat(900) + "\n").repeat(50));
    let wide = read_file(&place.files, "many-wide", None, None).unwrap();
    assert!(wide.chars().count() < 8_200 && wide.ends_with("(more follows: start_line 9)\n"), "{wide}");
    assert!(list_files(&place.files, ".", None).unwrap().contains("odd-�\n"));
}

#[test]
fn a_list_leaves_out_what_git_ignores() {
    let place = Place::new();
    place.put(".gitignore", "node_modules/\n*.log\n");
    place.put("sub/.gitignore", "!kept.log\n");
    for path in ["a.py", "sub/b.py", "sub/deep/c.js", "x.log", "sub/kept.log", "node_modules/m/index.js"] {
        place.put(path, "x");
    }
    fs::create_dir(place.path("empty")).unwrap();
    symlink("sub", place.path("link")).unwrap();
    let all = list_files(&place.files, ".", None).unwrap();
    assert_eq!(all, ".gitignore\na.py\nlink -> sub\nsub/.gitignore\nsub/b.py\nsub/kept.log\nsub/deep/c.js\n");
    assert_eq!(list_files(&place.files, "", Some("*.py")).unwrap(), "a.py\nsub/b.py\n");
    assert_eq!(list_files(&place.files, "sub/", Some("sub/**/*.js")).unwrap(), "sub/deep/c.js\n");
    assert_eq!(list_files(&place.files, "sub/deep", None).unwrap(), "sub/deep/c.js\n");
    assert_eq!(list_files(&place.files, "node_modules", None).unwrap(), "node_modules/m/index.js\n");
    assert_eq!(list_files(&place.files, "empty", None).unwrap(), "there are no files below empty\n");
    assert_eq!(list_files(&place.files, ".", Some("*.rs")).unwrap(), "no files match below .\n");
    assert_eq!(list_files(&place.files, "a.py", None).unwrap(), "a.py is a file\n");
    assert!(told(list_files(&place.files, ".", Some("[z-a]"))).contains("pattern"));
}

#[test]
fn a_list_ends_after_200_entries() {
    let place = Place::new();
    for n in 0..200 {
        place.put(&format!("d/{n:03}"), "");
    }
    assert_eq!(list_files(&place.files, "d", None).unwrap().lines().count(), 200);
    place.put("d/more", "");
    place.put("top", "");
    let list = list_files(&place.files, ".", None).unwrap();
    assert!(list.starts_with("top\nd/000\n"), "the nearest come first");
    assert_eq!(list.lines().count(), 201);
    assert!(list.ends_with("(more than 200 files; give a folder or a glob)\n"));
}

#[test]
fn a_text_is_found_where_it_stands() {
    let place = Place::new();
    place.put("a.py", "def one():\n    pass\r\n\ndef two(): one(); one()\n");
    place.put("sub/b.py", "one\n");
    place.put("binary", b"one\0");
    place.put(".gitignore", "skipped\n");
    place.put("skipped", "one");
    place.put("long", "ä".repeat(5_000) + "needle" + &"ö".repeat(5_000));
    let hits = search_text(&place.files, "one", None).unwrap();
    assert_eq!(hits, "a.py:1: def one():\na.py:4: def two(): one(); one()\nsub/b.py:1: one\n");
    assert_eq!(search_text(&place.files, "one", Some("sub")).unwrap(), "sub/b.py:1: one\n");
    assert_eq!(search_text(&place.files, "pass", Some("a.py")).unwrap(), "a.py:2:     pass\n");
    assert_eq!(search_text(&place.files, "o.e", None).unwrap(), "no hits for this text in .\n");
    let long = search_text(&place.files, "needle", None).unwrap();
    assert!(long.contains("needle") && long.chars().count() < 220, "{long}");
    assert!(told(search_text(&place.files, "", None)).contains("empty"));
    place.put("many", "hit\n".repeat(60));
    let many = search_text(&place.files, "hit", None).unwrap();
    assert_eq!(many.lines().count(), 51);
    assert!(many.ends_with("(more than 50 hits; search a folder or a longer text)\n"));
    place.put("huge", "x".repeat(5 << 20));
    assert!(search_text(&place.files, "needle", None).unwrap().contains("1 files over 4 MB"));
}

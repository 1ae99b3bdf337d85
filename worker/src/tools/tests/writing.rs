//! Whole files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::super::write_file;
use super::{Place, told};

#[test]
fn a_file_is_written_as_it_is_given() {
    let place = Place::new();
    assert_eq!(write_file(&place.files, "src/new/a.py", "x = 1").unwrap(), "wrote src/new/a.py: 1 lines\n");
    assert_eq!(place.text("src/new/a.py"), "x = 1", "no newline is added");
    write_file(&place.files, "src/new/a.py", "a\r\nb\r\n").unwrap();
    assert_eq!(place.text("src/new/a.py"), "a\r\nb\r\n");
    write_file(&place.files, "empty", "").unwrap();
    assert_eq!(place.text("empty"), "");
    let names: Vec<_> = fs::read_dir(place.path("src/new")).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing temporary is left");
}

#[test]
fn long_content_and_long_files_are_refused() {
    let place = Place::new();
    write_file(&place.files, "a", &"x\n".repeat(400)).unwrap();
    assert!(told(write_file(&place.files, "b", &"x\n".repeat(401))).contains("401 lines"));
    assert!(told(write_file(&place.files, "b", &"x".repeat(300_000))).contains("300000 bytes"));
    assert!(!place.path("b").exists());
    assert!(told(write_file(&place.files, "a", "short")).contains("edit_file"));
    assert_eq!(place.text("a").lines().count(), 400);
    place.put("c", "x\n".repeat(150));
    assert!(write_file(&place.files, "c", "short").unwrap().contains("in place of 150"));
}

#[test]
fn what_stands_in_the_way_is_named() {
    let place = Place::new();
    place.put("file", "x");
    fs::create_dir(place.path("folder")).unwrap();
    assert!(told(write_file(&place.files, "file/x", "y")).contains("is a file, not a folder"));
    assert!(told(write_file(&place.files, "folder", "y")).contains("is a folder"));
    assert!(told(write_file(&place.files, ".", "y")).contains("path of a file"));
    assert!(told(write_file(&place.files, &"n".repeat(300), "y")).contains("too long"));
}

#[test]
fn an_executable_file_stays_executable() {
    let place = Place::new();
    place.put("init.sh", "#!/bin/sh\n");
    fs::set_permissions(place.path("init.sh"), Permissions::from_mode(0o755)).unwrap();
    write_file(&place.files, "init.sh", "#!/bin/sh\nexit\n").unwrap();
    assert_eq!(fs::metadata(place.path("init.sh")).unwrap().permissions().mode() & 0o777, 0o755);
}

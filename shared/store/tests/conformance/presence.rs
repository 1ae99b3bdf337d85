//! File locks: which processes of this machine are gone.

use nightforge_store::fresh_boot_id;
use nightforge_store::presence::{BootLock, has_ended, host_id};

#[test]
fn a_process_is_there_as_long_as_it_holds_its_lock() {
    let data = tempfile::tempdir().unwrap();
    let boot = fresh_boot_id();
    let lock = BootLock::take(data.path(), &boot).unwrap();
    assert!(!has_ended(data.path(), &boot).unwrap());
    assert!(BootLock::take(data.path(), &boot).is_err(), "it is held");
    drop(lock);
    assert!(has_ended(data.path(), &boot).unwrap());
}

#[test]
fn a_file_that_a_killed_process_left_is_a_free_lock() {
    let data = tempfile::tempdir().unwrap();
    let boot = fresh_boot_id();
    let path = data.path().join("boots").join(format!("{boot}.lock"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "").unwrap();
    assert!(has_ended(data.path(), &boot).unwrap());
    assert!(!path.exists(), "it is cleaned away");
    assert!(has_ended(data.path(), &boot).unwrap(), "and stays ended");
}

#[test]
fn a_data_folder_keeps_its_identity() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let id = host_id(data.path()).unwrap();
    assert_eq!(host_id(data.path()).unwrap(), id);
    assert_ne!(host_id(other.path()).unwrap(), id);
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 1, "no part file stays behind");
    assert!(host_id(&data.path().join("missing")).is_err());
}

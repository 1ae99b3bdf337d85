//! What is said when commands can't be shut in.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::{Bubblewrap, NoSandbox, PROJECT, Sandbox, Tier};
use super::sandbox;

#[test]
fn the_tier_in_use_is_known() {
    assert_eq!(sandbox().tier(), Tier::Bubblewrap);
    assert_eq!(sandbox().project_path(Path::new("/data/w")), Path::new(PROJECT));
    assert_eq!(Sandbox::without_tier().project_path(Path::new("/data/w")), Path::new("/data/w"));
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    let said = NoSandbox::Missing.to_string();
    assert!(said.contains("bwrap is missing") && said.contains("apt install bubblewrap"), "{said}");
}

#[test]
fn a_program_that_shuts_nothing_in_is_refused() {
    // Not below /tmp, which root covers before it starts the program.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (script, expected) in [
        ("#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2; exit 1\n", "0.8 or newer"),
        (
            "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n",
            "namespaces must be allowed",
        ),
        ("not a program", "did not run"),
    ] {
        let fake = folder.path().join("bwrap");
        fs::write(&fake, script).unwrap();
        for path in [folder.path(), &fake] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        let refused = Bubblewrap::at(fake).probe().unwrap_err().to_string();
        assert!(refused.contains(expected) && refused.contains("bwrap"), "{refused}");
    }
}

//! The same sandbox for a harness that is not root.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use super::super::Exit;
use super::{Place, endings::again};

const USER: u32 = 4242;

/// Root runs this test once more as an ordinary user; that one does the work.
#[tokio::test]
async fn an_ordinary_user_gets_the_same_sandbox() {
    if rustix::process::geteuid().is_root() {
        let home = tempfile::tempdir().unwrap();
        chown(home.path(), Some(USER), Some(USER)).unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = again("sandbox::tests::ordinary_user::an_ordinary_user_gets_the_same_sandbox");
        let done = command.uid(USER).gid(USER).env("TMPDIR", home.path()).current_dir("/");
        let done = done.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let place = Place::new();
    fs::write(place.folder.path().join("secret"), "the secret").unwrap();
    let secret = place.folder.path().join("secret");
    let run =
        place.run(&format!("cat {}; ls / ; echo x > /x; echo x > file; id -un", secret.display())).await;
    assert_eq!(run.exit, Exit::Code(0), "{}", run.output);
    assert!(!run.output.contains("the secret") && run.output.contains("Read-only"), "{}", run.output);
    assert!(run.output.ends_with("agent\n"), "{}", run.output);
    let user = rustix::process::getuid().as_raw();
    assert_eq!(fs::metadata(place.workspace.join("file")).unwrap().uid(), user);
    let nap = super::nap(9);
    place.run(&format!("setsid sleep {nap} >/dev/null 2>&1 & sleep 0.1")).await;
    assert_eq!(super::sleepers(&nap), Vec::<i32>::new());
}

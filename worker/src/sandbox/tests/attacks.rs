//! What a command must not reach, and what it needs.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Command, Stdio};

use nightforge_domain::Millis;

use super::super::{Exit, RunOptions};
use super::{Place, sandbox};
use crate::project::Repository;

#[tokio::test]
async fn runs_a_command_in_the_project() {
    let place = Place::new();
    assert_eq!(place.run("-x; echo ran").await.exit, Exit::Code(0), "a command is no option of the shell");
    let run = place.run("pwd; echo out; echo err >&2; echo text > file; cat; id -un; exit 3").await;
    assert_eq!(run.output, "/project\nout\nerr\nagent\n");
    assert_eq!(run.exit, Exit::Code(3));
    assert!(!run.truncated);
    assert_eq!(fs::read_to_string(place.workspace.join("file")).unwrap(), "text\n");
}

#[tokio::test]
async fn the_environment_is_ours_alone() {
    let place = Place::new();
    // Set by cargo for every test; stands for any secret of the harness.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let options = RunOptions { env: vec![("PORT".to_owned(), "8123".to_owned())], ..RunOptions::default() };
    let run = place.run_with("env; for p in /proc/[0-9]*; do cat $p/environ; done", &options).await;
    assert!(!run.output.contains("CARGO"), "{}", run.output);
    for line in
        ["CI=1\n", "PAGER=cat\n", "GIT_PAGER=cat\n", "HOME=/home/agent\n", "PORT=8123\n", "LANG=C.UTF-8\n"]
    {
        assert!(run.output.contains(line), "{line} is missing from {}", run.output);
    }
    let first = place.run("tr '\\0' '\\n' < /proc/1/environ").await;
    assert!(first.output.lines().all(|line| line.starts_with("PATH=")), "{}", first.output);
}

#[tokio::test]
async fn no_descriptor_is_inherited() {
    let place = Place::new();
    // One without close-on-exec, as another library could open.
    let leak = fs::File::open("/etc/hostname").or_else(|_| fs::File::open("/etc/passwd")).unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let run = place.run("for p in /proc/[0-9]*; do readlink $p/fd/*; done; ls /proc/self/fd").await;
    assert!(!run.output.contains("/etc/"), "{}", run.output);
    assert!(run.output.ends_with("0\n1\n2\n3\n"), "3 is ls's own: {}", run.output);
}

#[tokio::test]
async fn nothing_outside_the_project_can_be_written() {
    let place = Place::new();
    let targets =
        ["/x", "/usr/x", "/etc/x", "/dev/x", "/home/x", "/run/x", "/var/x", "/proc/sys/kernel/hostname"];
    for target in targets {
        let run = place.run(&format!("echo x > {target}")).await;
        assert_ne!(run.exit, Exit::Code(0), "{target} was written");
    }
    let outside = place.folder.path().join("secret");
    // What it makes there is its own scratch space, and gone with it.
    place.run(&format!("mkdir -p {0}; echo x > {0}/y", outside.display())).await;
    assert!(!outside.exists());
    assert!(
        place.run("touch /tmp/x ~/x /dev/shm/x /var/tmp/y").await.exit.is_success(),
        "scratch space is there"
    );
}

#[tokio::test]
async fn secrets_of_the_host_can_not_be_read() {
    let place = Place::new();
    let ssh = place.folder.path().join(".ssh");
    fs::create_dir(&ssh).unwrap();
    fs::write(ssh.join("id_ed25519"), "the secret").unwrap();
    fs::set_permissions(ssh.join("id_ed25519"), fs::Permissions::from_mode(0o644)).unwrap();
    let path = ssh.join("id_ed25519").display().to_string();
    let run = place
        .run(&format!("cat {path}; cat /proc/1/root{path}; cat ../.ssh/id_ed25519; ls -a ~ /root /home"))
        .await;
    assert!(!run.output.contains("the secret"), "{}", run.output);
    assert!(!run.output.contains(".ssh\n"), "{}", run.output);
    assert!(place.run("cat /etc/shadow").await.output.contains("No such file"));
}

#[tokio::test]
async fn a_link_that_leads_out_leads_nowhere() {
    let place = Place::new();
    let outside = place.folder.path().join("outside");
    fs::write(&outside, "host text").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o666)).unwrap();
    symlink(&outside, place.workspace.join("link")).unwrap();
    let run =
        place.run("cat link; echo changed > link; ln -s ../outside up; cat up; echo changed > up").await;
    assert!(!run.output.contains("host text"), "{}", run.output);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "host text");
}

#[tokio::test]
async fn the_root_of_the_first_process_is_the_sandbox() {
    let place = Place::new();
    let run = place.run("ls /proc/1/root/project /proc/1/root/work /proc/1/root/root /proc/1/cwd; ls /proc | grep -c '^[0-9]'").await;
    assert!(!run.output.contains("authorized_keys"));
    assert!(run.output.contains("/proc/1/root/root"), "must fail: {}", run.output);
    let count: u32 = run.output.lines().last().unwrap().parse().unwrap();
    assert!(count < 10, "host processes are seen: {count}");
}

#[tokio::test]
async fn a_host_process_can_not_be_killed() {
    let place = Place::new();
    // Of the same user as the command, so that only the namespace protects it.
    let mut sleeper = sleeper();
    let pid = sleeper.id();
    let run = place.run(&format!("kill -9 {pid}; kill -9 -1; true")).await;
    assert!(run.output.contains("No such process") || run.exit == Exit::Code(137), "{run:?}");
    assert!(sleeper.try_wait().unwrap().is_none(), "the sleeper was killed");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a victim outside the sandbox")]
fn sleeper() -> std::process::Child {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("/bin/sleep");
    command.arg("600").current_dir("/").stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(super::super::SANDBOX_UID).gid(super::super::SANDBOX_UID);
    }
    command.spawn().unwrap()
}

#[tokio::test]
async fn neither_the_hosts_loopback_nor_any_network_is_there() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = "import socket,sys\ntry:\n socket.create_connection((sys.argv[1],int(sys.argv[2])),3); print('reached')\nexcept OSError as e: print('blocked')";
    fs::write(place.workspace.join("reach.py"), script).unwrap();
    assert_eq!(place.run(&format!("python3 reach.py 127.0.0.1 {port}")).await.output, "blocked\n");
    assert_eq!(place.run("python3 reach.py 192.0.2.1 80").await.output, "blocked\n");
    assert_eq!(place.run("tail -n +3 /proc/net/dev | cut -d: -f1").await.output.trim(), "lo");
    // Names without a file belong to the network namespace, too.
    let name = format!("nightforge-{port}");
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let reach = format!("import socket; socket.socket(socket.AF_UNIX).connect(chr(0)+'{name}')");
    assert!(place.run(&format!("python3 -c \"{reach}\"")).await.output.contains("ConnectionRefusedError"));
    let own = "import socket; s=socket.create_server(('127.0.0.1',0)); socket.create_connection(s.getsockname()); print('own loopback')";
    assert_eq!(place.run(&format!("python3 -c \"{own}\"")).await.output, "own loopback\n");
}

#[tokio::test]
async fn removing_everything_hurts_only_the_workspace() {
    let place = Place::new();
    fs::write(place.workspace.join("file"), "x").unwrap();
    let sibling = place.folder.path().join("sibling");
    fs::write(&sibling, "x").unwrap();
    place.run("rm -rf --no-preserve-root / /project/* 2>/dev/null").await;
    assert_eq!(fs::read_dir(&place.workspace).unwrap().count(), 0, "the attack ran");
    assert!(sibling.exists() && Path::new("/usr/bin/env").exists());
    assert_eq!(place.run("echo alive").await.output, "alive\n");
}

#[tokio::test]
async fn a_setuid_file_left_behind_is_not_roots() {
    let place = Place::new();
    let run = place
        .run("cp /bin/sh shell && chmod 6755 shell && ls -l shell; ./shell -p -c 'id -u'; chown 0 shell")
        .await;
    let file = fs::metadata(place.workspace.join("shell")).unwrap();
    assert_eq!(file.mode() & 0o6000, 0o6000, "the attack ran: {}", run.output);
    assert_ne!(file.uid(), 0);
    assert_eq!(run.exit, Exit::Code(1), "chown must fail: {}", run.output);
}

#[tokio::test]
async fn no_rights_can_be_gained() {
    let place = Place::new();
    let gain = [
        "unshare -Ur true && echo gained",
        "mount -t tmpfs x /tmp && echo gained",
        "mknod disk b 8 0 && echo gained",
        "chroot / true && echo gained",
        "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status",
    ];
    let run = place.run(&gain.join(";")).await;
    assert!(!run.output.contains("gained"), "{}", run.output);
    assert!(run.output.contains("CapEff:\t0000000000000000"), "{}", run.output);
    assert!(run.output.contains("NoNewPrivs:\t1"), "{}", run.output);
}

#[tokio::test]
async fn one_file_has_a_limit_and_leaves_no_core() {
    let place = Place::new();
    let run = place.run("truncate -s 2G big").await;
    assert_ne!(run.exit, Exit::Code(0));
    assert!(fs::metadata(place.workspace.join("big")).unwrap().len() <= 1 << 30);
    place.run("sh -c 'kill -SEGV $$'").await;
    let names: Vec<_> =
        fs::read_dir(&place.workspace).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["big"]);
}

#[tokio::test]
async fn a_read_only_project_stays_as_it_is() {
    let place = Place::new();
    fs::write(place.workspace.join("file"), "x").unwrap();
    let shared = place.folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("module"), "from the host").unwrap();
    let binds = vec![(shared.clone(), Path::new("/project/node_modules").to_owned())];
    let options = RunOptions { read_only_binds: binds.clone(), ..RunOptions::default() };
    let run = place.run_with("cat node_modules/module; echo y > node_modules/module", &options).await;
    assert!(run.output.starts_with("from the host"), "{}", run.output);
    assert_eq!(fs::read_to_string(shared.join("module")).unwrap(), "from the host");

    let options = RunOptions { read_only_workspace: true, read_only_binds: binds, ..RunOptions::default() };
    let run = place.run_with("cat file; echo y > file; touch new", &options).await;
    assert!(run.output.starts_with('x'));
    assert_eq!(fs::read_to_string(place.workspace.join("file")).unwrap(), "x");
    assert!(!place.workspace.join("new").exists());
}

#[tokio::test]
async fn git_can_look_and_not_touch() {
    let place = Place::new();
    let repository = Repository::create(&place.folder.path().join("task.git")).unwrap();
    fs::write(place.workspace.join("file"), "one\n").unwrap();
    let tree = repository.snapshot(&place.workspace, None).unwrap();
    let commit = repository.commit(tree, &[], "the subject", Millis(0), "refs/nightforge/1/1").unwrap();
    repository.move_branch(None, &commit).unwrap();
    fs::write(place.workspace.join("file"), "two\n").unwrap();
    let trap = "#!/bin/sh\ntouch /project/trapped\n";
    fs::create_dir_all(place.workspace.join(".git/hooks")).unwrap();
    for hook in ["pre-commit", "post-checkout", "reference-transaction"] {
        fs::write(place.workspace.join(".git/hooks").join(hook), trap).unwrap();
        fs::set_permissions(place.workspace.join(".git/hooks").join(hook), fs::Permissions::from_mode(0o755))
            .unwrap();
    }
    sandbox().own(&place.workspace).unwrap();
    let before = listing(repository.path());
    let git = async |command: &str| {
        sandbox()
            .run(&place.workspace, Some(repository.path()), command, &RunOptions::default())
            .await
            .unwrap()
    };
    let look = git("git log --format=%s; git diff; git status --short; git show HEAD:file").await;
    assert_eq!(look.exit, Exit::Code(0), "{}", look.output);
    for shown in ["the subject\n", "-one\n+two\n", " M file\n"] {
        assert!(look.output.contains(shown), "{shown} is missing from {}", look.output);
    }
    assert!(look.output.ends_with("one\n"), "{}", look.output);
    for touch in [
        "git commit -qam x",
        "git update-ref refs/heads/x HEAD",
        "git gc -q",
        "git config core.hooksPath /project",
        "git checkout -qb y",
    ] {
        let run = git(touch).await;
        assert_ne!(run.exit, Exit::Code(0), "{touch}: {}", run.output);
    }
    assert_eq!(listing(repository.path()), before);
    assert!(!place.workspace.join("trapped").exists());
    let without = place.run("git rev-parse --git-dir").await;
    assert!(!without.output.contains("/run/project.git"), "{}", without.output);
}

fn listing(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listing(&path));
        } else {
            let content = fs::read(&path).unwrap();
            found.push((path, content));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_command_that_no_shell_takes_is_the_callers_fault() {
    let place = Place::new();
    let options = RunOptions::default();
    let nul = sandbox().run(&place.workspace, None, "echo \0", &options).await.unwrap_err();
    assert_eq!(nul.kind(), std::io::ErrorKind::InvalidInput);
    let long = sandbox().run(&place.workspace, None, &"x".repeat(200_000), &options).await.unwrap_err();
    assert_eq!(long.kind(), std::io::ErrorKind::ArgumentListTooLong);
    let gone = sandbox().run(&place.folder.path().join("gone"), None, "true", &options).await.unwrap_err();
    assert_eq!(gone.kind(), std::io::ErrorKind::NotFound);
}

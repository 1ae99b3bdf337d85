//! The bubblewrap tier: which arguments shut a command in.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;

use super::confine::{Account, Confinement, Stage, number};
use super::spawner::{self, Prepared};
use super::{NoSandbox, PROJECT, Request, RunOptions, SANDBOX_UID};

const HOME: &str = "/home/agent";
const GIT_DIR: &str = "/run/project.git";
/// Programs look here; all of it is below `/usr` or leads there.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Processes and threads of one sandbox, set inside its user namespace, so that others of the same user
/// do not count.
const MAX_PROCESSES: u32 = 1024;
const TMP_BYTES: u64 = 1 << 30;
const HOME_BYTES: u64 = 512 << 20;
const SHM_BYTES: u64 = 256 << 20;

/// What programs need to find libraries, certificates, zones and names.
const ETC: [&str; 11] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/pki",
    "/etc/protocols",
    "/etc/ssl",
];

const NAMESPACES: [&str; 8] = [
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--clearenv",
];

/// Runs inside, before the command. Says that the sandbox stands and waits for the word to start, which
/// never comes when the harness has died. `ulimit -u` is bash, `-p` is dash and busybox.
const FIRST_STEPS: &str = r#"
echo stands >&0 && read -r go || exit 125
ulimit -u "$1" 2>/dev/null || ulimit -p "$1" || exit 125
[ -z "$GIT_DIR" ] || git read-tree HEAD >/dev/null 2>&1
exec /bin/sh -c -- "$2" </dev/null
"#;

/// A `bwrap` that was found, and how this system's folders look from inside.
#[derive(Debug)]
pub(super) struct Bubblewrap {
    program: PathBuf,
    account: Option<Account>,
    system: Vec<OsString>,
}

impl Bubblewrap {
    pub(super) fn find() -> Result<Self, NoSandbox> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&path)
            .chain([PathBuf::from("/usr/bin")])
            .map(|folder| folder.join("bwrap"))
            .find(|candidate| candidate.is_absolute() && candidate.is_file())
            .ok_or(NoSandbox::Missing)?;
        Ok(Self::at(program))
    }

    pub(super) fn at(program: PathBuf) -> Self {
        let root = rustix::process::geteuid().is_root();
        let account = root.then_some(Account { uid: SANDBOX_UID, gid: SANDBOX_UID });
        Self { program, account, system: system_folders() }
    }

    /// The user that commands run as, where it is not the harness's own.
    pub(super) fn account(&self) -> Option<Account> {
        self.account
    }

    /// Runs a program in a sandbox and reads what it says.
    pub(super) fn probe(&self) -> Result<(), NoSandbox> {
        let refused = |reason: String| NoSandbox::Refused {
            program: self.program.clone(),
            hint: hint(&reason),
            reason: reason.trim().to_owned(),
        };
        match self.try_probe() {
            Ok(said) if said.trim() == "42" => Ok(()),
            Ok(said) => Err(refused(said)),
            Err(error) => Err(refused(error.to_string())),
        }
    }

    fn try_probe(&self) -> io::Result<String> {
        let options = RunOptions { read_only_workspace: true, ..RunOptions::default() };
        let command = "cd / && echo $((40 + 2))";
        let request = Request { workspace: Path::new("/usr"), git_dir: None, command, options: &options };
        let Prepared { command, mut output, gate, .. } = self.prepare(&request)?;
        let mut child = match spawner::start_blocking(command) {
            Ok(child) => child,
            Err(error) => {
                let mut said = String::new();
                output.read_to_string(&mut said)?;
                return Err(io::Error::new(error.kind(), format!("{said}{error}")));
            }
        };
        if let Some(mut gate) = gate.as_ref() {
            // An error means that it has ended already; its output says why.
            let _ = gate.write_all(b"go\n");
        }
        let mut said = Vec::new();
        let mut ended = false;
        while !ended {
            let wait = Timespec { tv_sec: 10, tv_nsec: 0 };
            if poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&wait))? == 0 {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer within 10 s"));
            }
            let mut chunk = [0; 4096];
            let read = output.read(&mut chunk)?;
            said.extend_from_slice(&chunk[..read]);
            ended = read == 0;
        }
        child.wait()?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// The whole command line, and the pipes that go with it.
    pub(super) fn prepare(&self, request: &Request<'_>) -> io::Result<Prepared> {
        let mut stage = Stage::default();
        let mut seen =
            |path: &Path| if self.account.is_some() { stage.bind(path) } else { Ok(path.to_owned()) };
        let mut arguments = Arguments(NAMESPACES.map(OsString::from).to_vec());
        arguments.add(["--hostname", "sandbox"]);
        arguments.0.extend(self.system.iter().cloned());
        arguments.add(["--proc", "/proc", "--dev", "/dev"]);
        arguments.folder_in_memory("/dev/shm", SHM_BYTES);
        arguments.add(["--remount-ro", "/dev"]);
        arguments.folder_in_memory("/tmp", TMP_BYTES);
        arguments.add(["--symlink", "../tmp", "/var/tmp"]);
        arguments.folder_in_memory(HOME, HOME_BYTES);
        let bind = if request.options.read_only_workspace { "--ro-bind" } else { "--bind" };
        arguments.bind(bind, &seen(request.workspace)?, Path::new(PROJECT));
        if let Some(git_dir) = request.git_dir {
            arguments.bind("--ro-bind", &seen(git_dir)?, Path::new(GIT_DIR));
        }
        let binds = &request.options.read_only_binds;
        if binds.len() > RunOptions::MAX_BINDS || binds.iter().any(|(_, inside)| !inside.is_absolute()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "too many binds, or one without an absolute path",
            ));
        }
        for (source, inside) in binds {
            arguments.bind("--ro-bind", &seen(source)?, inside);
        }

        let mut inherited = Vec::new();
        for (path, text) in self.names() {
            let file = in_memory(&text)?;
            arguments.add(["--ro-bind-data", &number(&file), path]);
            inherited.push(file);
        }
        // Last, so that everything above could still be made; without it `/` would be a folder without limit.
        arguments.add(["--remount-ro", "/", "--chdir", PROJECT]);
        for (name, value) in environment(request) {
            arguments.add(["--setenv", &name, &value]);
        }
        arguments.add([
            "--",
            "/bin/sh",
            "-c",
            FIRST_STEPS,
            "sh",
            &MAX_PROCESSES.to_string(),
            request.command,
        ]);

        #[expect(clippy::disallowed_methods, reason = "this is the module that starts programs")]
        let mut command = Command::new(&self.program);
        // Not only `--clearenv`: bubblewrap's own environment is /proc/1/environ inside.
        command.env_clear().env("PATH", PATH).args(arguments.0).current_dir("/");
        let (gate, gate_inside) = UnixStream::pair()?;
        let (output, output_inside) = io::pipe()?;
        command.stdin(Stdio::from(OwnedFd::from(gate_inside)));
        command.stdout(output_inside.try_clone()?).stderr(output_inside);
        let mut confinement = Confinement::new(inherited);
        if let Some(account) = self.account {
            confinement = confinement.drop_to(account, stage);
        }
        confinement.install(&mut command);
        Ok(Prepared { command, output, gate: Some(gate), scratch: None })
    }

    /// `/etc/passwd` and `/etc/group` with the sandbox's own user only.
    fn names(&self) -> [(&'static str, String); 2] {
        let uid = self.account.map_or_else(|| rustix::process::getuid().as_raw(), |account| account.uid);
        let gid = self.account.map_or_else(|| rustix::process::getgid().as_raw(), |account| account.gid);
        let passwd =
            format!("agent:x:{uid}:{gid}:agent:{HOME}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n");
        [("/etc/passwd", passwd), ("/etc/group", format!("agent:x:{gid}:\nnogroup:x:65534:\n"))]
    }
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, arguments: [&str; N]) {
        self.0.extend(arguments.map(OsString::from));
    }

    fn bind(&mut self, how: &str, source: &Path, target: &Path) {
        self.0.extend([OsStr::new(how), source.as_os_str(), target.as_os_str()].map(OsStr::to_owned));
    }

    fn folder_in_memory(&mut self, place: &str, bytes: u64) {
        self.add(["--perms", "1777", "--size", &bytes.to_string(), "--tmpfs", place]);
    }
}

/// The variables that a command sees.
fn environment(request: &Request<'_>) -> Vec<(String, String)> {
    let mut variables: Vec<(&str, &str)> = vec![("PATH", PATH), ("HOME", HOME), ("USER", "agent")];
    variables.extend(super::COMMON_ENVIRONMENT);
    if request.git_dir.is_some() {
        variables.extend([
            ("GIT_DIR", GIT_DIR),
            ("GIT_WORK_TREE", PROJECT),
            ("GIT_INDEX_FILE", "/tmp/git-index"),
        ]);
    }
    let extra = request.options.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    variables.into_iter().chain(extra).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// `/usr` and what leads into it, read-only, as this system has it.
fn system_folders() -> Vec<OsString> {
    let mut arguments = Arguments(Vec::new());
    arguments.add(["--ro-bind", "/usr", "/usr"]);
    for place in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
        let place = Path::new(place);
        if let Ok(target) = fs::read_link(place) {
            arguments.bind("--symlink", &target, place);
        } else if place.is_dir() {
            arguments.bind("--ro-bind", place, place);
        }
    }
    for place in ETC.map(Path::new) {
        if place.exists() {
            arguments.bind("--ro-bind", place, place);
        }
    }
    arguments.0
}

fn in_memory(text: &str) -> io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create("names", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

fn hint(reason: &str) -> &'static str {
    if reason.contains("nknown option") {
        "bubblewrap 0.8 or newer is needed"
    } else if rustix::process::geteuid().is_root() {
        "In a container, run it as an ordinary user or give it CAP_SYS_ADMIN; user namespaces must be allowed"
    } else {
        "Unprivileged user namespaces must be allowed: see kernel.unprivileged_userns_clone, \
         user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns"
    }
}

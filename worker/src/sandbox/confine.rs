//! What a child does between `fork` and `exec`: the only unsafe code. Everything is prepared before the
//! fork, because the child of a process with many threads may not allocate.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::UnshareFlags;
use rustix::{io::Errno, io::FdFlags};

/// Most binds of one stage.
pub(super) const MAX_BINDS: usize = 16;

/// One file is at most this long, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Open files of one process.
const MAX_OPEN_FILES: u64 = 4096;

/// A user to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// Binds that root makes in a mount namespace of its own, before it becomes an ordinary user: the data
/// folder may lie below a folder that an ordinary user can't enter.
#[derive(Debug, Default)]
pub(super) struct Stage {
    binds: Vec<StagedBind>,
}

#[derive(Debug)]
struct StagedBind {
    source: CString,
    target: CString,
    is_folder: bool,
}

impl Stage {
    /// Where the stage is mounted. bubblewrap needs this folder too, so it exists wherever that works.
    const PLACE: &'static CStr = c"/tmp";

    /// Notes a bind and says where the child will find it.
    pub(super) fn bind(&mut self, source: &Path) -> io::Result<PathBuf> {
        if self.binds.len() == MAX_BINDS {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many binds"));
        }
        let is_folder = source.metadata()?.is_dir();
        let target = PathBuf::from(format!("/tmp/{}", self.binds.len()));
        self.binds.push(StagedBind {
            source: CString::new(source.as_os_str().as_bytes())?,
            target: CString::new(target.as_os_str().as_bytes())?,
            is_folder,
        });
        Ok(target)
    }

    fn raise(&self) -> Result<(), (&'static str, Errno)> {
        // SAFETY: the child has one thread, and no file descriptor table is shared.
        #[expect(unsafe_code, reason = "the mount namespace of a child that was just forked")]
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.map_err(|e| ("private mounts", e))?;
        rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .map_err(|e| ("private mounts", e))?;
        // Sources are taken first, because the stage may cover them.
        let mut taken: [Option<OwnedFd>; MAX_BINDS] = [const { None }; MAX_BINDS];
        for (bind, slot) in self.binds.iter().zip(&mut taken) {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_RECURSIVE;
            let tree =
                rustix::mount::open_tree(CWD, bind.source.as_c_str(), flags).map_err(|e| ("bind", e))?;
            *slot = Some(tree);
        }
        rustix::mount::mount(
            c"tmpfs",
            Self::PLACE,
            c"tmpfs",
            MountFlags::NOSUID | MountFlags::NODEV,
            Some(c"size=64k,mode=0755"),
        )
        .map_err(|e| ("stage", e))?;
        for (bind, tree) in self.binds.iter().zip(&taken) {
            let Some(tree) = tree else { continue };
            let target = bind.target.as_c_str();
            if bind.is_folder {
                rustix::fs::mkdirat(CWD, target, Mode::from_raw_mode(0o755)).map_err(|e| ("stage", e))?;
            } else {
                rustix::fs::mknodat(CWD, target, FileType::RegularFile, Mode::from_raw_mode(0o644), 0)
                    .map_err(|e| ("stage", e))?;
            }
            rustix::mount::move_mount(tree, c"", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
                .map_err(|e| ("bind", e))?;
        }
        Ok(())
    }
}

/// Everything that a child does before it becomes the program.
#[derive(Debug)]
pub(super) struct Confinement {
    /// The parent to die with.
    harness: Option<Pid>,
    stage: Option<Stage>,
    account: Option<Account>,
    limits: [(Resource, Rlimit); 3],
    inherited: Vec<OwnedFd>,
}

impl Confinement {
    /// Holds limits, inherits no descriptor but 0 to 2 and `inherited`.
    pub(super) fn new(inherited: Vec<OwnedFd>) -> Self {
        let limits =
            [(Resource::Fsize, MAX_FILE_BYTES), (Resource::Nofile, MAX_OPEN_FILES), (Resource::Core, 0)];
        Self {
            harness: None,
            stage: None,
            account: None,
            limits: limits.map(|(resource, wanted)| {
                let most =
                    rustix::process::getrlimit(resource).maximum.map_or(wanted, |hard| hard.min(wanted));
                (resource, Rlimit { current: Some(most), maximum: Some(most) })
            }),
            inherited,
        }
    }

    /// Root sees `stage` and becomes `account`.
    pub(super) fn drop_to(mut self, account: Account, stage: Stage) -> Self {
        self.account = Some(account);
        self.stage = Some(stage);
        self
    }

    /// Dies with the thread that starts it. Not for bubblewrap, which sees to that itself at the right moment:
    /// when it is killed early, it leaves a child that waits for it for ever; when it is not, the child finds
    /// the gate closed.
    pub(super) fn die_with_harness(mut self) -> Self {
        self.harness = Some(rustix::process::getpid());
        self
    }

    /// Makes `command` do all this; in a process group of its own.
    pub(super) fn install(self, command: &mut Command) {
        command.process_group(0);
        // SAFETY: `enter` makes system calls only; it neither allocates nor takes a lock.
        #[expect(unsafe_code, reason = "the child must give up its rights before it becomes the program")]
        unsafe {
            command.pre_exec(move || self.enter().map_err(|(step, errno)| explain(step, errno)));
        }
    }

    fn enter(&self) -> Result<(), (&'static str, Errno)> {
        // The kernel's choice under memory pressure falls on the sandbox before the harness. Where /proc is
        // not writable the kernel chooses by size, as without us.
        if let Ok(file) =
            rustix::fs::open(c"/proc/self/oom_score_adj", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        {
            let _ = rustix::io::write(&file, b"1000");
        }
        if let Some(stage) = &self.stage {
            stage.raise()?;
        }
        close_on_exec_from_3().map_err(|e| ("descriptors", e))?;
        for fd in &self.inherited {
            rustix::io::fcntl_setfd(fd, FdFlags::empty()).map_err(|e| ("descriptors", e))?;
        }
        rustix::process::umask(Mode::from_raw_mode(0o022));
        for (resource, limit) in self.limits {
            rustix::process::setrlimit(resource, limit).map_err(|e| ("limits", e))?;
        }
        if let Some(account) = self.account {
            let (uid, gid) = (rustix::fs::Uid::from_raw(account.uid), rustix::fs::Gid::from_raw(account.gid));
            rustix::thread::set_thread_groups(&[]).map_err(|e| ("groups", e))?;
            rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(|e| ("group", e))?;
            rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(|e| ("user", e))?;
        }
        if self.harness.is_some() {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(|e| ("parent", e))?;
            if rustix::process::getppid() != self.harness {
                return Err(("parent", Errno::SRCH));
            }
        }
        Ok(())
    }
}

/// The standard library passes on the number of an error only, so the step goes to the program's output.
fn explain(step: &'static str, errno: Errno) -> io::Error {
    // SAFETY: 2 is the program's standard error, which was set up before.
    #[expect(unsafe_code, reason = "the child's standard error has no owner")]
    let stderr = unsafe { BorrowedFd::borrow_raw(2) };
    let _ = rustix::io::write(stderr, step.as_bytes());
    let _ = rustix::io::write(stderr, b": ");
    io::Error::from_raw_os_error(errno.raw_os_error())
}

/// Not closed at once, because the standard library still reports through one of them.
fn close_on_exec_from_3() -> Result<(), Errno> {
    // SAFETY: takes three numbers and changes flags only.
    #[expect(unsafe_code, reason = "rustix has no close_range")]
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 {
        return Ok(());
    }
    // Linux before 5.11: one by one, up to the limit on open files.
    let most = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(1 << 20).min(1 << 20);
    for number in 3..i32::try_from(most).unwrap_or(1 << 20) {
        // SAFETY: as above; a number that is not open gives an error and nothing else.
        #[expect(unsafe_code, reason = "descriptors without an owner")]
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC);
    }
    Ok(())
}

/// The numbers under which `inherited` descriptors are known to the child.
pub(super) fn number(fd: &OwnedFd) -> String {
    fd.as_raw_fd().to_string()
}

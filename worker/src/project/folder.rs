//! A folder of a workspace, by descriptor. Nothing here follows a symbolic link, opens anything but regular
//! files, or can be made to wait by a FIFO: what lies there was put there by an agent.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File {
        executable: bool,
        bytes: u64,
    },
    Link,
    Folder,
    /// FIFO, socket, device.
    Other,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: CString,
    pub(crate) kind: Kind,
}

/// An open folder. What is made in it gets the owner of the workspace.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    owner: Option<(Uid, Gid)>,
}

const OPEN_FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Without waiting: a FIFO that was put in the file's place is then found out by its type.
const OPEN_FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Folder {
    /// Opens a workspace. Its own path may contain links; the harness chose it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::openat(
            CWD,
            path,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let stat = rustix::fs::fstat(&fd)?;
        // Root works in folders that belong to the sandbox's user. Others could not give files away.
        let owner = (rustix::process::geteuid().is_root() && stat.st_uid != 0)
            .then(|| (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid)));
        Ok(Self { fd, owner })
    }

    /// The descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The same folder once more.
    pub(crate) fn again(&self) -> io::Result<Self> {
        Ok(self.adopt(self.fd.try_clone()?))
    }

    /// Takes a folder that was opened below this one.
    pub(crate) fn adopt(&self, fd: OwnedFd) -> Self {
        Self { fd, owner: self.owner }
    }

    /// All names but `.` and `..`, sorted.
    pub(crate) fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut listing = Dir::read_from(&self.fd)?;
        while let Some(entry) = listing.read() {
            let name = entry?.file_name().to_owned();
            if name.as_c_str() == c"." || name.as_c_str() == c".." {
                continue;
            }
            if let Some(kind) = self.kind(&name)? {
                entries.push(Entry { name, kind });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// What a name is; `None` when there is no such entry.
    pub(crate) fn kind(&self, name: &CStr) -> io::Result<Option<Kind>> {
        let stat = match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                Kind::File { executable: stat.st_mode & 0o100 != 0, bytes: stat.st_size.cast_unsigned() }
            }
            FileType::Symlink => Kind::Link,
            FileType::Directory => Kind::Folder,
            _ => Kind::Other,
        }))
    }

    /// Opens a folder in this one.
    pub(crate) fn enter(&self, name: &CStr) -> io::Result<Self> {
        let open = || rustix::fs::openat(&self.fd, name, OPEN_FOLDER, Mode::empty());
        let fd = open().or_else(|error| self.unlock(name, error, 0o700).and_then(|()| open()))?;
        Ok(self.adopt(fd))
    }

    /// Opens a regular file.
    pub(crate) fn read(&self, name: &CStr) -> io::Result<File> {
        let open = || rustix::fs::openat(&self.fd, name, OPEN_FILE, Mode::empty());
        let fd = open().or_else(|error| self.unlock(name, error, 0o600).and_then(|()| open()))?;
        if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(File::from(fd))
    }

    /// Where a symbolic link leads, as bytes.
    pub(crate) fn link_target(&self, name: &CStr) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    /// Writes a file that is not there yet.
    pub(crate) fn write_new(&self, name: &CStr, content: &[u8], executable: bool) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(if executable { 0o755 } else { 0o644 });
        let fd = rustix::fs::openat(&self.fd, name, flags, mode)?;
        // The umask of the harness does not count: the sandbox's user must be able to use the file.
        rustix::fs::fchmod(&fd, mode)?;
        if let Some((uid, gid)) = self.owner {
            rustix::fs::fchown(&fd, Some(uid), Some(gid))?;
        }
        File::from(fd).write_all(content)
    }

    /// Writes a file in one step: readers see the old content or the new, and other names of the old file
    /// keep the old.
    pub(crate) fn replace(&self, name: &CStr, content: &[u8], executable: bool) -> io::Result<()> {
        let temporary = c".nightforge-write";
        self.remove(temporary)?;
        self.write_new(temporary, content, executable)?;
        let renamed = rustix::fs::renameat(&self.fd, temporary, &self.fd, name);
        if renamed.is_err() {
            self.remove(temporary)?;
        }
        Ok(renamed?)
    }

    /// Makes a symbolic link where nothing is yet.
    pub(crate) fn link_new(&self, name: &CStr, target: &[u8]) -> io::Result<()> {
        rustix::fs::symlinkat(target, &self.fd, name)?;
        self.give(name)
    }

    /// Makes a folder if there is none, and opens it.
    pub(crate) fn make(&self, name: &CStr) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => self.give(name)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.enter(name)
    }

    /// Removes a name and all below it. A name that is gone already is no error.
    pub(crate) fn remove(&self, name: &CStr) -> io::Result<()> {
        match self.kind(name)? {
            None => Ok(()),
            Some(Kind::Folder) => {
                self.empty(name)?;
                self.remove_empty(name)
            }
            Some(_) => self.unlink(name, AtFlags::empty()),
        }
    }

    /// Removes a folder that has nothing in it.
    pub(crate) fn remove_empty(&self, name: &CStr) -> io::Result<()> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    /// Empties a folder however deep it is nested, with two descriptors: folders inside folders move up to
    /// the top before their turn comes.
    fn empty(&self, name: &CStr) -> io::Result<()> {
        let top = self.enter(name)?;
        let mut moved = 0_u64;
        loop {
            let entries = top.entries()?;
            if entries.is_empty() {
                return Ok(());
            }
            for entry in entries {
                if entry.kind != Kind::Folder {
                    top.unlink(&entry.name, AtFlags::empty())?;
                    continue;
                }
                let below = top.enter(&entry.name)?;
                for inner in below.entries()? {
                    if inner.kind != Kind::Folder {
                        below.unlink(&inner.name, AtFlags::empty())?;
                        continue;
                    }
                    below.move_up(&inner.name, &top, &mut moved)?;
                }
                top.unlink(&entry.name, AtFlags::REMOVEDIR)?;
            }
        }
    }

    fn move_up(&self, name: &CStr, top: &Folder, moved: &mut u64) -> io::Result<()> {
        let free = loop {
            *moved += 1;
            let free = CString::new(format!("removed-{moved}"))?;
            if top.kind(&free)?.is_none() {
                break free;
            }
        };
        match rustix::fs::renameat(&self.fd, name, &top.fd, &free) {
            Err(Errno::ACCESS) => {
                // The right to write is needed in both: the folder's `..` changes.
                let all = Mode::from_raw_mode(0o755);
                rustix::fs::fchmod(&self.fd, all)?;
                rustix::fs::fchmod(self.enter(name)?.fd, all)?;
                Ok(rustix::fs::renameat(&self.fd, name, &top.fd, &free)?)
            }
            done => Ok(done?),
        }
    }

    fn unlink(&self, name: &CStr, flags: AtFlags) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, flags) {
            Err(Errno::ACCESS) => {
                rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(0o755))?;
                Ok(rustix::fs::unlinkat(&self.fd, name, flags)?)
            }
            done => Ok(done?),
        }
    }

    fn give(&self, name: &CStr) -> io::Result<()> {
        if let Some((uid, gid)) = self.owner {
            rustix::fs::chownat(&self.fd, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }

    /// An agent may take rights away from its own files; the harness as the same user gives them back.
    fn unlock(&self, name: &CStr, error: Errno, rights: u32) -> Result<(), Errno> {
        if error != Errno::ACCESS {
            return Err(error);
        }
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(error);
        }
        let mode = Mode::from_raw_mode((stat.st_mode & 0o777) | rights);
        rustix::fs::chmodat(&self.fd, name, mode, AtFlags::empty())
    }
}

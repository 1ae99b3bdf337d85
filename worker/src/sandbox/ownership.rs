//! Gives a folder and all below it to another user, following no symbolic link.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::confine::Account;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(super) fn give(path: &Path, account: Account) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let owner = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    give_one(CWD, &name, owner)?;
    match rustix::fs::openat(CWD, name.as_c_str(), FOLDER, Mode::empty()) {
        Ok(folder) => give_below(folder, owner),
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn give_below(top: OwnedFd, owner: (Uid, Gid)) -> io::Result<()> {
    // A loop, not a recursion: an agent decides how deep folders are nested. One descriptor per level, so
    // nesting beyond the limit on open files gives an error.
    let mut open = vec![Dir::new(top)?];
    while let Some(folder) = open.last_mut() {
        let Some(entry) = folder.read().transpose()? else {
            open.pop();
            continue;
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let fd = folder.fd()?;
        if give_one(fd, name, owner)? {
            let below = rustix::fs::openat(fd, name, FOLDER, Mode::empty())?;
            open.push(Dir::new(below)?);
        }
    }
    Ok(())
}

/// Says whether it is a folder.
fn give_one(folder: impl AsFd, name: &CStr, owner: (Uid, Gid)) -> io::Result<bool> {
    let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if (stat.st_uid, stat.st_gid) != (owner.0.as_raw(), owner.1.as_raw()) {
        rustix::fs::chownat(&folder, name, Some(owner.0), Some(owner.1), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

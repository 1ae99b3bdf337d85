//! Presence of processes on this machine: each boot id holds an OS file lock in the data folder. A lock that is
//! free means that its process is gone, however it ended.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use nightforge_domain::BootId;

/// The file lock of this process. Held until dropped, or until the process ends.
#[derive(Debug)]
pub struct BootLock {
    path: PathBuf,
    _file: File,
}

impl BootLock {
    /// Takes the lock `<data>/boots/<boot>.lock`, before the process announces itself.
    ///
    /// # Errors
    /// When the data folder can't be written to.
    pub fn take(data: &Path, boot: &BootId) -> io::Result<Self> {
        let folder = data.join("boots");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{boot}.lock"));
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        file.try_lock().map_err(io::Error::from)?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for BootLock {
    fn drop(&mut self) {
        // A file that stays behind is harmless: its lock is free, and the next sweep removes it.
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "boot lock not removed");
        }
    }
}

/// Whether the process of this boot id, which ran on this data folder, has ended.
///
/// # Errors
/// When the lock file can't be looked at.
pub fn has_ended(data: &Path, boot: &BootId) -> io::Result<bool> {
    let path = data.join("boots").join(format!("{boot}.lock"));
    let file = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => match fs::remove_file(&path) {
            // Another process looked at the same time.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(true),
        },
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The identity of a data folder, made at its first use: processes with the same one share its file locks.
///
/// # Errors
/// When the data folder can't be written to or holds something else under that name.
pub fn host_id(data: &Path) -> io::Result<String> {
    let path = data.join("host-id");
    match fs::read_to_string(&path) {
        Ok(id) if !id.trim().is_empty() => return Ok(id.trim().to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let id = crate::fresh::text();
    let part = data.join(format!("host-id.{id}"));
    fs::write(&part, &id)?;
    // A link fails when another process was first; then its id holds.
    let linked = fs::hard_link(&part, &path);
    fs::remove_file(&part)?;
    match linked {
        Ok(()) => Ok(id),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok(fs::read_to_string(&path)?.trim().to_owned())
        }
        Err(error) => Err(error),
    }
}

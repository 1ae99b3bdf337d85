//! The data folder: where it is, and who may run on it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};

/// A data folder that this process runs on: alone, or with others that share it, until this is dropped or the process
/// ends.
#[derive(Debug)]
pub(crate) struct DataFolder {
    path: PathBuf,
    _lock: File,
}

/// Who else may run on the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// Nobody.
    Alone,
    /// Processes that share it, too.
    Shared,
}

impl DataFolder {
    /// Makes the folder where it is missing, and takes it for this process alone.
    ///
    /// # Errors
    /// When it can't be written to, or another process runs on it.
    pub(crate) fn take(path: &Path) -> Result<Self, Failure> {
        Self::hold(path, Hold::Alone)
    }

    /// Makes the folder where it is missing, and takes it together with the other roles of one installation.
    ///
    /// # Errors
    /// When it can't be written to, or a process runs on it that wants it alone.
    pub(crate) fn share(path: &Path) -> Result<Self, Failure> {
        Self::hold(path, Hold::Shared)
    }

    fn hold(path: &Path, hold: Hold) -> Result<Self, Failure> {
        let unusable = |error: &io::Error| {
            Failure::config(format!(
                "the data folder {} can't be used: {error}; name another with --data, or make it a folder that you \
                 may write to",
                path.display()
            ))
        };
        check_name(path)?;
        fs::create_dir_all(path).map_err(|error| unusable(&error))?;
        // Workers hand paths to git and to sandboxes, which run in other folders.
        let path = path.canonicalize().map_err(|error| unusable(&error))?;
        check_name(&path)?;
        let lock_path = path.join("nightforge.lock");
        let mut lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&lock_path)
            .map_err(|error| unusable(&error))?;
        let locked = match hold {
            Hold::Alone => lock.try_lock(),
            Hold::Shared => lock.try_lock_shared(),
        };
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(taken(&path, hold, &mut lock)),
            Err(TryLockError::Error(error)) => return Err(unusable(&error)),
        }
        // Those that share it would only overwrite each other's number.
        let name = |lock: &mut File| {
            lock.set_len(0)?;
            lock.rewind()?;
            match hold {
                Hold::Alone => writeln!(lock, "{}", std::process::id()),
                Hold::Shared => Ok(()),
            }
        };
        name(&mut lock).map_err(|error| unusable(&error))?;
        Ok(Self { path, _lock: lock })
    }

    /// The folder, as an absolute path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn taken(path: &Path, hold: Hold, lock: &mut File) -> Failure {
    let mut pid = String::new();
    let holder = match (lock.read_to_string(&mut pid), hold) {
        (Ok(_), _) if !pid.trim().is_empty() => format!("process {}", pid.trim()),
        (_, Hold::Alone) => "a role in a process of its own (api, scheduler or worker)".to_owned(),
        (_, Hold::Shared) => "another process".to_owned(),
    };
    let remedy = match hold {
        Hold::Alone => "send it work with `nightforge submit`, end it, or name another folder with --data",
        Hold::Shared => "it runs every role itself; end it, or name another folder with --data",
    };
    Failure::new(
        Exit::Conflict,
        format!("{holder} runs on the data folder {} already; {remedy}", path.display()),
    )
}

/// Whether a data folder may have this name. The database is named by a URL, where `?` begins parameters.
///
/// # Errors
/// When it can't.
pub(crate) fn check_name(path: &Path) -> Result<(), Failure> {
    let what = match path.to_str() {
        Some("") => return Err(Failure::config("the data folder has no name; name one with --data")),
        None => "its name is not plain text in UTF-8",
        Some(name) if name.contains('?') => "its name holds a `?`, which the database can't have in its path",
        Some(_) => return Ok(()),
    };
    Err(Failure::config(format!(
        "the data folder {} can't be used: {what}; name another with --data",
        path.display()
    )))
}

/// The URL of the database in a data folder.
pub(crate) fn database_url(data: &Path) -> String {
    format!("sqlite:{}", database_path(data).display())
}

/// The database's file in a data folder.
pub(crate) fn database_path(data: &Path) -> PathBuf {
    data.join("nightforge.db")
}

/// Where data lie unless told otherwise: `nightforge` in the XDG data folder.
///
/// # Errors
/// When there is no home folder.
pub(crate) fn default_path() -> Result<PathBuf, Failure> {
    xdg("XDG_DATA_HOME", ".local/share").map(|folder| folder.join("nightforge")).ok_or_else(|| {
        Failure::config("neither XDG_DATA_HOME nor HOME is set; name a data folder with --data")
    })
}

/// A fresh folder for one demo or one evaluation, below the default one.
///
/// # Errors
/// When it can't be made.
pub(crate) fn fresh_for(purpose: &str) -> Result<PathBuf, Failure> {
    let parent = default_path()?.join(purpose);
    let unusable = |error: io::Error| {
        Failure::config(format!(
            "no folder can be made in {}: {error}; name one with --data",
            parent.display()
        ))
    };
    check_name(&parent)?;
    fs::create_dir_all(&parent).map_err(unusable)?;
    for number in 1_u32.. {
        let path = parent.join(number.to_string());
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unusable(error)),
        }
    }
    Err(unusable(io::Error::other("every number is taken")))
}

/// A base folder of the XDG specification: <https://specifications.freedesktop.org/basedir-spec/>.
pub(crate) fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set(variable).or_else(|| set("HOME").map(|home| home.join(below_home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_and_the_holder_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let first = DataFolder::take(&path).unwrap();
        let second = DataFolder::take(&path).unwrap_err();
        assert_eq!(second.exit, Exit::Conflict);
        let holder = format!("process {}", std::process::id());
        assert!(second.message.starts_with(&holder), "{}", second.message);
        drop(first);
        DataFolder::take(&path).unwrap();
    }

    #[test]
    fn roles_share_a_folder_and_one_that_wants_it_alone_waits() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let scheduler = DataFolder::share(&path).unwrap();
        let worker = DataFolder::share(&path).unwrap();
        let refusal = DataFolder::take(&path).unwrap_err();
        assert_eq!(refusal.exit, Exit::Conflict);
        assert!(refusal.message.starts_with("a role in a process of its own"), "{}", refusal.message);
        drop((scheduler, worker));
        let alone = DataFolder::take(&path).unwrap();
        let refusal = DataFolder::share(&path).unwrap_err();
        let holder = format!("process {} runs on", std::process::id());
        assert!(refusal.message.starts_with(&holder), "{}", refusal.message);
        assert!(refusal.message.contains("it runs every role itself"), "{}", refusal.message);
        drop(alone);
        DataFolder::share(&path).unwrap();
    }

    #[test]
    fn a_name_that_the_database_cannot_have_is_refused_before_anything_is_made() {
        let parent = tempfile::tempdir().unwrap();
        let refusal = DataFolder::take(&parent.path().join("o/q?mark")).unwrap_err();
        assert_eq!(refusal.exit, Exit::Config);
        for part in ["q?mark", "`?`", "--data"] {
            assert!(refusal.message.contains(part), "{}", refusal.message);
        }
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_in_the_folders_place_is_refused_and_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        fs::write(&path, "mine").unwrap();
        let refusal = DataFolder::take(&path).unwrap_err();
        assert_eq!(refusal.exit, Exit::Config);
        assert!(refusal.message.contains(path.to_str().unwrap()), "{}", refusal.message);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}

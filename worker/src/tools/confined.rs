//! Paths as a model writes them, and the files that they lead to.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::ToolError;
use crate::project::folder::{Folder, Kind};
use crate::project::ignored::is_git_name;
use crate::sandbox::PROJECT;

/// Longer files are not read into memory.
const MAX_READ_BYTES: u64 = 16 << 20;

/// A workspace as the tools see it. What they write belongs to the owner of the workspace's folder.
#[derive(Debug)]
pub struct Files {
    top: Folder,
    protected: Vec<String>,
}

/// A path inside the project, without `.`, `..` and doubled slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectPath {
    pub(super) names: Vec<CString>,
    /// As it is shown; `.` for the project itself.
    pub(super) text: String,
}

/// What stands at a path.
pub(super) enum Found {
    File(File),
    Folder,
}

impl Files {
    /// Opens a workspace. `protected` are paths of files and folders, relative to it, that the harness keeps:
    /// they can be read and not written.
    pub fn open(workspace: &Path, protected: Vec<String>) -> io::Result<Self> {
        Ok(Self { top: Folder::open(workspace)?, protected })
    }

    /// The whole text of a file, for the harness.
    pub fn read(&self, path: &str) -> Result<String, ToolError> {
        let path = path.parse()?;
        String::from_utf8(self.bytes(&path)?).map_err(|_| ToolError::model(format!("`{path}` is not UTF-8")))
    }

    /// Whether the agent's tools may write there.
    pub fn check_writable(&self, path: &str) -> Result<(), ToolError> {
        self.check_unprotected(&path.parse()?)
    }

    /// Writes a file over whatever stands there, link and folder included, for the harness: neither limits nor
    /// protection count. A file that is executable stays so.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<(), ToolError> {
        let path: ProjectPath = path.parse()?;
        let Some((name, folders)) = path.names.split_last() else {
            return Err(ToolError::model("`.` is the project's folder; give the path of a file"));
        };
        let mut folder = self.top.again().map_err(operator(&path))?;
        for next in folders {
            if folder.kind(next).map_err(operator(&path))? != Some(Kind::Folder) {
                folder.remove(next).map_err(operator(&path))?;
            }
            folder = folder.make(next).map_err(operator(&path))?;
        }
        let there = folder.kind(name).map_err(operator(&path))?;
        if there == Some(Kind::Folder) {
            folder.remove(name).map_err(operator(&path))?;
        }
        let executable = matches!(there, Some(Kind::File { executable: true, .. }));
        folder.replace(name, content.as_ref(), executable).map_err(operator(&path))
    }

    pub(super) fn top(&self) -> &Folder {
        &self.top
    }

    /// Opens a path for reading. Links are followed as long as they stay inside.
    pub(super) fn find(&self, path: &ProjectPath) -> Result<Found, ToolError> {
        // A look first: opening a device can already do something.
        let place = self.resolve(path, OFlags::PATH)?;
        let stat = rustix::fs::fstat(&place).map_err(|error| failed(path, error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Found::Folder),
            FileType::RegularFile => {
                let file = self.resolve(path, OFlags::RDONLY | OFlags::NONBLOCK)?;
                let stat = rustix::fs::fstat(&file).map_err(|error| failed(path, error))?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Err(not_regular(path));
                }
                Ok(Found::File(File::from(file)))
            }
            _ => Err(not_regular(path)),
        }
    }

    /// The bytes of a regular file.
    pub(super) fn bytes(&self, path: &ProjectPath) -> Result<Vec<u8>, ToolError> {
        match self.find(path)? {
            Found::Folder => Err(ToolError::model(format!("`{path}` is a folder; use list_files"))),
            Found::File(file) => read_whole(file, path),
        }
    }

    /// The folder and name of a file to change. No link counts here, not even one that stays inside: it could
    /// lead to a protected file.
    pub(super) fn existing(&self, path: &ProjectPath) -> Result<(Folder, CString, bool), ToolError> {
        match self.place(path, false)? {
            Some((folder, name, Some(Kind::File { executable, .. }))) => Ok((folder, name, executable)),
            _ => Err(ToolError::model(format!("there is no `{path}`; write_file makes a new file"))),
        }
    }

    /// The folder and name to write to, with all folders in between, and what is there already. Links as in
    /// [`Files::existing`].
    pub(super) fn place_to_write(
        &self,
        path: &ProjectPath,
    ) -> Result<(Folder, CString, Option<Kind>), ToolError> {
        let place = self.place(path, true)?;
        place.ok_or_else(|| ToolError::model(format!("there is no folder for `{path}`")))
    }

    /// `None` when a folder is missing that was not to be made.
    fn place(
        &self,
        path: &ProjectPath,
        make: bool,
    ) -> Result<Option<(Folder, CString, Option<Kind>)>, ToolError> {
        self.check_unprotected(path)?;
        let Some((name, folders)) = path.names.split_last() else {
            return Err(ToolError::model("`.` is the project's folder; give the path of a file"));
        };
        let mut folder = self.top.again().map_err(operator(path))?;
        for next in folders {
            let shown = next.to_string_lossy();
            folder = match folder.kind(next).map_err(operator(path))? {
                None if make => folder.make(next).map_err(operator(path))?,
                None => return Ok(None),
                Some(Kind::Folder) => folder.enter(next).map_err(operator(path))?,
                Some(Kind::Link) => {
                    return Err(ToolError::model(format!(
                        "`{shown}` in `{path}` is a symbolic link; give the real path"
                    )));
                }
                Some(_) => {
                    return Err(ToolError::model(format!("`{shown}` in `{path}` is a file, not a folder")));
                }
            };
        }
        match folder.kind(name).map_err(operator(path))? {
            Some(Kind::Link) => Err(ToolError::model(format!(
                "`{path}` is a symbolic link; give the path of the file it leads to"
            ))),
            Some(Kind::Folder) => {
                Err(ToolError::model(format!("`{path}` is a folder; give the path of a file")))
            }
            Some(Kind::Other) => Err(not_regular(path)),
            kind => Ok(Some((folder, name.clone(), kind))),
        }
    }

    fn check_unprotected(&self, path: &ProjectPath) -> Result<(), ToolError> {
        let covers = |protected: &String| {
            path.text
                .strip_prefix(protected.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.protected.iter().any(covers) {
            return Err(ToolError::model(format!(
                "`{path}` belongs to the harness and can't be changed. Change the code instead; when you finish and the \
                 gate accepts, the harness itself marks the feature as passed and writes the progress notes"
            )));
        }
        Ok(())
    }

    fn resolve(&self, path: &ProjectPath, flags: OFlags) -> Result<OwnedFd, ToolError> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut tries = 0;
        loop {
            match rustix::fs::openat2(
                self.top.fd(),
                path.text.as_str(),
                flags | OFlags::CLOEXEC,
                Mode::empty(),
                how,
            ) {
                Ok(fd) => return Ok(fd),
                // The kernel could not be sure, because something was renamed meanwhile.
                Err(Errno::AGAIN) if tries < 20 => tries += 1,
                Err(error) => return Err(failed(path, error)),
            }
        }
    }
}

pub(super) fn read_whole(file: File, path: &ProjectPath) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES + 1).read_to_end(&mut bytes).map_err(operator(path))?;
    if bytes.len() as u64 > MAX_READ_BYTES {
        return Err(ToolError::model(format!(
            "`{path}` is over 16 MB; look at it with run_command, for example head or grep"
        )));
    }
    Ok(bytes)
}

impl std::str::FromStr for ProjectPath {
    type Err = ToolError;

    fn from_str(text: &str) -> Result<Self, ToolError> {
        let trimmed = text.trim();
        // Commands see the project there, so models write such paths.
        let inside = match trimmed.strip_prefix(PROJECT) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
            _ => trimmed,
        };
        let refused = |why: &str| Err(ToolError::model(format!("`{}` {why}", shorten(text))));
        if inside.starts_with('/') || inside.starts_with('~') {
            return refused("is outside the project; give a path inside it, such as src/main.py");
        }
        if inside.len() > 1000 || inside.contains('\0') {
            return refused("is not a path");
        }
        let parts: Vec<&str> = inside.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return refused("contains `..`; give the path from the project's folder on");
        }
        if parts.iter().any(|part| is_git_name(part.as_bytes())) {
            return refused("belongs to git; use run_command with git log, git diff or git show to look");
        }
        let names = parts.iter().map(|part| CString::new(*part)).collect::<Result<_, _>>();
        let names = names.map_err(|_| ToolError::model("a path can't hold a NUL byte"))?;
        Ok(Self { names, text: if parts.is_empty() { ".".to_owned() } else { parts.join("/") } })
    }
}

impl std::fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&shorten(&self.text))
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 200 {
        text.to_owned()
    } else {
        text.chars().take(200).chain(['…']).collect()
    }
}

fn not_regular(path: &ProjectPath) -> ToolError {
    ToolError::model(format!("`{path}` is not a regular file but a pipe, socket or device"))
}

fn failed(path: &ProjectPath, error: Errno) -> ToolError {
    match error {
        Errno::NOENT | Errno::NOTDIR => {
            ToolError::model(format!("there is no `{path}`; use list_files to see what there is"))
        }
        Errno::XDEV => ToolError::model(format!("`{path}` leads out of the project")),
        Errno::LOOP => ToolError::model(format!("`{path}` is a link that leads nowhere")),
        Errno::NAMETOOLONG => ToolError::model(format!("`{path}` is too long for a path")),
        Errno::ACCESS | Errno::PERM => ToolError::model(format!("`{path}` can't be read: {error}")),
        error => operator(path)(error.into()),
    }
}

/// For errors that are the machine's, with the path.
pub(super) fn operator(path: &ProjectPath) -> impl FnOnce(io::Error) -> ToolError {
    let path = path.to_string();
    move |error| match error.kind() {
        // The names are the model's.
        io::ErrorKind::InvalidFilename => ToolError::model(format!("`{path}` is too long for a path")),
        _ => ToolError::Operator(anyhow::Error::new(error).context(path)),
    }
}

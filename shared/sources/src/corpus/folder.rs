//! Looking through the folder: which files there are, as cheaply as can be.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Largest file that is read, in bytes.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// What a file is, by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Markdown,
    Text,
    Html,
    Pdf,
}

/// Changes whenever the file does: size, times of the content and of the file's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) size: i64,
    pub(super) modified_ns: i64,
    pub(super) changed_ns: i64,
}

/// A file to index.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Relative to the folder, with `/` between.
    pub(super) path: String,
    pub(super) absolute: PathBuf,
    pub(super) kind: Kind,
    pub(super) signature: Signature,
}

/// What a look through the folder gave.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) files: Vec<Found>,
    /// Paths that can't be looked at, and why.
    pub(super) skipped: Vec<(String, String)>,
}

/// Lists `folder` with all its folders, by path.
///
/// Hidden entries and files of other kinds are none of its business. A link inside the folder names what is listed in
/// its own place; one that leaves it is told.
///
/// # Errors
/// When the folder itself can't be read.
pub(super) fn list(folder: &Path) -> io::Result<Listing> {
    let root = folder.canonicalize()?;
    let mut listing = Listing::default();
    let mut open = vec![(root.clone(), String::new(), fs::read_dir(&root)?)];
    while let Some((at, under, entries)) = open.pop() {
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    listing.skipped.push((under.clone(), format!("the folder can't be read on: {error}")));
                    break;
                }
            };
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let Some(name) = name.to_str() else {
                let shown = format!("{under}{}", name.to_string_lossy());
                listing.skipped.push((shown, "its name is not UTF-8, so nothing could cite it".to_owned()));
                continue;
            };
            let path = format!("{under}{name}");
            let absolute = at.join(name);
            match look(&root, &absolute, &path) {
                Ok(Look::File(found)) => listing.files.push(found),
                Ok(Look::Folder) => match fs::read_dir(&absolute) {
                    Ok(entries) => open.push((absolute, format!("{path}/"), entries)),
                    Err(error) => listing.skipped.push((path, format!("the folder can't be read: {error}"))),
                },
                Ok(Look::Skipped(reason)) => listing.skipped.push((path, reason)),
                Ok(Look::Nothing) => {}
                Err(error) => listing.skipped.push((path, error.to_string())),
            }
        }
    }
    listing.files.sort_by(|one, other| one.path.cmp(&other.path));
    listing.skipped.sort();
    Ok(listing)
}

enum Look {
    File(Found),
    Folder,
    Skipped(String),
    Nothing,
}

fn look(root: &Path, absolute: &Path, path: &str) -> io::Result<Look> {
    let metadata = match fs::symlink_metadata(absolute) {
        // It went away since the folder was read.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Look::Nothing),
        metadata => metadata?,
    };
    if metadata.is_symlink() {
        let leaves = absolute.canonicalize().is_ok_and(|target| !target.starts_with(root));
        return Ok(if leaves {
            Look::Skipped("a link that leaves the folder is not followed".to_owned())
        } else {
            Look::Nothing
        });
    }
    if metadata.is_dir() {
        return Ok(Look::Folder);
    }
    let Some(kind) = kind(path) else { return Ok(Look::Nothing) };
    if !metadata.is_file() {
        return Ok(Look::Skipped("not a regular file".to_owned()));
    }
    if metadata.len() > MOST_BYTES {
        return Ok(Look::Skipped(too_large(metadata.len())));
    }
    Ok(Look::File(Found {
        path: path.to_owned(),
        absolute: absolute.to_owned(),
        kind,
        signature: signature(&metadata),
    }))
}

fn kind(path: &str) -> Option<Kind> {
    let (_, end) = path.rsplit_once('.')?;
    match end.to_ascii_lowercase().as_str() {
        "md" | "markdown" => Some(Kind::Markdown),
        "txt" => Some(Kind::Text),
        "html" | "htm" => Some(Kind::Html),
        "pdf" => Some(Kind::Pdf),
        _ => None,
    }
}

fn signature(metadata: &Metadata) -> Signature {
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Signature {
        size: i64::try_from(metadata.len()).unwrap_or(i64::MAX),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    }
}

fn too_large(bytes: u64) -> String {
    format!("{bytes} bytes; files over {MOST_BYTES} bytes (8 MiB) are left out")
}

/// Reads a listed file. One that was exchanged for a link or a pipe since then is not followed or waited for.
///
/// # Errors
/// When it can't be read, or has grown too large; the text says why.
pub(super) fn read(found: &Found) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&found.absolute, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > MOST_BYTES => Err(io::Error::other(too_large(length))),
        _ => Ok(bytes),
    }
}

//! Finding programs, and saying what brings them when they are missing.

use std::env;
use std::path::PathBuf;

use anyhow::Context;

/// A program on the path.
///
/// # Errors
/// When it is missing; the message names the Debian package.
pub(crate) fn on_path(name: &str, package: &str) -> anyhow::Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Servers lie in folders that an ordinary user's path often leaves out.
    let folders = env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file()).with_context(|| {
        format!(
            "`{name}` is not installed: the Debian package `{package}` brings it, and `./test` installs it"
        )
    })
}

/// The newest of PostgreSQL's server programs: Debian keeps them off the path, a folder per version.
///
/// # Errors
/// When there is none; the message names the Debian package.
pub(crate) fn postgres(name: &str) -> anyhow::Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let program = entry.path().join("bin").join(name);
            program.is_file().then_some((version, program))
        })
        .max();
    newest.map_or_else(|| on_path(name, "postgresql"), |(_, program)| Ok(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let error = on_path("no-such-server", "no-such-package").unwrap_err().to_string();
        assert!(
            ["no-such-server", "no-such-package", "./test"].iter().all(|part| error.contains(part)),
            "{error}"
        );
    }
}

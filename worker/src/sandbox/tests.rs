//! Runs every attack of the design, and shows that it is blocked.

mod attacks;
mod detection;
mod endings;
mod ordinary_user;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::{CommandOutput, RunOptions, Sandbox};

/// A workspace below a folder that only its owner can enter, as a data folder is.
pub(super) struct Place {
    pub(super) folder: tempfile::TempDir,
    pub(super) workspace: PathBuf,
}

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        sandbox().own(&workspace).unwrap();
        Self { folder, workspace }
    }

    pub(super) async fn run(&self, command: &str) -> CommandOutput {
        self.run_with(command, &RunOptions::default()).await
    }

    pub(super) async fn run_with(&self, command: &str, options: &RunOptions) -> CommandOutput {
        sandbox().run(&self.workspace, None, command, options).await.unwrap()
    }
}

pub(super) fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::detect().unwrap())
}

/// A time to sleep that only this test process uses, so that its sleepers can be told from all others.
pub(super) fn nap(number: u32) -> String {
    format!("{number}{:08}", std::process::id())
}

/// The sleepers themselves, without those who started them.
pub(super) fn sleepers(nap: &str) -> Vec<i32> {
    processes_with(&format!("sleep\0{nap}"))
}

/// The ids of host processes whose command line contains `marker`.
pub(super) fn processes_with(marker: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id().cast_signed() && String::from_utf8_lossy(&line).contains(marker) {
            found.push(pid);
        }
    }
    found
}

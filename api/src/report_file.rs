//! Where a task's results lie in the data folder. The report's truth is in the database; the file is a copy that
//! is made, and made again after a retry, when somebody looks at the task.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nightforge_domain::TaskId;
use nightforge_store::TaskRow;

/// Drafts that this process has begun; requests at the same time must not write into each other's.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// The bare git repository of a task's project.
pub fn repository_path(data: &Path, task: &TaskId) -> PathBuf {
    data.join("git").join(format!("{task}.git"))
}

/// The reports below a data folder.
#[derive(Debug, Clone)]
pub struct ReportFiles {
    folder: PathBuf,
}

impl ReportFiles {
    /// Those of this data folder. The folder is made with its first report.
    pub fn below(data: &Path) -> Self {
        Self { folder: data.join("reports") }
    }

    /// The report of a final task as a file; `None` while there is no report, and where the file can't be
    /// written, which is logged: a full disk must not hide the task.
    pub async fn path_of(&self, row: &TaskRow) -> Option<PathBuf> {
        let text = row.report.as_deref()?;
        let path = self.folder.join(format!("{}.md", row.id));
        match self.keep(&path, text).await {
            Ok(()) => Some(path),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the report can't be written as a file; it is in the database");
                None
            }
        }
    }

    async fn keep(&self, path: &Path, text: &str) -> io::Result<()> {
        if holds(path, text).await {
            return Ok(());
        }
        // Under another name first: a reader never sees half a report.
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("{}-{number}.draft", std::process::id()));
        match self.replace(path, &draft, text).await {
            Ok(()) => Ok(()),
            Err(error) => {
                let _ = tokio::fs::remove_file(&draft).await;
                // Another reader of the same task may have been quicker, which is as good.
                if holds(path, text).await { Ok(()) } else { Err(error) }
            }
        }
    }

    async fn replace(&self, path: &Path, draft: &Path, text: &str) -> io::Result<()> {
        tokio::fs::create_dir_all(&self.folder).await?;
        tokio::fs::write(draft, text).await?;
        tokio::fs::rename(draft, path).await
    }
}

async fn holds(path: &Path, text: &str) -> bool {
    tokio::fs::read(path).await.is_ok_and(|kept| kept == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn readers_at_the_same_time_all_get_the_whole_report() {
        let data = tempfile::tempdir().unwrap();
        let text = "# Report\n".repeat(50_000);
        for round in 0..20 {
            let files = ReportFiles::below(data.path());
            let path = files.folder.join(format!("{round}.md"));
            let readers: Vec<_> = (0..12)
                .map(|_| {
                    let (files, path, text) = (files.clone(), path.clone(), text.clone());
                    tokio::spawn(async move {
                        files.keep(&path, &text).await.unwrap();
                        assert!(holds(&path, &text).await, "half a report");
                    })
                })
                .collect();
            for reader in readers {
                reader.await.unwrap();
            }
        }
        let left = std::fs::read_dir(data.path().join("reports")).unwrap().count();
        assert_eq!(left, 20, "no draft is left");
    }
}

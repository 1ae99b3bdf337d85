//! Where a task's results lie in the data folder. The report's truth is in the database; the file is a copy that
//! is made, and made again after a retry, when somebody looks at the task.

use std::io;
use std::path::{Path, PathBuf};

use nightforge_domain::TaskId;
use nightforge_store::TaskRow;

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
        if tokio::fs::read(path).await.is_ok_and(|kept| kept == text.as_bytes()) {
            return Ok(());
        }
        tokio::fs::create_dir_all(&self.folder).await?;
        // Under another name first: a reader never sees half a report. Two writers write the same text.
        let draft = path.with_extension(format!("{}.draft", std::process::id()));
        tokio::fs::write(&draft, text).await?;
        tokio::fs::rename(&draft, path).await
    }
}

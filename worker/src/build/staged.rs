//! What must not get into a commit: secrets, large files, repositories inside the repository.

use std::path::Path;

use ignore::WalkBuilder;

/// Larger files are refused.
const MAX_FILE_BYTES: u64 = 5 * 1024 * 1024;

/// Texts that only a secret begins with, and how many characters of `[A-Za-z0-9_-]` must follow.
const SECRETS: [(&str, usize, &str); 6] = [
    ("-----BEGIN RSA PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN OPENSSH PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN PRIVATE KEY", 0, "a private key"),
    ("AKIA", 16, "an AWS access key"),
    ("ghp_", 36, "a GitHub token"),
    ("sk-ant-", 20, "an API key"),
];

/// The first reason why this workspace must not be committed, in words for the agent.
///
/// # Errors
/// When a file can't be read.
pub(crate) fn objection(workspace: &Path) -> anyhow::Result<Option<String>> {
    let walk = WalkBuilder::new(workspace)
        .hidden(false)
        .git_global(false)
        .git_exclude(false)
        .require_git(false)
        .parents(false)
        .build();
    for entry in walk {
        let entry = entry?;
        let path = entry.path().strip_prefix(workspace).unwrap_or(entry.path()).display().to_string();
        if entry.file_name() == ".git" {
            return Ok(Some(format!("{path} is a repository inside the repository; remove it")));
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let size = entry.metadata()?.len();
        if size > MAX_FILE_BYTES {
            return Ok(Some(format!("{path} has {size} bytes, over 5 MB; remove it or add it to .gitignore")));
        }
        let content = std::fs::read(entry.path())?;
        if let Some(what) = secret_in(&content) {
            return Ok(Some(format!("{path} holds {what}; remove it")));
        }
    }
    Ok(None)
}

fn secret_in(content: &[u8]) -> Option<&'static str> {
    SECRETS.iter().find_map(|(start, tail, what)| {
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_';
        let found = content.windows(start.len()).enumerate().any(|(at, window)| {
            window == start.as_bytes()
                && content[at + start.len()..].iter().take(*tail).filter(|byte| is_token(byte)).count() == *tail
        });
        found.then_some(*what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection_to(path: &str, content: &[u8]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
        objection(folder.path()).unwrap()
    }

    #[test]
    fn ordinary_files_are_fine() {
        assert_eq!(objection_to("app.py", b"print('AKIA is a prefix')"), None);
        assert_eq!(objection_to(".gitignore", b"*.db"), None);
    }

    #[test]
    fn secrets_large_files_and_nested_repositories_are_refused() {
        let key = format!("KEY = 'AKIA{}'", "A1B2".repeat(4));
        assert_eq!(objection_to("conf/a.py", key.as_bytes()).unwrap(), "conf/a.py holds an AWS access key; remove it");
        assert!(objection_to(".env", b"-----BEGIN PRIVATE KEY-----").unwrap().contains("private key"));
        assert!(objection_to("big.bin", &vec![0; 5 * 1024 * 1024 + 1]).unwrap().contains("over 5 MB"));
        assert!(objection_to("lib/.git/config", b"").unwrap().contains("lib/.git is a repository"));
    }

    #[test]
    fn ignored_files_are_not_committed_and_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".gitignore"), "*.db\n").unwrap();
        std::fs::write(folder.path().join("a.db"), vec![0; 6 * 1024 * 1024]).unwrap();
        assert_eq!(objection(folder.path()).unwrap(), None);
    }
}

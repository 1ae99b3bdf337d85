//! What must not get into a commit: secrets and large files. Looks at the recorded files, not at the disk, so what is
//! judged is what would be committed.

use nightforge_domain::CommitId;

use crate::project::{ChangeKind, Repository};

/// Larger files are refused.
const MAX_FILE_BYTES: u64 = 5 * 1024 * 1024;

/// Texts that only a secret begins with, and how many characters of `[A-Za-z0-9_-]` must follow.
const SECRETS: [(&str, usize, &str); 8] = [
    ("-----BEGIN RSA PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN EC PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN OPENSSH PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN PRIVATE KEY", 0, "a private key"),
    ("AKIA", 16, "an AWS access key"),
    ("ghp_", 36, "a GitHub token"),
    ("github_pat_", 60, "a GitHub token"),
    ("sk-ant-", 20, "an API key"),
];

/// The first reason why what changed from `base` to `checkpoint` must not be committed, in words for the agent.
/// Blocks.
///
/// # Errors
/// When git fails.
pub(crate) fn objection(
    repository: &Repository,
    base: &CommitId,
    checkpoint: &CommitId,
) -> anyhow::Result<Option<String>> {
    for change in repository.changed_paths(repository.tree_of(base)?, repository.tree_of(checkpoint)?)? {
        let path = &change.path;
        if change.kind == ChangeKind::Removed {
            continue;
        }
        if path.contains(char::REPLACEMENT_CHARACTER) {
            return Ok(Some(format!("the name {path} is not UTF-8; rename the file or remove it")));
        }
        if change.bytes > MAX_FILE_BYTES {
            let bytes = change.bytes;
            return Ok(Some(format!(
                "{path} has {bytes} bytes, over 5 MB; remove it or add it to .gitignore"
            )));
        }
        let content = repository.file_at(checkpoint, path)?.unwrap_or_default();
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
                && content[at + start.len()..].iter().take_while(|byte| is_token(byte)).take(*tail).count()
                    == *tail
        });
        found.then_some(*what)
    })
}

#[cfg(test)]
mod tests {
    use nightforge_domain::Millis;

    use super::*;

    /// The objection to a file that comes to an empty project, beside the `.gitignore` in it.
    fn objection_to(files: &[(&str, &[u8])]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::create(&folder.path().join("p.git")).unwrap();
        let project = folder.path().join("project");
        std::fs::create_dir(&project).unwrap();
        let record = |parents: &[CommitId]| {
            let tree = repository.snapshot(&project, None).unwrap();
            repository.commit(tree, parents, "c", Millis(0), "refs/heads/test").unwrap()
        };
        let base = record(&[]);
        for (path, content) in files {
            let file = project.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
        objection(&repository, &base, &record(std::slice::from_ref(&base))).unwrap()
    }

    #[test]
    fn ordinary_files_are_fine() {
        assert_eq!(
            objection_to(&[("app.py", b"print('AKIA is a prefix, AKIA-and-more text follows')")]),
            None
        );
        assert_eq!(objection_to(&[(".gitignore", b"*.db")]), None);
    }

    #[test]
    fn secrets_and_large_files_are_refused() {
        let key = format!("KEY = 'AKIA{}'", "A1B2".repeat(4));
        let said = objection_to(&[("conf/a.py", key.as_bytes())]).unwrap();
        assert_eq!(said, "conf/a.py holds an AWS access key; remove it");
        assert!(objection_to(&[(".env", b"-----BEGIN PRIVATE KEY-----")]).unwrap().contains("private key"));
        assert!(objection_to(&[("big.bin", &vec![0; 5 * 1024 * 1024 + 1])]).unwrap().contains("over 5 MB"));
    }

    #[test]
    fn what_git_ignores_is_not_committed_and_not_looked_at() {
        assert_eq!(objection_to(&[(".gitignore", b"*.db\n"), ("a.db", &vec![0; 6 * 1024 * 1024])]), None);
    }

    #[test]
    fn another_tools_ignore_file_hides_nothing() {
        let said = objection_to(&[(".ignore", b"*\n"), (".env", b"-----BEGIN PRIVATE KEY-----")]).unwrap();
        assert!(said.starts_with(".env"), "{said}");
    }
}

//! What becomes of the files after an agent's action: changes before the test are undone, what the harness owns is
//! put back, the rest is recorded. What can't be recorded is undone whole, and the agent is told: were it an error,
//! the same action would be repeated from the journal until its job is a dead letter.

use anyhow::Context;
use nightforge_domain::CommitId;

use super::burden::Burden;
use super::progress::{FEATURE_LIST, PROGRESS};
use super::red::is_test_support;
use super::toolbox::{Before, Toolbox};
use super::workspace::blocking;
use crate::project::ProjectError;

/// Names that one message lists.
const LISTED: usize = 10;

/// The files after an action.
pub(crate) struct Kept {
    /// Where they are recorded.
    pub(crate) checkpoint: CommitId,
    /// What the agent must know.
    pub(crate) notes: Vec<String>,
    /// Everything that the action did was undone.
    pub(crate) undone: bool,
}

impl Toolbox<'_> {
    /// Records the files as they are after an action.
    ///
    /// # Errors
    /// When this machine fails.
    pub(crate) async fn keep(&self, before: &Before) -> anyhow::Result<Kept> {
        let folder = self.workspace.project();
        let excess = blocking(move || Ok(Burden::of(&folder)?.excess())).await;
        let reason = match excess {
            Ok(Some(excess)) => excess,
            Ok(None) => match self.try_to_keep(before).await {
                Err(error) if is_of_the_agents_making(&error) => format!("{error:#}"),
                kept => return kept,
            },
            Err(error) => return Err(error.context("the workspace can't be looked at")),
        };
        self.workspace.restore(&before.checkpoint, None).await.context("undoing what can't be kept")?;
        let notes = vec![format!("ERROR: this left what can't be kept, so all of it was undone: {reason}")];
        Ok(Kept { checkpoint: before.checkpoint.clone(), notes, undone: true })
    }

    async fn try_to_keep(&self, before: &Before) -> anyhow::Result<Kept> {
        let mut notes = Vec::new();
        if !before.red {
            let untested = self.undo_untested_changes().await?;
            if !untested.is_empty() {
                notes.push(format!("These changes were undone, the test comes first: {}", listed(&untested)));
            }
        }
        let touched = self.put_back_owned_files().await?;
        if !touched.is_empty() {
            let names = listed(&touched);
            notes.push(format!("ERROR: these files belong to the harness and were put back: {names}. The harness itself marks the feature as passed when you finish and the gate accepts."));
        }
        let checkpoint = self.workspace.checkpoint(&before.checkpoint, before.now).await?;
        Ok(Kept { checkpoint, notes, undone: false })
    }

    /// Before RED nothing but tests may change. Looks twice: what was hidden by a `.gitignore` comes to light once
    /// that is undone.
    async fn undo_untested_changes(&self) -> anyhow::Result<Vec<String>> {
        let mut undone = Vec::new();
        for _ in 0..2 {
            let changed = self.changed_since(self.start).await?;
            let test_file = self.test_file();
            let untested: Vec<String> =
                changed.into_iter().filter(|path| !is_test_support(&test_file, path)).collect();
            if untested.is_empty() {
                break;
            }
            self.workspace.restore_paths(self.start, untested.clone()).await?;
            undone.extend(untested);
        }
        Ok(undone)
    }

    /// Puts back what the harness owns, where a program changed it; returns what was changed.
    ///
    /// # Errors
    /// When git or the disk fails.
    pub(crate) async fn put_back_owned_files(&self) -> anyhow::Result<Vec<String>> {
        let protected = self.protected();
        let touched: Vec<String> = self
            .changed_since(self.base)
            .await?
            .into_iter()
            .filter(|path| protected.contains(path))
            .collect();
        self.workspace.restore_paths(self.base, touched.clone()).await?;
        Ok(touched)
    }

    /// Paths that no tool of the agent may write: the registry, the diary, the tests of features that have passed.
    pub(crate) fn protected(&self) -> Vec<String> {
        let mut paths = vec![FEATURE_LIST.to_owned(), PROGRESS.to_owned()];
        paths.extend(self.passed_tests());
        if self.feature.reopened > 0 {
            // It passed once; the code has to be mended, not the test.
            paths.push(self.test_file());
        }
        paths
    }

    /// Test files of the features that passed before this session.
    pub(crate) fn passed_tests(&self) -> Vec<String> {
        let passed = self.features.iter().filter(|feature| feature.passes() && feature.id != self.feature.id);
        passed.map(|feature| self.project.test_file(&feature.id)).collect()
    }

    /// Paths that differ from a commit.
    ///
    /// # Errors
    /// When git or the disk fails.
    pub(crate) async fn changed_since(&self, commit: &CommitId) -> anyhow::Result<Vec<String>> {
        let (project, commit) = (self.workspace.project(), commit.clone());
        self.workspace
            .git(move |repository| {
                let now = repository.snapshot(&project, Some(&commit))?;
                let changes = repository.changed_paths(repository.tree_of(&commit)?, now)?;
                Ok(changes.into_iter().map(|change| change.path).collect())
            })
            .await
    }
}

/// Whether what lies in the workspace, not this machine, makes git refuse.
fn is_of_the_agents_making(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<ProjectError>() {
        Some(ProjectError::TooDeep(_) | ProjectError::NoSuchPath(_)) => true,
        // A name that git has for itself in another spelling, such as `.git` with a space after it.
        Some(ProjectError::Git(error)) => error.class() == git2::ErrorClass::Tree,
        _ => false,
    }
}

/// The first names, and how many more there are.
pub(crate) fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        text.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    text
}

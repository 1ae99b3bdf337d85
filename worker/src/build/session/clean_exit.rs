//! The clean exit: each session ends in one commit, also when it fails.

use nightforge_domain::SessionOutcome;
use nightforge_domain::build::feature_list;

use super::{Ending, Exit, Session};
use crate::build::progress::{FEATURE_LIST, PROGRESS, entry, one_line};
use crate::build::workspace::blocking;
use crate::engine::{Failure, JobContext};
use crate::tools::Files;

impl Session<'_> {
    /// Ends in one commit, whatever happened: the proof with its code, or the note alone.
    pub(super) async fn clean_exit(
        &mut self,
        context: &mut JobContext,
        ending: &Ending,
    ) -> Result<Exit, Failure> {
        let task = context.claim.job.task.to_string();
        context
            .step("commit", &(&ending.outcome, &ending.note), async |context| {
                self.go_live().await?;
                let now = context.store.now().await?;
                let proven =
                    !matches!(ending.outcome, SessionOutcome::Failed { .. } | SessionOutcome::HandedOver);
                let (start, checkpoint) = (self.start.clone(), self.checkpoint.clone());
                let changed = self
                    .workspace
                    .git(
                        move |repository| Ok(repository.tree_of(&start)? != repository.tree_of(&checkpoint)?),
                    )
                    .await?;
                if proven {
                    // What the gate judged, without what its runs left behind.
                    self.workspace.restore(&self.checkpoint, None).await?;
                } else {
                    let name = format!("refs/nightforge/attempts/{}/{}", self.feature.id, self.number);
                    let kept = self.checkpoint.clone();
                    self.workspace.git(move |repository| Ok(repository.set_ref(&name, &kept)?)).await?;
                    self.workspace.restore(&self.base, None).await?;
                }
                self.write_owned_files(ending, proven).await?;
                let message = self.commit_message(&task, ending);
                let head = self.workspace.commit(Some(&self.base), message, now).await?;
                Ok(Exit { head, changed })
            })
            .await
    }

    /// Writes the registry's copy and the diary over whatever stands there.
    async fn write_owned_files(&self, ending: &Ending, proven: bool) -> anyhow::Result<()> {
        let list =
            feature_list(&self.build.features, self.project, proven.then_some(&self.feature.id)).text();
        let base = self.base.clone();
        let diary = self.workspace.git(move |repository| Ok(repository.file_at(&base, PROGRESS)?)).await?;
        let mut diary = String::from_utf8_lossy(&diary.unwrap_or_default()).into_owned();
        diary.push_str(&entry(
            self.number,
            self.feature.id.as_str(),
            self.attempt,
            &ending.outcome,
            &ending.note,
        ));
        let folder = self.workspace.project();
        blocking(move || {
            let files = Files::open(&folder, Vec::new())?;
            files.write(FEATURE_LIST, list.as_bytes())?;
            files.write(PROGRESS, diary.as_bytes())?;
            Ok(())
        })
        .await
    }

    fn commit_message(&self, task: &str, ending: &Ending) -> String {
        let id = &self.feature.id;
        let description = one_line(&self.feature.draft.description, 60);
        let note = one_line(&ending.note, 1_000);
        let body = if note.is_empty() { String::new() } else { format!("\n\n{note}") };
        match &ending.outcome {
            SessionOutcome::Passed | SessionOutcome::AlreadySatisfied => {
                // A feature that is proven a second time has its commit already.
                let trailer = if self.feature.reopened > 0 { "Repaired" } else { "Feature" };
                format!(
                    "{id}: {description}{body}\n\nTask: {task}\n{trailer}: {id}\nAttempt: {}\n",
                    self.attempt
                )
            }
            SessionOutcome::Failed { reason } => {
                let reason = one_line(reason, 300);
                format!(
                    "{id}: attempt {} not proven\n\n{reason}{body}\n\nTask: {task}\nSession: {}\n",
                    self.attempt, self.number
                )
            }
            SessionOutcome::HandedOver => {
                format!("{id}: handed over{body}\n\nTask: {task}\nSession: {}\n", self.number)
            }
        }
    }
}

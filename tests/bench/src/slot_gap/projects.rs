//! The product with more coding work than it can do, and the gaps between its calls.

use std::time::Duration;

use anyhow::ensure;
use nightforge_domain::TaskId;

use crate::fake_model::{ANSWER_TIME, FakeModel, Gap};
use crate::installation::{Equipment, Installation, Place};
use crate::load;

/// Queued at once.
const TASKS: usize = 4;

/// Features of each, so many that none comes to its end.
const FEATURES: u32 = 50;

/// Gaps before it counts: the last projects begin, pools fill.
const WARM_UP: usize = 20;

/// So much longer than the bare answers measuring may take before something is wrong.
const PATIENCE: u32 = 20;

/// An installation that builds small projects.
pub(super) struct Projects {
    installation: Installation,
    tasks: Vec<TaskId>,
}

impl Projects {
    /// Starts the roles with the work queued.
    pub(super) async fn start(place: Place, model: &FakeModel) -> anyhow::Result<Self> {
        let mut work = Vec::with_capacity(TASKS);
        for number in 1..=TASKS {
            let objective = format!("Build small project {number}: pages with headings.");
            work.push(load::build_task(&objective, FEATURES)?);
        }
        let equipment = Equipment { model_url: model.url(), search: None };
        let (installation, tasks) = Installation::start(place, equipment, &work).await?;
        Ok(Self { installation, tasks })
    }

    /// Waits for so many gaps, once all tasks are coding, and returns them with their prompts' sizes.
    pub(super) async fn gaps(
        &self,
        model: &FakeModel,
        wanted: usize,
    ) -> anyhow::Result<(Vec<Gap>, Vec<usize>)> {
        let patience = ANSWER_TIME * PATIENCE * (wanted + WARM_UP + 10 * TASKS) as u32;
        let measuring = async {
            while !self.all_are_coding().await? {
                tokio::time::sleep(ANSWER_TIME).await;
            }
            model.take();
            reached(model, WARM_UP).await;
            model.take();
            reached(model, wanted).await;
            anyhow::Ok(model.take())
        };
        match tokio::time::timeout(patience, measuring).await {
            Ok(measured) => measured,
            Err(_) => {
                let phases = self.phases().await?;
                anyhow::bail!("{} of {wanted} gaps within {patience:?}; tasks: {phases:?}", model.gap_count())
            }
        }
    }

    async fn all_are_coding(&self) -> anyhow::Result<bool> {
        let phases = self.phases().await?;
        if let Some(over) =
            phases.iter().find(|phase| phase.contains("FAILED") || phase.contains("COMPLETED"))
        {
            anyhow::bail!("a task is over before its time: {over}");
        }
        Ok(phases.iter().all(|phase| phase.starts_with("CODING")))
    }

    async fn phases(&self) -> anyhow::Result<Vec<String>> {
        let mut phases = Vec::with_capacity(TASKS);
        for task in &self.tasks {
            phases.push(self.installation.store.task(task).await?.phase);
        }
        Ok(phases)
    }

    /// Ends the roles, while there is still work for them.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        for task in &self.tasks {
            let row = self.installation.store.task(task).await?;
            ensure!(!row.status.is_final(), "work ran out: {task} is over");
        }
        self.installation.stop().await
    }
}

/// A gap comes every 50 ms or so; nobody announces it.
async fn reached(model: &FakeModel, count: usize) {
    while model.gap_count() < count {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

//! Verifying: every proven feature's test, from a fresh clone of the head.

#[cfg(test)]
mod tests;

use nightforge_domain::{CommitId, FeatureFailure, Verified};

use crate::build::{Runner, Workspace, failing_tests, one_line, run_twice};
use crate::engine::{Failure, JobContext, Workshop};

/// The end of a failing test's output that is kept, in characters.
const REASON_CHARS: usize = 1_500;

/// Runs the tests and says which features no longer pass.
///
/// # Errors
/// How the execution ended without a result.
pub(super) async fn run(
    workshop: &Workshop,
    context: &mut JobContext,
    head: &CommitId,
) -> Result<Verified, Failure> {
    let state = context.claim.task.state.clone();
    let Some((build, project)) = state.build().and_then(|build| Some((build, build.project.as_ref()?)))
    else {
        return Err(Failure::Machine(anyhow::anyhow!("the task has no project")));
    };
    let workspace = Workspace::open(&workshop.data, &context.claim, &workshop.sandbox).await?;
    let runner = Runner::new(&workshop.sandbox, &workspace);
    let tests: Vec<String> = build.features.iter().map(|feature| project.test_file(&feature.id)).collect();
    context
        .step("verify", &(head, &tests), async |_| {
            workspace.clone_afresh(head).await?;
            let init = run_twice(&runner).await?;
            // The tests decide: an init.sh that fails shows in those that need it.
            let preparation = if init.ok {
                String::new()
            } else {
                tracing::warn!(output = init.text, "init.sh fails in a fresh clone");
                format!("In a fresh clone init.sh fails: {}\n", one_line(&init.text, 600))
            };
            let failing = failing_tests(&runner, project, &tests).await?;
            let failing = build.features.iter().filter_map(|feature| {
                let file = project.test_file(&feature.id);
                let (_, ran) =
                    failing.iter().find(|(failing, _)| failing.split(", ").any(|name| name == file))?;
                let skip = ran.output.chars().count().saturating_sub(REASON_CHARS);
                let end: String = ran.output.chars().skip(skip).collect();
                let reason = format!("{preparation}{end}");
                Some(FeatureFailure { feature: feature.id.clone(), reason })
            });
            Ok(Verified { failing: failing.collect() })
        })
        .await
}

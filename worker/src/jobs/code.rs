//! One coding session.

use nightforge_domain::{CommitId, FeatureId, SessionReport};

use crate::build::{Runner, Session, Workspace};
use crate::engine::{Failure, JobContext, Workshop};

/// Runs the session in a workspace of the claim's own.
///
/// # Errors
/// How the execution ended without a result.
pub(super) async fn run(
    workshop: &Workshop,
    context: &mut JobContext,
    feature: &FeatureId,
    session: u32,
    attempt: u32,
    base: &CommitId,
) -> Result<SessionReport, Failure> {
    let state = context.claim.task.state.clone();
    let Some(build) = state.build() else {
        return Err(Failure::Machine(anyhow::anyhow!("the task is not a build")));
    };
    let workspace = Workspace::open(&workshop.data, &context.claim, &workshop.sandbox).await?;
    let runner = Runner::new(&workshop.sandbox, &workspace);
    Session::new(&workspace, &runner, build, feature, base, session, attempt)?.run(context).await
}

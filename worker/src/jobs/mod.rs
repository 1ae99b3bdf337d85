//! The jobs that a worker can execute. One file each; this is the list.

mod code;
mod initialize;
mod manage;
mod research;
mod review;
mod synthesize;
mod verify;

use nightforge_domain::{JobResult, JobSpec};

use crate::engine::{Failure, JobContext, Workshop};

/// Runs the claimed job.
///
/// # Errors
/// How the execution ended without a result.
pub(crate) async fn run(workshop: &Workshop, context: &mut JobContext) -> Result<JobResult, Failure> {
    match context.claim.spec.clone() {
        JobSpec::Initialize { revision } => {
            initialize::run(workshop, context, revision.as_deref()).await.map(JobResult::Initialized)
        }
        JobSpec::Code { feature, session, attempt, base } => {
            code::run(workshop, context, &feature, session, attempt, &base).await.map(JobResult::Session)
        }
        JobSpec::Verify { head } => verify::run(workshop, context, &head).await.map(JobResult::Verified),
        JobSpec::Manage { iteration, .. } => {
            let decision = manage::run(workshop, context, iteration).await?;
            Ok(JobResult::Decided { decision, working_ms: context.spent_ms() })
        }
        JobSpec::Research { subtask, .. } => {
            let report = research::run(workshop, context, subtask).await?;
            Ok(JobResult::Researched { report, working_ms: context.spent_ms() })
        }
        JobSpec::Review { review, .. } => {
            let (review, shown) = review::run(context, review).await?;
            Ok(JobResult::Reviewed { review, shown, working_ms: context.spent_ms() })
        }
        JobSpec::Synthesize { .. } => {
            let synthesis = synthesize::run(context).await?;
            Ok(JobResult::Synthesized { synthesis, working_ms: context.spent_ms() })
        }
    }
}

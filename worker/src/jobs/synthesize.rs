//! The final answer: written by the Manager's model, held against the verified passages by code.

use nightforge_domain::contract::research::FinalSynthesis;
use nightforge_domain::research::views::{Asked, SynthesisView};
use nightforge_domain::research::{GroundedSynthesis, ground_synthesis};

use crate::engine::{Failure, JobContext};
use crate::research::{messages, room, steps};

/// Runs the synthesis.
///
/// # Errors
/// How the execution ended without a result.
pub(super) async fn run(context: &mut JobContext) -> Result<GroundedSynthesis, Failure> {
    let (task, research) = (&context.claim.task, steps::state(context)?);
    let asked = Asked { objective: &task.objective, language: task.language.as_deref(), searched_in: None };
    let bytes = room::view_bytes(context, messages::synthesis_system_bytes());
    let view = SynthesisView::of(&asked, &research, bytes);
    // A retry may come to a second one, of another workspace.
    let inputs = (messages::version(), task.objective.clone(), research.findings.len());
    let view = steps::view(context, &inputs, "the final answer", view).await?;
    let answer: FinalSynthesis =
        steps::ask(context, "synthesis", &inputs, messages::synthesis(&view)?).await?;
    let sources = context.store.sources(&context.claim.job.task).await?;
    Ok(ground_synthesis(&answer, &research.findings, &sources))
}

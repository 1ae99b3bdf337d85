//! The Manager's next decision.

use nightforge_domain::contract::research::ManagerDecision;
use nightforge_domain::research::views::{Asked, ManagerView};

use crate::engine::{Failure, JobContext, Workshop};
use crate::research::{SearchSetup, messages, room, steps};

/// Runs the Manager.
///
/// # Errors
/// How the execution ended without a result.
pub(super) async fn run(
    workshop: &Workshop,
    context: &mut JobContext,
    iteration: u32,
) -> Result<ManagerDecision, Failure> {
    let places = workshop.search.as_deref().map(SearchSetup::places);
    let (task, research) = (&context.claim.task, steps::state(context)?);
    let asked = Asked {
        objective: &task.objective,
        language: task.language.as_deref(),
        searched_in: places.as_deref(),
    };
    let bytes = room::view_bytes(context, messages::manager_system_bytes());
    let view = ManagerView::of(&asked, &research, &task.limits, bytes);
    let inputs = (messages::version(), task.objective.clone(), iteration);
    let subject = format!("decision {iteration} of {}", view.iterations);
    let view = steps::view(context, &inputs, &subject, view).await?;
    steps::ask(context, "decide", &inputs, messages::manager(&view)?).await
}

//! The Critic looks at what is new.

use nightforge_domain::contract::research::CriticReview;
use nightforge_domain::research::FindingId;
use nightforge_domain::research::views::{Asked, CriticView};

use crate::engine::{Failure, JobContext};
use crate::research::{messages, room, steps};

/// Runs the Critic; with its review, the new findings that it was shown.
///
/// # Errors
/// How the execution ended without a result.
pub(super) async fn run(
    context: &mut JobContext,
    review: u32,
) -> Result<(CriticReview, Vec<FindingId>), Failure> {
    let (task, research) = (&context.claim.task, steps::state(context)?);
    let asked = Asked { objective: &task.objective, language: task.language.as_deref(), searched_in: None };
    let bytes = room::view_bytes(context, messages::critic_system_bytes());
    let view = CriticView::of(&asked, &research, &task.limits, bytes);
    let inputs = (messages::version(), task.objective.clone(), review);
    let view = steps::view(context, &inputs, &format!("review {review}"), view).await?;
    let given = steps::ask(context, "review", &inputs, messages::critic(&view)?).await?;
    Ok((given, view.review_these.into_iter().map(|finding| finding.id).collect()))
}

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
    let shown: Vec<FindingId> = view.review_these.iter().map(|finding| finding.id.clone()).collect();
    let first: CriticReview = steps::ask(context, "review", &inputs, messages::critic(&view)?).await?;
    let missing = without_verdict(&first, &shown);
    if missing.is_empty() {
        return Ok((first, shown));
    }
    // What has no verdict stays unreviewed, so it is worth a second ask; a third would be no better.
    let again = messages::critic_again(&view, &missing)?;
    Ok((steps::ask(context, "review-again", &inputs, again).await?, shown))
}

/// The findings that a review says nothing about.
fn without_verdict(review: &CriticReview, shown: &[FindingId]) -> Vec<FindingId> {
    shown.iter().filter(|id| !review.verdicts.iter().any(|verdict| verdict.is_of(id))).cloned().collect()
}

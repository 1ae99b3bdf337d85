//! One assignment: queries, searches, pages, a report. The model is asked twice; what is searched and read in between
//! is code's to decide.

use nightforge_domain::contract::research::ResearchQueries;
use nightforge_domain::research::views::{Asked, ResearcherView};
use nightforge_domain::research::{GroundedReport, SourceId};

use crate::engine::{Failure, JobContext, Workshop};
use crate::research::reading::Reading;
use crate::research::{SearchSetup, messages, reading, reporting, room, searching, steps};

/// Runs the Researcher.
///
/// # Errors
/// How the execution ended without a result.
pub(super) async fn run(
    workshop: &Workshop,
    context: &mut JobContext,
    subtask: u32,
) -> Result<GroundedReport, Failure> {
    let setup = workshop.search.clone().ok_or_else(no_search)?;
    let research = steps::state(context)?;
    let (view, title) = view(context, &setup, subtask)?;
    let inputs = (messages::version(), &context.claim.task.objective.clone(), subtask);
    let view = steps::view(context, &inputs, &title, view).await?;
    let asked: ResearchQueries = steps::ask(context, "queries", &inputs, messages::queries(&view)?).await?;
    let queries = searching::queries(&asked.queries);
    let (sources, reading) = gather(context, &setup, &queries).await?;
    if !reporting::has_words(context, &sources).await? {
        return reporting::nothing_found(context, &queries, &sources).await;
    }
    let question = reporting::Question {
        research: &research,
        subtask,
        queries: &queries,
        sources: &sources,
        reading: &reading,
    };
    reporting::report(context, &question).await
}

/// Everything that was found for the assignment: what the user named, then the hits, the best first; and what of it
/// was read.
async fn gather(
    context: &mut JobContext,
    setup: &SearchSetup,
    queries: &[String],
) -> Result<(Vec<SourceId>, Reading), Failure> {
    let given = reading::given(context).await?;
    let hits = searching::search(context, setup, queries).await?;
    let ranking = reading::ranking(&hits);
    let reading = reading::read(context, setup, &given, &ranking).await?;
    let mut sources = given;
    sources.extend(ranking);
    Ok((sources, reading))
}

fn view(
    context: &JobContext,
    setup: &SearchSetup,
    subtask: u32,
) -> Result<(ResearcherView, String), Failure> {
    let places = setup.places();
    let (task, research) = (&context.claim.task, steps::state(context)?);
    let asked =
        Asked { objective: &task.objective, language: task.language.as_deref(), searched_in: Some(&places) };
    let bytes = room::view_bytes(context, messages::queries_system_bytes());
    let view = ResearcherView::of(&asked, &research, subtask, bytes);
    let title = research.subtask(subtask).map(|subtask| subtask.title.clone());
    let missing = || Failure::Machine(anyhow::anyhow!("the task has no assignment {subtask}"));
    view.zip(title).ok_or_else(missing)
}

fn no_search() -> Failure {
    Failure::Unavailable {
        reason: "this worker has no search back-end; name one under [[research.search]] in its configuration"
            .to_owned(),
        retry_after: None,
    }
}

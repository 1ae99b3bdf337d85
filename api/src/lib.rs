//! The HTTP interface: JSON under `/api`, errors as `application/problem+json`.
//!
//! Start reading at [`serve`]; `router` lists every route. What a task looks like from outside is in
//! [`TaskView`], which the CLI reads as well. Nothing here changes a task's state: a request leaves a row, rings
//! the scheduler, and a transition answers it.

mod api;
mod asking;
mod dead_letters;
mod guard;
mod json_body;
mod limits;
mod models;
mod problem;
mod problems;
mod query;
mod queues;
mod reading;
mod report_file;
mod research;
mod router;
mod serve;
mod submit;
mod tasks;
mod views;
mod waiting;
mod workers;

pub use api::{Api, KnownModel, Models};
pub use dead_letters::{BulkRetry, DeadLetterView, DeadPage, DeadReason, RefusedRetry};
pub use limits::check_limits;
pub use problem::ProblemBody;
pub use queues::{KindView, PauseView, QueuePage, QueueView};
pub use reading::{NotOne, PageRequest, read_page, resolve_id};
pub use report_file::{ReportFiles, repository_path};
pub use research::{
    DecisionPage, DecisionView, FindingPage, FindingView, MessagePage, MessageView, ResearchView, ResultForm,
    ResultView, RunPage, RunView, SourcePage, SourceView, SubtaskPage, SubtaskView, UncertaintyView,
    read_decisions, read_findings, read_messages, read_runs, read_sources, read_subtasks,
};
pub use serve::{check_listen, serve};
pub use submit::{LimitChanges, SubmitBody};
pub use views::{
    EventPage, EventView, FeatureCounts, ModelPage, ModelView, SpentView, TaskPage, TaskView, WaitView,
};
pub use workers::{EndpointView, RunningView, WorkerPage, WorkerView};

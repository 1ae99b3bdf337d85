//! The HTTP interface: JSON under `/api`, errors as `application/problem+json`.
//!
//! Start reading at [`serve`]; `router` lists every route. What a task looks like from outside is in
//! [`TaskView`], which the CLI reads as well. Nothing here changes a task's state: a request leaves a row, rings
//! the scheduler, and a transition answers it.

mod api;
mod guard;
mod json_body;
mod limits;
mod problem;
mod problems;
mod query;
mod reading;
mod report_file;
mod router;
mod serve;
mod submit;
mod tasks;
mod views;

pub use api::{Api, KnownModel, Models};
pub use limits::check_limits;
pub use problem::ProblemBody;
pub use reading::{NotOne, PageRequest, read_page, resolve_id};
pub use report_file::{ReportFiles, repository_path};
pub use serve::{check_listen, serve};
pub use submit::{LimitChanges, SubmitBody};
pub use views::{EventPage, EventView, FeatureCounts, ModelPage, ModelView, SpentView, TaskPage, TaskView};

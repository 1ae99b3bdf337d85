//! What Nightforge is about, as data and pure functions: ids, tasks, jobs, inputs, events, the state
//! machines and the contracts that agents answer in. No I/O, no clock, no randomness: time, limits and ids
//! are arguments.

pub mod build;
pub mod contract;
pub mod diagram;
mod event;
pub mod fault;
mod ids;
mod input;
mod job;
mod limits;
mod masked;
pub mod research;
pub mod state;
mod step;
mod task;
pub mod waiting;

pub use event::Event;
pub use ids::{BootId, CommitId, FeatureId, Fence, JobId, JobNo, Millis, ModelName, ParseIdError, TaskId};
pub use input::Input;
pub use job::{
    Agent, FeatureFailure, Initialized, JobResult, JobSpec, JobState, SessionOutcome, SessionReport, Verified,
};
pub use limits::{Limits, TASKS_PER_SLOT};
pub use masked::masked_url;
pub use step::{Step, Usage};
pub use task::{AgentModels, Kind, NewTask, Objective, ObjectiveError, Priority, Status, UnknownKind};

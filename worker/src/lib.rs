//! Executes jobs: agents, build harness, tools, sandbox. [`run`] is the worker's whole life.

mod branch;
mod build;
mod engine;
mod jobs;
pub mod project;
mod prompts;
mod research;
mod retention;
pub mod sandbox;
pub mod tools;

pub use branch::repository_path;
pub use engine::{SandboxRule, WorkerConfig, run};
pub use research::SearchSetup;

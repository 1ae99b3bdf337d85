//! Executes jobs: agents, build harness, tools, sandbox.

pub mod project;
pub mod sandbox;
pub mod tools;
